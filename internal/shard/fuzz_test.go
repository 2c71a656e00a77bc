package shard

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// twin is what a Map does, written with a Go map: slow, obvious, and without shards.
type twin[K Key] struct {
	entries map[K]int
	limit   int
	refused uint64
}

func (w *twin[K]) add(k K, n int) {
	_, known := w.entries[k]
	switch {
	case n == 0:
		delete(w.entries, k)
	case !known && len(w.entries) == w.limit:
		w.refused++
	default:
		w.entries[k] += n
	}
}

// run interprets data as operations, three bytes each, on both.
func run[K Key](t *testing.T, data []byte, key func(byte) K) {
	const limit = 100
	m := New[K, int](limit)
	w := &twin[K]{entries: map[K]int{}, limit: limit}
	for len(data) >= 3 {
		op, k, n := data[0], key(data[1]), int(data[2])
		data = data[3:]
		switch op % 8 {
		case 0:
			odd := func(k K, v int) bool { return (int(k.Hash())^v^n)&7 == 0 }
			m.DeleteFunc(func(k K, v *int) bool { return odd(k, *v) })
			maps.DeleteFunc(w.entries, odd)
		case 1, 2:
			m.Update(k, func(*int) bool { return false })
			w.add(k, 0)
		case 3:
			if n == 0 {
				m.Clear()
				clear(w.entries)
			}
		default:
			m.Update(k, func(v *int) bool { *v += n; return n != 0 })
			w.add(k, n)
		}
		compare(t, m, w, k)
	}
	require.Equal(t, w.entries, maps.Collect(m.All()))
}

func compare[K Key](t *testing.T, m *Map[K, int], w *twin[K], k K) {
	v, ok := m.Load(k)
	want, known := w.entries[k]
	if v != want || ok != known || m.Len() != len(w.entries) || m.Empty() != (len(w.entries) == 0) || m.Refused() != w.refused {
		require.FailNow(t, "different", "%v: %d %v, want %d %v; %d entries, want %d; %d refused, want %d",
			k, v, ok, want, known, m.Len(), len(w.entries), m.Refused(), w.refused)
	}
	siblings := 0
	m.Siblings(k, func(s K, v *int) {
		if want, known := w.entries[s]; !known || want != *v {
			require.FailNow(t, "strange sibling", "%v", s)
		}
		if s.Hash() == k.Hash() {
			siblings++
		}
	})
	for other := range w.entries {
		if other.Hash() == k.Hash() {
			siblings--
		}
	}
	if siblings != 0 {
		require.FailNow(t, "siblings missing or seen twice", "%v: %d", k, siblings)
	}
}

// FuzzMap compares the Map with its twin, with keys that spread, keys that are siblings, and keys that all collide.
func FuzzMap(f *testing.F) {
	f.Add([]byte{4, 1, 1, 4, 2, 2, 1, 1, 0, 4, 3, 3, 0, 0, 0, 3, 0, 0})
	var many []byte
	for i := range 250 {
		many = append(many, 4, byte(i), 1)
	}
	for i := range 200 {
		many = append(many, 1, byte(i*7), 0)
	}
	f.Add(many)
	f.Fuzz(func(t *testing.T, data []byte) {
		run(t, data, func(b byte) one { return one(b) })
		run(t, data, func(b byte) num { return num{uint64(b % 16), uint64(b / 16)} })
		run(t, data, func(b byte) poor { return poor(b) })
	})
}
