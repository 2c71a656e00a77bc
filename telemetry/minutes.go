package telemetry

import (
	"sync/atomic"
	"time"
)

const (
	// TrafficWindow is how far back the counts of a [State] go: five whole
	// minutes, and the one that is not over yet.
	TrafficWindow = 5 * time.Minute

	minuteSlots = int(TrafficWindow/time.Minute) + 1
	maxRegions  = 64
)

// minutes counts some numbers by the minute, for the last TrafficWindow. It
// locks nothing; a few counts of the first moment of a minute may be lost.
type minutes [minuteSlots]struct {
	minute atomic.Int64 // that the counts are of
	counts []atomic.Uint32
}

func newMinutes(numbers int) *minutes {
	var m minutes
	for i := range m {
		m[i].counts = make([]atomic.Uint32, numbers)
	}
	return &m
}

func (m *minutes) add(number int, now time.Time) {
	minute := now.Unix() / 60
	slot := &m[uint64(minute)%uint64(minuteSlots)]
	if was := slot.minute.Load(); was != minute && slot.minute.CompareAndSwap(was, minute) {
		for i := range slot.counts {
			slot.counts[i].Store(0)
		}
	}
	slot.counts[number].Add(1)
}

// sum is what was counted of a number in the window that ends now.
func (m *minutes) sum(number int, now time.Time) (n uint64) {
	minute := now.Unix() / 60
	for i := range m {
		if age := minute - m[i].minute.Load(); age >= 0 && age < int64(minuteSlots) {
			n += uint64(m[i].counts[number].Load())
		}
	}
	return n
}

// trafficStripes keep processors from writing to the same memory. The time
// chooses the stripe: its digits above stripeShift are as good as chance, and
// cost less.
const (
	trafficStripes = 8
	stripeShift    = 5
)

// Traffic counts the attempts of one account by region, for the shares in its
// [State]. Make one with [NewTraffic]; it is safe for concurrent use.
type Traffic struct {
	all    [trafficStripes]*minutes
	failed *minutes
}

// NewTraffic returns empty counts.
func NewTraffic() *Traffic {
	t := &Traffic{failed: newMinutes(2 * maxRegions)}
	for i := range t.all {
		t.all[i] = newMinutes(2 * maxRegions)
	}
	return t
}

// Count counts an attempt that was sent at now to the region with this index,
// 0 to 63; any other index is ignored. failed: the attempt says that the region
// is unwell. It allocates nothing.
func (t *Traffic) Count(region int, write, failed bool, now time.Time) {
	if uint(region) >= maxRegions {
		return
	}
	number := trafficNumber(region, write)
	t.all[now.Nanosecond()>>stripeShift%trafficStripes].add(number, now)
	if failed {
		t.failed.add(number, now)
	}
}

// Region is the attempts of a region in the window that ends now.
func (t *Traffic) Region(region int, write bool, now time.Time) (all, failed uint64) {
	if uint(region) >= maxRegions {
		return 0, 0
	}
	number := trafficNumber(region, write)
	for _, m := range t.all {
		all += m.sum(number, now)
	}
	return all, t.failed.sum(number, now)
}

func trafficNumber(region int, write bool) int {
	if write {
		return maxRegions + region
	}
	return region
}
