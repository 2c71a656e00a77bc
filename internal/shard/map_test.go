package shard

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// num is a key whose siblings are chosen by the test: keys that agree in group hash alike.
type num struct{ group, n uint64 }

func (k num) Hash() uint64 { return Mix(k.group, 0) }

// one is a key without siblings.
type one uint64

func (k one) Hash() uint64 { return Mix(uint64(k), 7) }

// poor hashes everything into one of four places of one shard, tags included.
type poor uint64

func (k poor) Hash() uint64 { return uint64(k) % 4 }

func set[V any](v V) func(*V) bool { return func(p *V) bool { *p = v; return true } }

func drop[V any](*V) bool { return false }

func TestUpdateMakesChangesAndDeletes(t *testing.T) {
	m := New[one, int](10)
	require.True(t, m.Empty())

	assert.False(t, m.Update(1, func(v *int) bool { return *v != 0 }), "an unknown key shows zero, and false makes nothing")
	assert.True(t, m.Empty())

	assert.True(t, m.Update(1, set(5)))
	assert.True(t, m.Update(1, func(v *int) bool { *v++; return true }))
	v, ok := m.Load(1)
	assert.True(t, ok)
	assert.Equal(t, 6, v)
	assert.Equal(t, 1, m.Len())

	assert.False(t, m.Update(1, drop))
	_, ok = m.Load(1)
	assert.False(t, ok)
	assert.True(t, m.Empty())

	assert.True(t, m.Update(1, func(v *int) bool { assert.Zero(t, *v, "a deleted value does not come back"); return true }))
}

func TestScratchIsZeroEachTime(t *testing.T) {
	m := New[one, int](10)
	m.Update(1, func(v *int) bool { *v = 99; return false })
	m.Update(1, func(v *int) bool { assert.Zero(t, *v); return false })
}

func TestLimit(t *testing.T) {
	m := New[one, int](2)
	require.True(t, m.Update(1, set(1)))
	require.True(t, m.Update(2, set(2)))
	assert.False(t, m.Update(3, set(3)), "the third is refused")
	assert.Equal(t, uint64(1), m.Refused())
	assert.Equal(t, 2, m.Len())
	assert.True(t, m.Update(2, set(4)), "known keys go on")

	m.Update(1, drop)
	assert.True(t, m.Update(3, set(3)), "a place that is free is given away")
	assert.Equal(t, uint64(1), m.Refused())
}

func TestLimitIsBroughtIntoRange(t *testing.T) {
	assert.Equal(t, int64(1), New[one, int](-5).limit)
	assert.Equal(t, int64(MaxLimit), New[one, int](1<<30).limit)
}

func TestSiblings(t *testing.T) {
	m := New[num, int](1000)
	for g := range uint64(50) {
		for n := range g % 5 {
			m.Update(num{g, n}, set(int(g*10+n)))
		}
	}
	for g := range uint64(50) {
		seen := map[num]int{}
		m.Siblings(num{g, 77}, func(k num, v *int) {
			if k.group == g {
				seen[k] = *v
			}
		})
		assert.Len(t, seen, int(g%5))
		for k, v := range seen {
			assert.Equal(t, int(g*10+k.n), v)
		}
	}
}

func TestAllSeesEachEntryOnceAndStopsWhenAsked(t *testing.T) {
	m := New[one, int](10_000)
	for i := range 5000 {
		m.Update(one(i), set(i))
	}
	seen := map[one]int{}
	for k, v := range m.All() {
		seen[k] += v + 1
		m.Update(k, drop) // no lock is held here
	}
	assert.Len(t, seen, 5000)
	for k, v := range seen {
		assert.Equal(t, int(k)+1, v)
	}
	assert.True(t, m.Empty())

	m.Update(1, set(1))
	m.Update(2, set(2))
	n := 0
	for range m.All() {
		n++
		break
	}
	assert.Equal(t, 1, n)
}

