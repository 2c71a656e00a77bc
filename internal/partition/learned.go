package partition

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// DefaultLearned is the number of logical keys a [Learned] remembers if nothing else is asked for: 128 KiB.
const DefaultLearned = 7 * 1024

// maxLearned bounds a [Learned] to 128 MiB.
const maxLearned = 7 << 20

// ways is the number of keys in a bucket: with it a bucket is two cache lines.
const ways = 7

// Learned remembers which range the service said a logical partition key lies in (the response header
// x-ms-documentdb-partitionkeyrangeid): the bounded store of hashes that stands in for a range map where there is none,
// that is without Bind. With it the keys of one physical partition share their records; and a key that is suddenly
// answered by another range says that the range has been split, merged or moved.
//
// It holds hashes only, in one piece of memory of fixed size without pointers. Within a bucket of seven keys the one
// that has not been asked for longest, roughly, gives way (second chance), keys that were never asked for first. Lookups take no lock and write nothing
// unless the key has not been asked for since it was last up for eviction. All methods are safe for concurrent use; a nil
// *Learned knows nothing.
type Learned struct {
	buckets []bucket // a power of two
}

// bucket is a set of slots. Readers take no lock: a slot's first word is the key XOR the second word, so a reader that
// meets a slot half written finds a key that is not the one it asked for.
type bucket struct {
	mu    sync.Mutex    // held by writers: the slots change one at a time
	used  atomic.Uint32 // a bit for each slot that was asked for since the last sweep
	hand  uint32        // the slot that is looked at first for eviction; guarded by mu
	slots [ways]slot
}

type slot struct {
	check atomic.Uint64 // key XOR value
	value atomic.Uint64 // the Range half of the range's ID; 0: empty
}

// NewLearned returns a table for at least that many keys; 0 and less mean [DefaultLearned], and more than 7 Mi are cut
// to that. All memory is taken at once: about 18 bytes a key, up to twice that for rounding.
func NewLearned(keys int) *Learned {
	if keys <= 0 {
		keys = DefaultLearned
	}
	buckets := (min(keys, maxLearned) + ways - 1) / ways
	return &Learned{buckets: make([]bucket, 1<<bits.Len(uint(buckets-1)))}
}

// Learn notes that the logical key with this ID (known [ByLogicalKey]) is in the range with that id. moved says that
// another range was noted before. An empty rangeID is ignored. If nothing is new, nothing is written.
func (l *Learned) Learn(key ID, rangeID string) (moved bool) {
	if l == nil || rangeID == "" {
		return false
	}
	h, value := key.Hash(), hashRangeID(rangeID)
	b := l.bucket(h)
	if _, old := b.find(h); old == value {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i, old := b.find(h)
	if old == 0 {
		i = b.evict()
	}
	b.slots[i].check.Store(h ^ value)
	b.slots[i].value.Store(value)
	return old != 0 && old != value
}

// Lookup returns the ID of the range the logical key was last seen in. It is the ID that [Resolve] gives without a map to
// a request that names that range.
func (l *Learned) Lookup(key ID) (ID, bool) {
	if l == nil {
		return ID{}, false
	}
	h := key.Hash()
	b := l.bucket(h)
	i, value := b.find(h)
	if value == 0 {
		return ID{}, false
	}
	b.touch(i)
	return ID{Container: key.Container, Range: value}, true
}

func (l *Learned) bucket(h uint64) *bucket { return &l.buckets[h&uint64(len(l.buckets)-1)] }

// find returns the slot of a key and its value, 0 if it is not there.
func (b *bucket) find(h uint64) (i int, value uint64) {
	for i := range b.slots {
		value := b.slots[i].value.Load()
		if value != 0 && b.slots[i].check.Load()^value == h {
			return i, value
		}
	}
	return 0, 0
}

// touch notes that a slot was asked for; mostly it has been already, and nothing is written.
func (b *bucket) touch(i int) {
	if bit := uint32(1) << i; b.used.Load()&bit == 0 {
		b.used.Or(bit)
	}
}

// evict returns the slot for a new key: an empty one, else one that was not asked for since the last sweep. The caller
// must hold mu.
func (b *bucket) evict() int {
	for i := range b.slots {
		if b.slots[i].value.Load() == 0 {
			return i
		}
	}
	used := b.used.Load()
	for range ways {
		i := b.hand
		b.hand = (b.hand + 1) % ways
		if used&(1<<i) == 0 {
			return int(i)
		}
	}
	// All were: a new sweep begins, and the slot at the hand goes first.
	b.used.Store(0)
	i := b.hand
	b.hand = (b.hand + 1) % ways
	return int(i)
}
