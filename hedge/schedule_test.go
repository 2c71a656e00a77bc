package hedge

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestThreshold(t *testing.T) {
	const none = time.Duration(math.MinInt64) // no deadline
	tests := []struct {
		name string
		set  time.Duration
		left time.Duration
		want time.Duration
		ok   bool
	}{
		{"default", 0, none, time.Second, true},
		{"default, long deadline", 0, 10 * time.Second, time.Second, true},
		{"default, two seconds", 0, 2 * time.Second, time.Second, true},
		{"default, half of what is left", 0, 600 * ms, 300 * ms, true},
		{"default, next to nothing left", 0, 1, 0, true},
		{"default, deadline now", 0, 0, 0, false},
		{"default, deadline over", 0, -time.Second, 0, false},
		{"set", 20 * ms, none, 20 * ms, true},
		{"set, more than the default", time.Minute, none, time.Minute, true},
		{"set, more than half of what is left", 500 * ms, 600 * ms, 500 * ms, true},
		{"set, just before the deadline", 600*ms - 1, 600 * ms, 600*ms - 1, true},
		{"set, at the deadline", 600 * ms, 600 * ms, 0, false},
		{"set, beyond the deadline", time.Minute, 600 * ms, 0, false},
		{"set, deadline over", 1, -1, 0, false},
		{"negative is not set", -1, 600 * ms, 300 * ms, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Threshold(Options{Threshold: tt.set}, epoch, epoch.Add(tt.left), tt.left != none)
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.want, got)
		})
	}
	t.Run("no deadline is the zero time", func(t *testing.T) {
		got, ok := Threshold(Options{}, epoch, time.Time{}, false)
		assert.True(t, ok)
		assert.Equal(t, time.Second, got)
	})
}

func TestPlan(t *testing.T) {
	read := Query{Document: true, Candidates: 2}
	tests := []struct {
		name     string
		options  Options
		query    Query
		deadline time.Duration // 0: none
		places   int
		first    time.Duration
		reason   Reason
	}{
		{"a read", Options{}, read, 0, 2, time.Second, ReasonNone},
		{"a read with a deadline", Options{}, read, time.Second, 2, 500 * ms, ReasonNone},
		{"not eligible", Options{Disabled: true}, read, time.Second, 0, 0, ReasonOff},
		{"threshold beyond the deadline", Options{Threshold: time.Second}, read, time.Second, 0, 0, ReasonDeadline},
		{"step beyond the deadline: the places are there, for early starts", Options{Step: time.Hour}, read, time.Second, 2, 500 * ms, ReasonNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, reason := Plan(tt.options, tt.query, epoch, epoch.Add(tt.deadline), tt.deadline != 0)
			assert.Equal(t, tt.reason, reason)
			assert.Equal(t, tt.places, s.Left())
			wait, _ := s.Next(epoch)
			assert.Equal(t, tt.first, wait)
		})
	}
}

// TestSchedule reads like a timing diagram: what is asked of one schedule, and what it says.
func TestSchedule(t *testing.T) {
	s := MakeSchedule(Options{Step: 100 * ms}, epoch, 500*ms, 3)
	steps := []struct {
		at   time.Duration
		take bool // before it is asked
		wait time.Duration
		ok   bool
	}{
		{at: -time.Second, wait: 500 * ms, ok: true}, // a clock that was set back
		{at: 0, wait: 500 * ms, ok: true},
		{at: 10 * ms, wait: 490 * ms, ok: true},
		{at: 20 * ms, take: true, wait: 580 * ms, ok: true}, // early, in the place of 500ms: the next is due at 600ms
		{at: 599 * ms, wait: 1 * ms, ok: true},
		{at: 600 * ms, wait: 0, ok: true},
		{at: 650 * ms, wait: 0, ok: true}, // overdue
		{at: 650 * ms, take: true, wait: 50 * ms, ok: true},
		{at: 700 * ms, take: true, ok: false},
		{at: time.Hour, take: true, ok: false},
	}
	for i, step := range steps {
		if step.take {
			s = s.Take()
		}
		before := s
		wait, ok := s.Next(epoch.Add(step.at))
		require.Equal(t, step.ok, ok, "step %d", i)
		require.Equal(t, step.wait, wait, "step %d", i)
		require.Equal(t, before, s, "asking changes nothing")
	}
}

func TestSchedulePlaces(t *testing.T) {
	tests := []struct{ hedges, candidates, want int }{
		{0, 3, 3}, {0, 0, 0}, {0, -1, 0}, {1, 3, 1}, {5, 3, 3}, {-1, 3, 3}, {0, 1000, 63}, {math.MaxInt, math.MaxInt, 63}, {1, 0, 0},
	}
	for _, tt := range tests {
		s := MakeSchedule(Options{MaxHedges: tt.hedges}, epoch, ms, tt.candidates)
		assert.Equal(t, tt.want, s.Left(), "%+v", tt)
	}
	assert.Zero(t, Schedule{}.Left())
	assert.Zero(t, Schedule{}.Take().Left(), "the zero value stays without places")
}

func TestScheduleDefaults(t *testing.T) {
	s := MakeSchedule(Options{}, epoch, -time.Hour, 2)
	wait, ok := s.Next(epoch)
	assert.True(t, ok)
	assert.Zero(t, wait, "a negative threshold is due at once")
	wait, ok = s.Take().Next(epoch)
	assert.True(t, ok)
	assert.Equal(t, 500*ms, wait, "the default step")
}

// due is the dumb twin of the schedule: a list of times, without a limit to numbers.
func due(threshold, step time.Duration, places int) []*big.Int {
	var out []*big.Int
	at := big.NewInt(int64(max(threshold, 0)))
	for range places {
		out = append(out, new(big.Int).Set(at))
		if step <= 0 {
			step = 500 * ms
		}
		at.Add(at, big.NewInt(int64(step)))
	}
	return out
}

func FuzzSchedule(f *testing.F) {
	f.Add(int64(500*ms), int64(100*ms), uint8(3), uint8(2), int64(650*ms), uint8(1))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), uint8(63), uint8(0), int64(0), uint8(9))
	f.Add(int64(-1), int64(-1), uint8(200), uint8(0), int64(-1), uint8(0))
	f.Fuzz(func(t *testing.T, threshold, step int64, candidates, hedges uint8, elapsed int64, takes uint8) {
		o := Options{Step: time.Duration(step), MaxHedges: int(hedges)}
		s := MakeSchedule(o, epoch, time.Duration(threshold), int(candidates))
		places := min(int(candidates), 63)
		if hedges > 0 {
			places = min(places, int(hedges))
		}
		times := due(time.Duration(threshold), time.Duration(step), places)
		for range takes {
			s = s.Take()
			if len(times) > 0 {
				times = times[1:]
			}
		}
		require.Equal(t, len(times), s.Left())
		now := epoch.Add(time.Duration(elapsed))
		wait, ok := s.Next(now)
		require.Equal(t, len(times) > 0, ok)
		if !ok {
			return
		}
		// What is beyond the largest Duration counts as the largest one: 292 years are as good as for ever.
		want := times[0]
		if largest := big.NewInt(math.MaxInt64); want.Cmp(largest) > 0 {
			want = largest
		}
		passed := max(now.Sub(epoch), 0)
		left := new(big.Int).Sub(want, big.NewInt(int64(passed)))
		if left.Sign() < 0 {
			left.SetInt64(0)
		}
		require.Equal(t, left.Int64(), int64(wait))
	})
}
