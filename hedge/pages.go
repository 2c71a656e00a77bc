package hedge

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

const (
	pageBuckets = 512 // a power of two; 32 KiB
	bucketPages = 7   // with the hand, a cache line
	regionBits  = 8   // of a page's word; the rest is the key's
)

// Pages remembers which region gave a page of a query or a change feed, by the continuation that came with it. It is for
// one account: a region is an index of its topologies.
//
// It is a table of fixed size (3,584 pages, 32 KiB) without pointers and without locks: a page is one word, the high 56 bits
// of its key and the region, in a bucket where the newest page takes the place of the oldest. With a thousand readers at once,
// 1 page in 200 is forgotten before it is needed. That costs nothing but the preference: the next page goes the
// ordinary way. So does a key that is mistaken for another (2^-56 each), and so may one that several remember at the same
// time. It is safe for concurrent use and must not be copied. Make it with [NewPages].
type Pages struct {
	seed    maphash.Seed
	used    atomic.Bool
	buckets [pageBuckets]bucket
}

type bucket struct {
	hand  atomic.Uint64              // how many pages have been put in; the next goes to hand modulo bucketPages
	pages [bucketPages]atomic.Uint64 // 0: free
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
	if !p.used.Load() {
		p.used.Store(true)
	}
	b, tag := p.bucket(key)
	word := tag | uint64(r+1)
	for i := range b.pages {
		if known := b.pages[i].Load(); known != 0 && known&^regionMask == tag {
			// Polling a feed without news gives the same continuation from the same region: then nothing is written.
			if known != word {
				b.pages[i].Store(word)
			}
			return
		}
	}
	b.pages[(b.hand.Add(1)-1)%bucketPages].Store(word)
}

// Empty reports whether nothing was ever remembered: then there is nothing to look up.
func (p *Pages) Empty() bool { return !p.used.Load() }

// Lookup returns the region that gave the page before the one with this key; false, with [regions.None], if that is not
// known. Whether the region is still applicable is for [Lead] to see.
func (p *Pages) Lookup(key uint64) (regions.Index, bool) {
	b, tag := p.bucket(key)
	for i := range b.pages {
		if word := b.pages[i].Load(); word != 0 && word&^regionMask == tag {
			return regions.Index(word&regionMask - 1), true
		}
	}
	return regions.None, false
}

const regionMask = 1<<regionBits - 1

// bucket returns the place of a key and the part of it that is kept there, in the high bits. The place is made of bits that
// are kept, so that keys which share a place differ in what is kept, if they differ in it at all.
func (p *Pages) bucket(key uint64) (b *bucket, tag uint64) {
	return &p.buckets[key>>regionBits%pageBuckets], key &^ regionMask
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
