package shard

import "math/bits"

const (
	// A cell of the index: the tag in the top eight bits, the position plus one below it; 0 is a free cell.
	tagShift = 24
	posMask  = 1<<tagShift - 1

	minEntries = 4 // the first allocation of a shard; smaller ones are not worth rebuilding
	minCells   = 8
)

type entry[K Key, V any] struct {
	key K
	val V
}

// table is one shard's entries without its lock. The zero value is empty and holds no memory.
type table[K Key, V any] struct {
	index   []uint32 // a power of two of cells, at most 3/4 of them used
	entries []entry[K, V]
}

func cell(h uint64, pos int) uint32 { return uint32(uint8(h>>48))<<tagShift | uint32(pos+1) }

func tagged(c uint32, h uint64) bool { return uint8(c>>tagShift) == uint8(h>>48) }

func position(c uint32) int { return int(c&posMask) - 1 }

// find returns the cell and the position of k, whose hash is h; pos is -1 when it is not there.
func (t *table[K, V]) find(h uint64, k K) (at uint64, pos int) {
	if len(t.index) == 0 {
		return 0, -1
	}
	mask := uint64(len(t.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		c := t.index[i]
		if c == 0 {
			return 0, -1
		}
		if p := position(c); tagged(c, h) && t.entries[p].key == k {
			return i, p
		}
	}
}

// siblings calls visit for every entry whose key has the hash h, and perhaps for others.
func (t *table[K, V]) siblings(h uint64, visit func(K, *V)) {
	if len(t.index) == 0 {
		return
	}
	mask := uint64(len(t.index) - 1)
	for i := h & mask; t.index[i] != 0; i = (i + 1) & mask {
		if c := t.index[i]; tagged(c, h) {
			e := &t.entries[position(c)]
			visit(e.key, &e.val)
		}
	}
}

// insert adds k, which must not be there.
func (t *table[K, V]) insert(h uint64, k K, v V) {
	n := len(t.entries)
	if n == cap(t.entries) {
		t.resize(n + max(n/8, minEntries))
	}
	if (n+1)*4 > len(t.index)*3 {
		t.reindex(max(minCells, len(t.index)*2))
	}
	t.entries = append(t.entries, entry[K, V]{k, v})
	t.place(h, n)
}

// remove deletes the entry at pos, which the cell at points to. The last entry takes its position.
func (t *table[K, V]) remove(at uint64, pos int) {
	t.free(at)
	last := len(t.entries) - 1
	if pos != last {
		moved := t.entries[last]
		t.entries[pos] = moved
		t.repoint(moved.key.Hash(), last, pos)
	}
	t.entries[last] = entry[K, V]{}
	t.entries = t.entries[:last]
	t.shrink()
}

// deleteFunc deletes what drop asks for and returns how many that were. It walks backwards, because remove fills a hole
// with the last entry, which has been seen by then.
func (t *table[K, V]) deleteFunc(drop func(K, *V) bool) int {
	deleted := 0
	for pos := len(t.entries) - 1; pos >= 0; pos-- {
		e := &t.entries[pos]
		if !drop(e.key, &e.val) {
			continue
		}
		at, _ := t.find(e.key.Hash(), e.key)
		t.remove(at, pos)
		deleted++
	}
	return deleted
}

// place writes the cell of the entry at pos into the first free place.
func (t *table[K, V]) place(h uint64, pos int) {
	mask := uint64(len(t.index) - 1)
	i := h & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = cell(h, pos)
}

// repoint lets the cell that points to from point to pos.
func (t *table[K, V]) repoint(h uint64, from, pos int) {
	mask := uint64(len(t.index) - 1)
	i := h & mask
	for position(t.index[i]) != from {
		i = (i + 1) & mask
	}
	t.index[i] = cell(h, pos)
}

// free empties a cell and moves later ones of the same run back, so that no search stops too early and no tombstone
// is left.
func (t *table[K, V]) free(hole uint64) {
	mask := uint64(len(t.index) - 1)
	for i := (hole + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := t.entries[position(t.index[i])].key.Hash() & mask
		// A cell may go back to the hole unless its home lies behind the hole.
		if (i-home)&mask >= (i-hole)&mask {
			t.index[hole] = t.index[i]
			hole = i
		}
	}
	t.index[hole] = 0
}

// shrink gives memory back once three quarters are unused.
func (t *table[K, V]) shrink() {
	n := len(t.entries)
	switch {
	case n == 0:
		*t = table[K, V]{}
	case cap(t.entries) > 4*minEntries && n < cap(t.entries)/4:
		t.resize(n + max(n/8, minEntries))
		cells := uint64(cap(t.entries)) * 4 / 3
		t.reindex(max(minCells, 1<<bits.Len64(cells)))
	}
}

// resize moves the entries to an array of the given capacity.
func (t *table[K, V]) resize(capacity int) {
	entries := make([]entry[K, V], len(t.entries), capacity)
	copy(entries, t.entries)
	t.entries = entries
}

// reindex builds the index anew with the given number of cells, a power of two.
func (t *table[K, V]) reindex(cells int) {
	t.index = make([]uint32, cells)
	for pos := range t.entries {
		t.place(t.entries[pos].key.Hash(), pos)
	}
}
