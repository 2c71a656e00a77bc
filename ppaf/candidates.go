package ppaf

import "github.com/azcosmos-ha/azcosmos-ha/regions"

// Account is what failover needs to know of an account's topology.
type Account struct {
	Primary    regions.Index // the first writable region
	Readable   regions.List  // in the service's order
	MultiWrite bool
	Flag       *bool // enablePerPartitionFailoverBehavior, carried over; nil: never said
}

// eligible reports whether the account has a write region that could move.
func (a *Account) eligible() bool {
	return !a.MultiWrite && a.Primary != regions.None && a.Readable.Len() > 1
}

// regions is every region that can be a partition's write region.
func (a *Account) regions() regions.Set { return a.Readable.Set().With(a.Primary) }

// admits reports whether a region can be an override.
func (a *Account) admits(r regions.Index) bool { return r != a.Primary && a.Readable.Has(r) }

// Start is where a partition's writes start.
type Start struct {
	// Override is the region that confirmed last; None: the primary.
	Override regions.Index
	// Slow is the region whose timeouts let the writes start elsewhere; None: there is no such region.
	Slow regions.Index
}

// Candidates returns the regions a write may be tried in during one round, in order; its first one is where the
// write starts. readable is in the service's order. It is never empty if there is a primary.
func (s Start) Candidates(primary regions.Index, readable regions.List, excluded regions.Set) regions.List {
	order := readable
	order.Append(primary) // it takes writes, so it is a candidate, even if the service does not list it as readable
	first := s.Override
	if !readable.Has(first) {
		first = primary
	}
	if order.Has(s.Slow) && order.Len() > 1 {
		order, first = behind(order, s.Slow), regions.None
	}
	var out regions.List
	out.Append(first)
	for r := range order.All() {
		if !excluded.Has(r) && r != s.Slow {
			out.Append(r)
		}
	}
	for r := range order.All() {
		if r != s.Slow {
			out.Append(r)
		}
	}
	if order.Has(s.Slow) {
		out.Append(s.Slow)
	}
	return out
}

// behind returns the order rotated so that it begins behind region r, which is in it and comes last.
func behind(order regions.List, r regions.Index) regions.List {
	at := 0
	for order.At(at) != r {
		at++
	}
	var out regions.List
	for i := range order.Len() {
		out.Append(order.At((at + 1 + i) % order.Len()))
	}
	return out
}
