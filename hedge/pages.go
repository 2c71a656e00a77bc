package hedge

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

const (
	pageSlots  = 4096 // a power of two; 32 KiB
	regionBits = 8    // of a slot's word; the rest is the key's
)

// Pages remembers which region gave a page of a query or a change feed, by the continuation that came with it. It is for
// one account: a region is an index of its topologies.
//
// It is a table of fixed size (4096 slots, 32 KiB) without pointers and without locks: a slot is one word, the high 56 bits of
// a key and the region, and a new page takes its slot from whoever had it. What is forgotten costs nothing but the preference:
// the next page goes the ordinary way. A key that is mistaken for another (2^-56 each) does too. It is safe for concurrent use
// and must not be copied. Make it with [NewPages].
type Pages struct {
	seed  maphash.Seed
	slots [pageSlots]atomic.Uint64 // 0: free
}

// NewPages returns an empty table.
func NewPages() *Pages { return &Pages{seed: maphash.MakeSeed()} }

// Key returns the key of the page that follows a continuation, of this table only. container is the container's link. scope
// is what the pages are of: a range id, a partition key, or "": the continuation of a change feed is but a number, the
// same in many places. A request and the answer before it have the same three. Key does not allocate.
func (p *Pages) Key(container, scope, continuation string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	// Headers and links have no NUL, so the parts cannot run into each other.
	h.WriteString(container)
	h.WriteByte(0)
	h.WriteString(scope)
	h.WriteByte(0)
	h.WriteString(continuation)
	return h.Sum64()
}

// Remember records that the page before the one with this key came from the region. The last one to say so wins;
// [regions.None] is not recorded.
func (p *Pages) Remember(key uint64, r regions.Index) {
	if r >= regions.MaxRegions {
		return
	}
	slot, tag := p.slot(key)
	// Polling a feed without news gives the same continuation from the same region again: then nothing shared is written.
	if word := tag | uint64(r+1); slot.Load() != word {
		slot.Store(word)
	}
}

// Lookup returns the region that gave the page before the one with this key; false, with [regions.None], if that is not
// known. Whether the region is still applicable is for [Lead] to see.
func (p *Pages) Lookup(key uint64) (regions.Index, bool) {
	slot, tag := p.slot(key)
	word := slot.Load()
	if r := word - tag - 1; word != 0 && r < regions.MaxRegions {
		return regions.Index(r), true
	}
	return regions.None, false
}

// slot returns the place of a key and the part of it that is kept there, in the high bits. The place is made of bits that are
// kept, so that keys which share a place differ in what is kept, if they differ in it at all.
func (p *Pages) slot(key uint64) (slot *atomic.Uint64, tag uint64) {
	return &p.slots[key>>regionBits%pageSlots], key &^ (1<<regionBits - 1)
}

// Lead returns the list with a region moved to its front, if it is in the list and not in never; else the list as it is.
// never is the regions that are in it only as a last resort: those the breaker has opened, and the excluded ones.
func Lead(list regions.List, first regions.Index, never regions.Set) regions.List {
	if !list.Has(first) || never.Has(first) || list.First() == first {
		return list
	}
	out := regions.MakeList(first)
	for i := range list.Len() {
		out.Append(list.At(i)) // all but the first, which is there already
	}
	return out
}
