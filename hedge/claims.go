package hedge

import (
	"sync/atomic"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// Claims is the regions that one operation has asked, shared by its walk and its hedges: who claims a region asks it, and
// nobody else does. There is no way back. What asks a region a second time by a rule of its own, such as the write region
// after a 404/1002, does so without a claim. The zero value is no region. It is safe for concurrent use and must not
// be copied.
type Claims struct{ asked atomic.Uint64 }

// Claim reports whether the region is now the caller's to ask: true exactly once for each region, false for
// [regions.None].
func (c *Claims) Claim(r regions.Index) bool {
	bit := uint64(regions.Set(0).With(r))
	return bit != 0 && c.asked.Or(bit)&bit == 0
}

// Next claims the first region of the list that is in among and that nobody has claimed; false, with [regions.None], if
// there is none. The walk takes all of its list, list.Set(), a hedge the [Candidates].
func (c *Claims) Next(list regions.List, among regions.Set) (regions.Index, bool) {
	for i := range list.Len() {
		if r := list.At(i); among.Has(r) && c.Claim(r) {
			return r, true
		}
	}
	return regions.None, false
}

// Asked returns the regions that have been claimed.
func (c *Claims) Asked() regions.Set { return regions.Set(c.asked.Load()) }
