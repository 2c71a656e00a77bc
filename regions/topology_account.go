package regions

// Account returns the account as it is used: without what was dropped, with the flags carried over, and with the
// regions that stand in for a missing list. A topology made from it is [Topology.Equal] to this one.
func (t *Topology) Account() Account {
	return Account{
		ID:                t.id,
		Readable:          t.regions(t.readable),
		Writable:          t.regions(t.writable),
		MultiWrite:        t.multiWrite,
		PartitionFailover: t.PartitionFailover(),
		HedgingDisabled:   t.HedgingDisabled(),
	}
}

// regions spells a list out.
func (t *Topology) regions(l List) []Region {
	var out []Region
	for i := range l.All() {
		out = append(out, Region{Name: t.slots[i].name, Endpoint: t.slots[i].url})
	}
	return out
}

// Equal reports whether both have the same regions in the same order with the same hosts, and the same flags. Indices,
// the account's id and what was dropped do not matter: regional endpoints give ids of their own. A nil topology equals
// only nil.
func (t *Topology) Equal(o *Topology) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.multiWrite == o.multiWrite &&
		sameFlag(t.failover, o.failover) &&
		sameFlag(t.noHedge, o.noHedge) &&
		sameRegions(t, o, t.readable, o.readable) &&
		sameRegions(t, o, t.writable, o.writable)
}

// sameRegions compares a list of t with one of o by names and hosts.
func sameRegions(t, o *Topology, a, b List) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		x, y := t.slots[a.At(i)], o.slots[b.At(i)]
		if x.name != y.name || x.host != y.host {
			return false
		}
	}
	return true
}

// sameFlag compares two flags, absent ones included.
func sameFlag(a, b *bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