func TestDeleteFuncAndDeleteNext(t *testing.T) {
	m := New[one, int](10_000)
	for i := range 3000 {
		m.Update(one(i), set(i))
	}
	assert.Equal(t, 1500, m.DeleteFunc(func(_ one, v *int) bool { return *v%2 == 1 }))
	assert.Equal(t, 1500, m.Len())
	for i := range 3000 {
		_, ok := m.Load(one(i))
		assert.Equal(t, i%2 == 0, ok)
	}

	visited := 0
	for range Shards {
		visited += m.DeleteNext(func(one, *int) bool { return true })
	}
	assert.Equal(t, 1500, visited, "256 turns visit every shard once")
	assert.True(t, m.Empty())
}

func TestDrainedShardsHoldNoMemory(t *testing.T) {
	m := New[one, int](1 << 20)
	for i := range 50_000 {
		m.Update(one(i), set(i))
	}
	for i := range 50_000 - 100 {
		m.Update(one(i), drop)
	}
	entries, cells := capacity(m)
	assert.LessOrEqual(t, entries, 100*4+Shards*minEntries*4, "what is left needs little")
	assert.LessOrEqual(t, cells, 100*16+Shards*minCells*4)

	for i := range 100 {
		m.Update(one(50_000-100+i), drop)
	}
	entries, cells = capacity(m)
	assert.Zero(t, entries)
	assert.Zero(t, cells)

	m.Update(1, set(1))
	m.Clear()
	entries, cells = capacity(m)
	assert.Zero(t, entries+cells+m.Len())
}

func capacity[K Key, V any](m *Map[K, V]) (entries, cells int) {
	for i := range m.shards {
		entries += cap(m.shards[i].entries)
		cells += len(m.shards[i].index)
	}
	return entries, cells
}

func TestBytesPerEntry(t *testing.T) {
	// The layout's promise, counted and not measured: 9/8 of an entry and 11 bytes, at any number of entries.
	const entry = 16 // one + int
	m := New[one, int](1 << 20)
	for i := range 200_000 {
		m.Update(one(i), set(i))
		if n := i + 1; n > 50_000 && n%10_000 == 0 {
			entries, cells := capacity(m)
			perEntry := float64(entries*entry+cells*4) / float64(n)
			assert.LessOrEqual(t, perEntry, entry*9.0/8+11+1, "%d entries", n)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	m := New[num, int](1000)
	m.Update(num{1, 1}, set(1))
	total := 0
	for name, f := range map[string]func(){
		"hit":      func() { m.Update(num{1, 1}, func(v *int) bool { total += *v; return true }) },
		"miss":     func() { m.Update(num{2, 1}, func(v *int) bool { total += *v; return false }) },
		"siblings": func() { m.Siblings(num{1, 0}, func(_ num, v *int) { total += *v }) },
		"load":     func() { m.Load(num{1, 1}) },
		"empty":    func() { m.Empty() },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

func TestConcurrentUse(t *testing.T) {
	m := New[one, int](500)
	var wg sync.WaitGroup
	var sum atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				k := one(i % 300)
				m.Update(k, func(v *int) bool { *v++; return true })
				sum.Add(1)
				switch i % 100 {
				case g:
					for range m.All() {
						break
					}
				case g + 10:
					m.Siblings(k, func(one, *int) {})
					m.DeleteNext(func(one, *int) bool { return false })
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, v := range m.All() {
		total += v
	}
	assert.Equal(t, 300, m.Len())
	assert.Equal(t, int(sum.Load()), total, "no update is lost")
	assert.Zero(t, m.Refused())
}

func TestMixKeepsKeysOfOneContainerApart(t *testing.T) {
	seen := map[uint64]bool{}
	shards := map[uint64]int{}
	for i := range uint64(100_000) {
		h := Mix(42, i)
		require.False(t, seen[h])
		seen[h] = true
		shards[h>>56]++
	}
	for s, n := range shards {
		assert.InDelta(t, 390, n, 120, "shard %d", s)
	}
}
