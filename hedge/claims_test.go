package hedge

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

func TestClaims(t *testing.T) {
	var claims Claims
	assert.True(t, claims.Claim(b))
	assert.False(t, claims.Claim(b), "once")
	assert.False(t, claims.Claim(regions.None))
	assert.False(t, claims.Claim(regions.MaxRegions), "the first index that is none")
	assert.True(t, claims.Claim(d), "the last index that is one")

	walk := list(a, b, c)
	r, ok := claims.Next(walk, walk.Set())
	assert.Equal(t, a, r)
	assert.True(t, ok)
	r, ok = claims.Next(walk, walk.Set())
	assert.Equal(t, c, r, "b has been asked")
	assert.True(t, ok)
	r, ok = claims.Next(walk, walk.Set())
	assert.Equal(t, regions.None, r)
	assert.False(t, ok)
	_, ok = claims.Next(list(), list(a).Set())
	assert.False(t, ok)
	assert.Equal(t, list(a, b, c, d).Set(), claims.Asked())
}

func TestClaimsOfHedges(t *testing.T) {
	applicable := list(c, a, d, b)
	may := Candidates(applicable, regions.Set(0).With(d))
	var claims Claims
	for _, want := range []regions.Index{a, b} {
		r, ok := claims.Next(applicable, may)
		assert.True(t, ok)
		assert.Equal(t, want, r, "in the list's order, without the first and the opened one")
	}
	_, ok := claims.Next(applicable, may)
	assert.False(t, ok)
	r, ok := claims.Next(applicable, applicable.Set())
	assert.True(t, ok, "they are left for the walk")
	assert.Equal(t, c, r)
}

// TestClaimsTogether: walks and hedges that claim at the same time never get the same region, and together get all.
func TestClaimsTogether(t *testing.T) {
	var all regions.List
	for i := range regions.MaxRegions {
		all.Append(regions.Index(i))
	}
	for range 100 {
		var claims Claims
		var got [regions.MaxRegions]atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for r, ok := claims.Next(all, all.Set()); ok; r, ok = claims.Next(all, all.Set()) {
					got[r].Add(1)
				}
			})
		}
		wg.Wait()
		for i := range got {
			require.Equal(t, int32(1), got[i].Load(), "region %d", i)
		}
		require.Equal(t, all.Set(), claims.Asked())
	}
}
