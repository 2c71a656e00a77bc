package telemetry

import (
	"math"
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

// minutes counts some numbers by the minute, for the last TrafficWindow: each
// number has a cell for each of minuteSlots minutes, with the minute in its upper
// half and the count in the lower. It locks nothing.
type minutes []atomic.Uint64

func newMinutes(numbers int) minutes { return make(minutes, numbers*minuteSlots) }

func minuteOf(t time.Time) uint32 { return uint32(t.Unix() / 60) }

func (m minutes) cell(number int, minute uint32) *atomic.Uint64 {
	return &m[number*minuteSlots+int(minute%uint32(minuteSlots))]
}

func (m minutes) add(number int, now time.Time) {
	minute := minuteOf(now)
	cell := m.cell(number, minute)
	for {
		was := cell.Load()
		if uint32(was>>32) == minute {
			cell.Add(1)
			return
		}
		if newer := int32(uint32(was>>32) - minute); 0 < newer && newer < 60 { //nolint:gosec // the distance, also where the clock was set back
			return // what began so long ago that its cell is needed again
		}
		if cell.CompareAndSwap(was, uint64(minute)<<32|1) {
			return
		}
	}
}

// sum is what was counted of a number in the window that ends now.
func (m minutes) sum(number int, now time.Time) (n uint64) {
	last := minuteOf(now)
	for minute := last - uint32(minuteSlots) + 1; minute != last+1; minute++ {
		if cell := m.cell(number, minute).Load(); uint32(cell>>32) == minute {
			n += cell & math.MaxUint32
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
	trafficNumbers = 2 * maxRegions // reads and writes of each
)

// Traffic counts the attempts of one account by region, for the shares in its
// [State]. Make one with [NewTraffic]; it is safe for concurrent use.
type Traffic struct {
	all    [trafficStripes][trafficNumbers * minuteSlots]atomic.Uint64
	failed minutes
}

// NewTraffic returns empty counts.
func NewTraffic() *Traffic {
	return &Traffic{failed: newMinutes(trafficNumbers)}
}

// Count counts an attempt that was sent at now to the region with this index,
// 0 to 63; any other index is ignored. failed: the attempt says that the region
// is unwell. It allocates nothing.
func (t *Traffic) Count(region int, write, failed bool, now time.Time) {
	if uint(region) >= maxRegions {
		return
	}
	number := trafficNumber(region, write)
	stripe := &t.all[now.Nanosecond()>>stripeShift%trafficStripes]
	minutes(stripe[:]).add(number, now)
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
	for i := range t.all {
		all += minutes(t.all[i][:]).sum(number, now)
	}
	return all, t.failed.sum(number, now)
}

func trafficNumber(region int, write bool) int {
	if write {
		return maxRegions + region
	}
	return region
}
