package regions

import (
	"math/bits"
	"slices"
)

// Topology is an account's regions at one moment. It is immutable and safe for concurrent use; the zero value and the
// methods of it describe an account without regions.
//
// Indices are stable: a topology made from its predecessor gives each region of the same name the same [Index], so
// that sets, lists and health marks kept elsewhere stay valid. An index whose region has left the account stays its
// own until no other is free.
type Topology struct {
	slots              []located // by Index; those outside known have left the account
	known              Set
	readable, writable List
	multiWrite         bool
	failover, noHedge  *bool // never handed out: accessors copy
	id                 string
	dropped            []string
}

// NewTopology makes the topology of an account answer. prev is the topology it follows, nil for the first one.
//
// Entries without a name or with an unusable endpoint, repetitions of a region, and regions beyond [MaxRegions] are
// left out (see [Topology.Dropped]). An account without readable regions reads where it writes. One without writable
// regions: all readable ones on a multi-write account; else the primary of prev if it is still readable, else the
// first readable one. A PartitionFailover or HedgingDisabled of nil means no change: prev's value is carried over.
//
// The error is an [*AccountError] with [ErrNoRegion] when nothing is left; keep prev then.
func NewTopology(a Account, prev *Topology) (*Topology, error) {
	c := collect(a)
	if len(c.order) == 0 {
		return nil, noRegion(a)
	}
	if prev == nil {
		prev = &Topology{}
	}
	t := &Topology{
		multiWrite: a.MultiWrite,
		failover:   carry(a.PartitionFailover, prev.failover),
		noHedge:    carry(a.HedgingDisabled, prev.noHedge),
		id:         a.ID,
		dropped:    c.dropped,
	}
	t.place(c.order, prev)
	t.readable, t.writable = t.list(c.readable), t.list(c.writable)
	if t.readable.Len() == 0 {
		t.readable = t.writable
	}
	if t.writable.Len() == 0 {
		t.writable = t.writableFrom(prev)
	}
	return t, nil
}

// place gives each region its index: the one it had, else a new one, else one whose region has left.
func (t *Topology) place(order []located, prev *Topology) {
	t.slots = slices.Clone(prev.slots)
	var newcomers []located
	for _, r := range order {
		if i := slices.IndexFunc(t.slots, func(s located) bool { return s.norm == r.norm }); i >= 0 {
			t.slots[i] = r
			t.known = t.known.With(Index(i))
		} else {
			newcomers = append(newcomers, r)
		}
	}
	for _, r := range newcomers {
		i := len(t.slots)
		if i < MaxRegions {
			t.slots = append(t.slots, r)
		} else {
			// There are at most MaxRegions regions and this one has no place yet: one of the slots is not known.
			i = bits.TrailingZeros64(^uint64(t.known))
			t.slots[i] = r
		}
		t.known = t.known.With(Index(i))
	}
}

// list turns normalised names of this topology into indices.
func (t *Topology) list(norms []string) List {
	var l List
	for _, norm := range norms {
		l.Append(t.Lookup(norm))
	}
	return l
}

// writableFrom stands in for a missing list of writable regions; see NewTopology.
func (t *Topology) writableFrom(prev *Topology) List {
	if t.multiWrite {
		return t.readable
	}
	if p := t.Lookup(prev.Name(prev.Primary())); t.readable.Has(p) {
		return MakeList(p)
	}
	return MakeList(t.readable.First())
}

// carry returns a copy of the flag, or of the one before if the answer does not have it.
func carry(flag, before *bool) *bool {
	if flag == nil {
		flag = before
	}
	return copyFlag(flag)
}

// copyFlag copies a flag. It stays small enough to be inlined: the copy is then on the caller's stack.
func copyFlag(flag *bool) *bool {
	if flag == nil {
		return nil
	}
	on := *flag
	return &on
}

// Readable returns the regions that take reads, in the service's order.
func (t *Topology) Readable() List { return t.readable }

// Writable returns the regions that take writes, in the service's order. The first one is the primary.
func (t *Topology) Writable() List { return t.writable }

// Primary returns the first writable region; [None] only for the zero topology.
func (t *Topology) Primary() Index { return t.writable.First() }

// MultiWrite reports whether every writable region takes writes.
func (t *Topology) MultiWrite() bool { return t.multiWrite }

// PartitionFailover returns what the account last said about per-partition failover; nil if it never did.
func (t *Topology) PartitionFailover() *bool { return copyFlag(t.failover) }

// HedgingDisabled returns what the account last said about disabling hedging; nil if it never did.
func (t *Topology) HedgingDisabled() *bool { return copyFlag(t.noHedge) }

// HedgingForbidden reports whether the account says that nobody may hedge.
func (t *Topology) HedgingForbidden() bool { return t.noHedge != nil && *t.noHedge }

// Known returns the regions the account has, readable or writable.
func (t *Topology) Known() Set { return t.known }

// Dropped says in words what was left out of the account answer and why, one line each.
func (t *Topology) Dropped() []string { return slices.Clone(t.dropped) }

// Name returns the region's name as the service spells it. A region that has left the account keeps its name until its
// index is needed; "" when the index was never a region.
func (t *Topology) Name(i Index) string {
	if int(i) >= len(t.slots) {
		return ""
	}
	return t.slots[i].name
}

// Host returns what requests to the region carry in URL.Host and Host: host and port exactly as in the service's
// endpoint, ":443" included, because azcosmos keeps it there too and recognises a region by this string. "" when the
// account does not have the region.
func (t *Topology) Host(i Index) string {
	if !t.known.Has(i) {
		return ""
	}
	return t.slots[i].host
}

// ByHost returns the region whose own endpoint has this host, in any case, with or without the default port of the
// endpoint's scheme; [None] for others, the account's global host among them. If several regions share a host it is
// the one with the lowest index.
func (t *Topology) ByHost(host string) Index {
	for i := range t.slots {
		if t.known.Has(Index(i)) && t.slots[i].matches(host) {
			return Index(i)
		}
	}
	return None
}

// Lookup returns the region of this name, compared as [Normalize] says; [None] when the account does not have it.
// It does not allocate.
func (t *Topology) Lookup(name string) Index {
	for i := range t.slots {
		if t.known.Has(Index(i)) && sameName(t.slots[i].norm, name) {
			return Index(i)
		}
	}
	return None
}

// SetOf returns the named regions; names the account lacks are ignored. It does not allocate.
func (t *Topology) SetOf(names Names) Set {
	var s Set
	for _, name := range names {
		s = s.With(t.Lookup(name))
	}
	return s
}

// Unknown returns the names the account lacks, as given; nil when it has them all.
func (t *Topology) Unknown(names Names) []string {
	var out []string
	for _, name := range names {
		if t.Lookup(name) == None {
			out = append(out, name)
		}
	}
	return out
}
