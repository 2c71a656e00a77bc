package breaker

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/shard"
)

const (
	// sweepRound is how long Lapse takes to look at every shard once, if it is called often enough.
	sweepRound = 30 * time.Second
	sweepStep  = sweepRound / shard.Shards

	// sweepRecords bounds one call of Lapse: it stops at the shard in which it has looked at that many records, so that no
	// request pays more than some ten microseconds for others.
	sweepRecords = 4096
)

// Lapse drops records that have lapsed, a part of them at a time, and passes to tell, if not nil, each transition of a region that
// was Unavailable or HealthyTentative. Nothing else removes the records of partitions that nobody asks for any more, and
// there is no timer: it is to be called with every request that finds the store not Empty. Most calls cost a few loads.
func (s *Store) Lapse(now time.Time, tell func(Transition)) {
	if s.Empty() {
		return
	}
	at := s.at(now)
	last := s.swept.Load()
	steps := apart(at, time.Duration(last)) / sweepStep
	if steps == 0 || !s.swept.CompareAndSwap(last, int64(at)) {
		return
	}
	var gone []Transition
	visited := 0
	for range min(steps, shard.Shards) {
		visited += s.records.DeleteNext(func(id slot, rec *Record) bool {
			if !rec.Lapsed(s.rules, at) {
				return false
			}
			if rec.state != HealthyWithFailures {
				gone = append(gone, s.transition(id, Record{}, Change{From: rec.state, Cause: Lapsed}, at))
			}
			return true
		})
		if visited >= sweepRecords {
			break
		}
	}
	if tell == nil {
		return
	}
	for _, tr := range gone {
		tell(tr)
	}
}

// Entry is a record as a state page shows it: a copy that changes no more.
type Entry struct {
	Key       Key
	Region    Region
	Write     bool // the region's writes; else its reads
	State     State
	Failures  int           // in a row
	SlowWins  int           // in a row
	Requests  int           // of the current rate window
	Failed    int           // of the current rate window
	Successes int           // since the region became tentative
	Since     time.Time     // when the state began
	OpenFor   time.Duration // from Since until the probe is due; 0 unless State is Unavailable
	Probing   bool          // a probe is in flight
}

// All yields every record, in no order, as of some moment during the call; the caller stops when it has enough. No lock is held
// while it works. What has lapsed but was not asked for since is still among them.
func (s *Store) All(yield func(Entry) bool) {
	for id, rec := range s.records.All() {
		if !yield(s.entry(id, rec)) {
			return
		}
	}
}

func (s *Store) entry(id slot, rec Record) Entry {
	return Entry{
		Key: id.key, Region: id.region, Write: id.write, State: rec.state,
		Failures: int(rec.run), SlowWins: int(rec.slow),
		Requests: int(rec.requests), Failed: int(rec.failed), Successes: int(rec.successes),
		Since: s.time(rec.since), OpenFor: rec.OpenFor(s.rules), Probing: rec.probe != 0,
	}
}
