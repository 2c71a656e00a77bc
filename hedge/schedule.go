package hedge

import (
	"math"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// maxHedges is the most hedges one operation can have: one leg in each region, and the first is no hedge.
const maxHedges = regions.MaxRegions - 1

// Threshold returns how long after start, the start of the operation, the first hedge is due, and whether there can be
// one: not if the deadline is over by then, or is over already. A Threshold that is set is taken as it is, else it is
// 1 second, or half of what was left of the deadline at the start if that is shorter. deadline counts only with hasDeadline,
// as context.Context.Deadline returns them.
func Threshold(o Options, start, deadline time.Time, hasDeadline bool) (time.Duration, bool) {
	threshold := o.Threshold
	if threshold <= 0 {
		threshold = defaultThreshold
	}
	if !hasDeadline {
		return threshold, true
	}
	left := deadline.Sub(start)
	if o.Threshold <= 0 {
		threshold = min(threshold, left/2)
	}
	if left <= 0 || threshold >= left {
		return 0, false
	}
	return threshold, true
}

// Plan decides whether and when a request is hedged: [Eligible], [Threshold] and [MakeSchedule] in one. start is the
// start of the operation. With a reason the schedule has no places, and the request goes its ordinary way.
func Plan(o Options, q Query, start, deadline time.Time, hasDeadline bool) (Schedule, Reason) {
	if ok, reason := Eligible(o, q); !ok {
		return Schedule{}, reason
	}
	threshold, ok := Threshold(o, start, deadline, hasDeadline)
	if !ok {
		return Schedule{}, ReasonDeadline
	}
	return MakeSchedule(o, start, threshold, q.Candidates), ReasonNone
}

// Schedule is the hedges of one operation that are still to come, each in its place: the one with number k, from 0, is due
// at start + threshold + k * step. It is a value: its methods change nothing. The zero value has no places.
type Schedule struct {
	start           time.Time
	threshold, step time.Duration
	taken, places   uint8
}

// MakeSchedule returns the schedule of an operation that began at start. It has a place for every candidate, or MaxHedges
// of them if that is set and less, and 63 at most. A negative threshold counts as zero: due at once.
func MakeSchedule(o Options, start time.Time, threshold time.Duration, candidates int) Schedule {
	s := Schedule{start: start, threshold: max(threshold, 0), step: o.Step}
	if s.step <= 0 {
		s.step = defaultStep
	}
	places := min(max(candidates, 0), maxHedges)
	if o.MaxHedges > 0 {
		places = min(places, o.MaxHedges)
	}
	s.places = uint8(places)
	return s
}

// Next returns how long from now on the next hedge is due, 0 if it is due or overdue; false if no place is left. A now
// before the start counts as the start.
func (s Schedule) Next(now time.Time) (wait time.Duration, ok bool) {
	if s.taken >= s.places {
		return 0, false
	}
	elapsed := max(now.Sub(s.start), 0)
	return max(s.due()-elapsed, 0), true
}

// Take returns the schedule without its next place, whether that hedge is started when it is due, early, or not at all. The
// others keep their times.
func (s Schedule) Take() Schedule {
	if s.taken < s.places {
		s.taken++
	}
	return s
}

// Left returns how many places are left.
func (s Schedule) Left() int { return int(s.places - s.taken) }

// none returns the schedule without any place.
func (s Schedule) none() Schedule {
	s.taken = s.places
	return s
}

// due is the time of the next place from the start on. What would overflow is never due.
func (s Schedule) due() time.Duration {
	k := time.Duration(s.taken)
	if k > 0 && s.step > (math.MaxInt64-s.threshold)/k {
		return math.MaxInt64
	}
	return s.threshold + k*s.step
}
