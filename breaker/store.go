package breaker

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/shard"
)

// limit is how many records a Store holds: one million, about 100 MB. Dropped tells when it is reached.
const limit = 1 << 20

// slot is where a Record lives. Slots that differ in the region only are siblings: Route finds them by one lookup.
type slot struct {
	key    Key
	region Region
	write  bool
}

// Hash implements shard.Key.
func (s slot) Hash() uint64 {
	h := shard.Mix(s.key.Container, s.key.Range)
	if s.write {
		return ^h
	}
	return h
}

// Store holds the records of everything that is unwell. Make one with NewStore. All methods are safe for concurrent use; none
// blocks longer than a lock of one shard is held, none starts a goroutine, and none fails.
type Store struct {
	rules    *Rules
	disabled bool
	records  *shard.Map[slot, Record]
	epoch    atomic.Pointer[time.Time] // the first time the store was given; all others are kept as a distance from it
	tokens   atomic.Uint32             // the last Token given out
	swept    atomic.Int64              // when Lapse last did something
	jitter   func(slot, time.Duration) uint8
}

// NewStore returns a store that goes by o, which must have passed Validate. A disabled one records nothing.
func NewStore(o Options) *Store {
	if o.steady {
		return newStore(o, limit, func(slot, time.Duration) uint8 { return 0 })
	}
	return newStore(o, limit, seeded(rand.Uint64()))
}

func newStore(o Options, limit int, jitter func(slot, time.Duration) uint8) *Store {
	return &Store{
		rules:    o.Rules(),
		disabled: o.Disabled,
		records:  shard.New[slot, Record](limit),
		jitter:   jitter,
	}
}

// seeded derives the jitter of an opening from what opens and when. The seed makes it another one in every process.
func seeded(seed uint64) func(slot, time.Duration) uint8 {
	return func(s slot, at time.Duration) uint8 {
		return uint8(shard.Mix(seed^uint64(at), s.Hash()^uint64(s.region)))
	}
}

// Empty reports whether nothing is unwell, with one atomic load. Then every Route is zero, and a Success needs no Record.
func (s *Store) Empty() bool { return s.records.Empty() }

// Len returns the number of records: one for each partition, region, and reads or writes that is unwell.
func (s *Store) Len() int { return s.records.Len() }

// Dropped returns how many events found no place, because a million records are held. It only grows.
func (s *Store) Dropped() uint64 { return s.records.Refused() }

// Record notes that an attempt for k in region r ended with e, which is Success, Failure or SlowWin. A write on a
// single-write account is never recorded, by its caller. The transition is to be told if ok. What is healthy and succeeds
// costs a load, or a lookup while something else is unwell, and never an allocation.
func (s *Store) Record(k Key, r Region, write bool, e Event, now time.Time) (tr Transition, ok bool) {
	if s.disabled || r >= MaxRegions || e == Success && s.Empty() {
		return Transition{}, false
	}
	id, at := slot{k, r, write}, s.at(now)
	var change Change
	var next Record
	stored := s.records.Update(id, func(rec *Record) bool {
		if e == Success && rec.state == Healthy {
			return false
		}
		next, change = rec.Apply(s.rules, write, e, at, s.jitter(id, at))
		*rec = next
		return next.state != Healthy
	})
	if change.Cause == NoCause || !stored && next.state != Healthy {
		return Transition{}, false
	}
	return s.transition(id, next, change, at), true
}

// transition puts names to a change. The state of next began at next.since, or, if it is Healthy, just now.
func (s *Store) transition(id slot, next Record, c Change, at time.Duration) Transition {
	if next.state != Healthy {
		at = next.since
	}
	return Transition{
		Key: id.key, Region: id.region, Write: id.write,
		From: c.From, To: c.To, Cause: c.Cause, Failures: c.Failures,
		Since: s.time(at), OpenFor: next.OpenFor(s.rules),
	}
}

// Forget drops what is known of a region that has left the account, so that a region which takes its index later starts
// healthy. Probes in flight there end without effect.
func (s *Store) Forget(r Region) {
	s.records.DeleteFunc(func(id slot, _ *Record) bool { return id.region == r })
}

// Clear drops everything. Probes in flight end without effect.
func (s *Store) Clear() { s.records.Clear() }

// at converts a time. Its bound keeps distances of any two from overflowing.
func (s *Store) at(now time.Time) time.Duration {
	epoch := s.epoch.Load()
	if epoch == nil {
		first := now
		s.epoch.CompareAndSwap(nil, &first)
		epoch = s.epoch.Load()
	}
	return min(max(now.Sub(*epoch), -longest), longest)
}

// time converts back. There is an epoch, because there was an event.
func (s *Store) time(at time.Duration) time.Time { return s.epoch.Load().Add(at) }
