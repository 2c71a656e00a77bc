package hedge

import (
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

func TestPages(t *testing.T) {
	pages := NewPages()
	for _, key := range []uint64{0, 1, 255, 256, 1 << 63, 1<<64 - 1} {
		r, ok := pages.Lookup(key)
		assert.False(t, ok, "%x", key)
		assert.Equal(t, regions.None, r)
	}
	key := pages.Key("dbs/d/colls/c", "0", "token")
	pages.Remember(key, regions.None)
	_, ok := pages.Lookup(key)
	assert.False(t, ok, "no region is not recorded")

	for _, r := range []regions.Index{a, d, b, b} {
		pages.Remember(key, r)
		got, ok := pages.Lookup(key)
		assert.True(t, ok)
		assert.Equal(t, r, got, "the last one wins")
	}

	// Keys that share the bucket push the oldest out: forgotten, never mistaken.
	for i := range uint64(bucketPages) {
		_, ok = pages.Lookup(key)
		assert.True(t, ok, "there is room for %d", bucketPages)
		other := key ^ (i+1)<<40
		_, ok = pages.Lookup(other)
		assert.False(t, ok)
		pages.Remember(other, c)
		got, ok := pages.Lookup(other)
		assert.True(t, ok)
		assert.Equal(t, c, got)
	}
	_, ok = pages.Lookup(key)
	assert.False(t, ok)
	assert.Equal(t, uintptr(64), unsafe.Sizeof(bucket{}), "a bucket is a cache line")
}

func TestPageKeys(t *testing.T) {
	pages := NewPages()
	parts := []string{"", "a", "b", "ab", "ba", "aa"}
	seen := map[uint64]string{}
	for _, container := range parts {
		for _, scope := range parts {
			for _, continuation := range parts {
				key, name := pages.Key(container, scope, continuation), container+"|"+scope+"|"+continuation
				require.Empty(t, seen[key], name)
				seen[key] = name
				require.Equal(t, key, pages.Key(container, scope, continuation), "the same every time")
			}
		}
	}
}

// FuzzPages compares the table with a map that forgets nothing: what the table knows is right.
func FuzzPages(f *testing.F) {
	f.Add([]byte{0, 1, 2, 1, 1, 2, 0, 255, 63})
	f.Fuzz(func(t *testing.T, data []byte) {
		pages, twin := NewPages(), map[uint64]regions.Index{}
		for ; len(data) >= 3; data = data[3:] {
			// Keys that share buckets, and keys near zero, where a free place could be taken for one of them.
			key := uint64(data[0]%16)<<40 | uint64(data[1])<<6&^255
			r := regions.Index(data[2] % 70)
			pages.Remember(key, r)
			if r < regions.MaxRegions {
				twin[key] = r
				got, ok := pages.Lookup(key)
				require.True(t, ok, "what was just told")
				require.Equal(t, r, got)
			}
		}
		for hi := range uint64(16) {
			for lo := range uint64(256) {
				key := hi<<40 | lo<<6&^255
				if got, ok := pages.Lookup(key); ok {
					want, known := twin[key]
					require.True(t, known, "%x", key)
					require.Equal(t, want, got, "%x", key)
				}
			}
		}
	})
}

// TestPagesHoldManyReaders: with a thousand readers that take turns, nearly every page finds the region of the one before.
func TestPagesHoldManyReaders(t *testing.T) {
	pages := NewPages()
	const readers, rounds = 1000, 20
	found := 0
	for round := range rounds {
		for i := range readers {
			at, next := pages.Key("c", strconv.Itoa(i), strconv.Itoa(round)), pages.Key("c", strconv.Itoa(i), strconv.Itoa(round+1))
			if r, ok := pages.Lookup(at); ok && r == regions.Index(i%64) {
				found++
			}
			pages.Remember(next, regions.Index(i%64))
		}
	}
	// About 2 others a bucket come in between, and 7 of them push a page out: 1 page in 200.
	share := float64(found) / (readers * (rounds - 1))
	t.Logf("found: %.4f", share)
	assert.Greater(t, share, 0.98)
}

func TestPagesTogether(t *testing.T) {
	pages := NewPages()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 5_000 {
				key := uint64(i%7)<<40 | uint64(i%16)<<8
				pages.Remember(key, regions.Index(i%7))
				if r, ok := pages.Lookup(key); ok && r != regions.Index(i%7) {
					assert.Fail(t, "a region of another page", "goroutine %d: %d", g, r)
				}
			}
		})
	}
	wg.Wait()
}

func TestLead(t *testing.T) {
	tests := []struct {
		name  string
		list  regions.List
		first regions.Index
		never regions.Set
		want  regions.List
	}{
		{"to the front, the others in order", list(a, b, c, d), c, 0, list(c, a, b, d)},
		{"is there already", list(a, b), a, 0, list(a, b)},
		{"is not applicable", list(a, b), c, 0, list(a, b)},
		{"none", list(a, b), regions.None, 0, list(a, b)},
		{"opened, only a last resort", list(a, b), b, regions.Set(0).With(b), list(a, b)},
		{"an empty list", list(), a, 0, list()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Lead(tt.list, tt.first, tt.never))
		})
	}
}
