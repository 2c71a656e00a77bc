package shard

import (
	"iter"
	"sync"
	"sync/atomic"
)

const (
	// Shards is the number of shards of a Map. 256 keep a shard of a million entries at about four thousand, which
	// bounds how long one lock is held while a shard grows.
	Shards = 256

	// MaxLimit is the largest number of entries a Map can be asked to hold.
	MaxLimit = posMask - 1
)

// Map holds entries of V by K. Make one with New. All methods are safe for concurrent use. Functions handed to it run
// under the lock of a shard: they must be short, must not call the Map, and must not keep the pointer they are given.
type Map[K Key, V any] struct {
	count   atomic.Int64 // entries; raised before an insertion and lowered after a removal, so 0 means none
	refused atomic.Uint64
	cursor  atomic.Uint32 // the shard DeleteNext looks at next
	limit   int64
	shards  [Shards]locked[K, V]
}

type locked[K Key, V any] struct {
	mu sync.Mutex
	// mu guards all below.
	table[K, V]
	scratch V        // what Update shows for a key that is not there: on the heap once, not per call
	_       [64]byte // neighbours do not share a cache line
}

// New returns an empty Map that holds at most limit entries; limit is brought into 1 to MaxLimit.
func New[K Key, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: int64(min(max(limit, 1), MaxLimit))}
}

// Empty reports whether nothing is recorded, with one atomic load.
func (m *Map[K, V]) Empty() bool { return m.count.Load() == 0 }

// Len returns the number of entries. While others insert it may run ahead of what a lookup finds.
func (m *Map[K, V]) Len() int { return int(m.count.Load()) }

// Refused returns how many insertions the limit has refused so far. It only grows.
func (m *Map[K, V]) Refused() uint64 { return m.refused.Load() }

func (m *Map[K, V]) shard(h uint64) *locked[K, V] { return &m.shards[h>>56] }

// Load returns the value of k; ok is false, and the value zero, when there is none.
func (m *Map[K, V]) Load(k K) (v V, ok bool) {
	h := k.Hash()
	s := m.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, pos := s.find(h, k); pos >= 0 {
		return s.entries[pos].val, true
	}
	return v, false
}

// Update lets f change the value of k in place. For a key that is not there f sees the zero value. The entry stays,
// or is made, when f returns true, and goes, or is not made, when it returns false. stored reports whether there is an
// entry afterwards: false with an f that asked for one means that the limit refused it.
func (m *Map[K, V]) Update(k K, f func(*V) (keep bool)) (stored bool) {
	h := k.Hash()
	s := m.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, pos := s.find(h, k); pos >= 0 {
		if f(&s.entries[pos].val) {
			return true
		}
		s.remove(at, pos)
		m.count.Add(-1)
		return false
	}
	var zero V
	s.scratch = zero
	if !f(&s.scratch) {
		return false
	}
	if m.count.Add(1) > m.limit {
		m.count.Add(-1)
		m.refused.Add(1)
		return false
	}
	s.insert(h, k, s.scratch)
	return true
}

// Siblings calls visit for every entry whose key hashes like k (k itself need not be there), in no order. Entries with other
// hashes may be among them: visit has to compare keys anyway, as equal hashes do not make siblings of strangers.
func (m *Map[K, V]) Siblings(k K, visit func(K, *V)) {
	h := k.Hash()
	s := m.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.siblings(h, visit)
}

// DeleteFunc deletes every entry that drop returns true for, and returns how many that were.
func (m *Map[K, V]) DeleteFunc(drop func(K, *V) bool) int {
	deleted := 0
	for i := range m.shards {
		n, _ := m.deleteIn(i, drop)
		deleted += n
	}
	return deleted
}

// DeleteNext does for one shard what DeleteFunc does for all, a different one each time, all of them in turn. It
// returns how many entries it looked at: a caller can so bound its work.
func (m *Map[K, V]) DeleteNext(drop func(K, *V) bool) (visited int) {
	_, visited = m.deleteIn(int(m.cursor.Add(1)%Shards), drop)
	return visited
}

func (m *Map[K, V]) deleteIn(i int, drop func(K, *V) bool) (deleted, visited int) {
	s := &m.shards[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	visited = len(s.entries)
	deleted = s.deleteFunc(drop)
	m.count.Add(int64(-deleted))
	return deleted, visited
}

// Clear deletes everything and gives the memory back. The count of refusals stays.
func (m *Map[K, V]) Clear() {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		m.count.Add(int64(-len(s.entries)))
		s.table = table[K, V]{}
		s.mu.Unlock()
	}
}

// All yields copies of the entries in no order. A shard is copied when its turn comes and no lock is held while the caller
// works; entries made or deleted meanwhile may or may not be seen, none is seen twice.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var copied []entry[K, V]
		for i := range m.shards {
			copied = m.shards[i].appendTo(copied[:0])
			for j := range copied {
				if !yield(copied[j].key, copied[j].val) {
					return
				}
			}
		}
	}
}

func (s *locked[K, V]) appendTo(buf []entry[K, V]) []entry[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(buf, s.entries...)
}
