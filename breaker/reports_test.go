package breaker

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of this file are named after public reports from users of the other SDKs. What they need of the middleware is
// tested there; here is the breaker's part.

// rust#4610, #4590: fail-back on a timer sends live traffic to a sick region. One of a hundred requests may go there.
func TestReport99_ExactlyOneOfAHundredProbes(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	open(t, s, p1, west, false, started)
	due := started.Add(30 * time.Second)

	var probes, away atomic.Int32
	var token atomic.Uint32
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			<-start
			route := s.Route(p1, false, due)
			if route.Mask == 1<<west {
				away.Add(1)
			}
			if !route.ProbeDue {
				return
			}
			if tok, ok := s.ClaimProbe(p1, route.Probe, false, due); ok {
				probes.Add(1)
				token.Store(uint32(tok))
			}
		})
	}
	close(start)
	wg.Wait()
	assert.Equal(t, int32(1), probes.Load())
	assert.Equal(t, int32(100), away.Load(), "nobody goes there otherwise, not even while it is probed")

	tr, ok := s.EndProbe(p1, west, false, Token(token.Load()), Failure, due)
	require.True(t, ok)
	assert.Equal(t, ProbeFailed, tr.Cause)
	assert.Equal(t, time.Minute, tr.OpenFor, "failure arms again, for longer")
	route := s.Route(p1, false, due.Add(59*time.Second))
	assert.Equal(t, uint64(1<<west), route.Mask)
	assert.False(t, route.ProbeDue)

	tok, ok := s.ClaimProbe(p1, west, false, due.Add(time.Minute))
	require.True(t, ok)
	s.EndProbe(p1, west, false, tok, Success, due.Add(time.Minute))
	assert.Zero(t, s.Route(p1, false, due.Add(time.Minute)), "success restores")
}

// python#46328: 403/3 on writes of a multi-write account counts. The breaker's part: writes count for writes only.
func TestReport101_FailedWritesDoNotTouchReads(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	for i := range 5 {
		_, opened := s.Record(p1, west, true, Failure, started)
		assert.Equal(t, i == 4, opened, "failure %d", i+1)
	}
	assert.Equal(t, 1, s.Route(p1, true, started).Count)
	assert.Zero(t, s.Route(p1, false, started))
	assert.Equal(t, 1, s.Len())
}

// java#46968: errors of the breaker never surface. Whatever it is asked, it answers.
func TestReport103_NonsenseIsAnswered(t *testing.T) {
	times := []time.Time{started, {}, time.Unix(0, 0), started.AddDate(500, 0, 0), started.AddDate(-500, 0, 0), time.Unix(math.MaxInt64, 0)}
	for _, first := range times {
		s := newStore(Options{ReadFailures: 2}, 100, steady)
		s.at(first)
		for _, now := range times {
			for _, k := range []Key{{}, {math.MaxUint64, math.MaxUint64}} {
				for _, r := range []Region{0, 63, 64, 255} {
					for e := range 7 {
						s.Record(k, r, e%2 == 0, Event(e), now)
						s.Route(k, e%2 == 0, now)
						token, _ := s.ClaimProbe(k, r, e%2 == 0, now)
						s.EndProbe(k, r, e%2 == 1, token+1, Event(e), now)
						s.EndProbe(k, r, e%2 == 0, token, Event(200+e), now)
					}
				}
			}
			s.Lapse(now, nil)
		}
		for e := range s.All {
			assert.Less(t, e.Region, Region(MaxRegions), "a region that cannot be is not recorded")
		}
		s.Forget(200)
	}
}

// A partition nobody has heard of, a token nobody was given.
func TestReport103_UnknownPartitionsGoOn(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	open(t, s, p1, west, false, started)
	unknown := Key{77, 77}
	assert.Zero(t, s.Route(unknown, false, started))
	_, ok := s.ClaimProbe(unknown, west, false, started)
	assert.False(t, ok)
	_, ok = s.EndProbe(unknown, west, false, 5, Success, started)
	assert.False(t, ok)
	_, ok = s.EndProbe(p1, west, false, 0, Success, started.Add(time.Hour/4))
	assert.False(t, ok, "without a probe there is no success of one")
	assert.Equal(t, 1, s.Route(p1, false, started).Count)
}

// rust, PPAF specification, "exhaustion": with every region opened a request must still find one. The breaker names all of them, in
// the order in which rule M takes them, keeps what it knows, and offers a probe for each.
func TestReport113_EveryRegionOpened(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	for i := range 3 {
		open(t, s, p1, Region(2-i), false, started.Add(time.Duration(i)*time.Second))
	}
	route := s.Route(p1, false, started.Add(3*time.Second))
	assert.Equal(t, []Region{2, 1, 0}, route.Opened[:route.Count])

	now := started.Add(40 * time.Second)
	for _, want := range []Region{2, 1, 0} {
		route = s.Route(p1, false, now)
		require.True(t, route.ProbeDue)
		assert.Equal(t, want, route.Probe, "the oldest first, those in flight left out")
		_, ok := s.ClaimProbe(p1, want, false, now)
		require.True(t, ok)
	}
	assert.False(t, s.Route(p1, false, now).ProbeDue)
	assert.Equal(t, 3, s.Len(), "nothing is forgotten for being exhausted")
}

// rust#4432, HEDGING_SPEC 9.5: a region that is slow but answers 200 opens at the fifth hedge in a row that wins against it.
func TestReport115_FiveSlowWinsOpen(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	for range 4 {
		_, opened := s.Record(p1, west, false, SlowWin, started)
		require.False(t, opened)
	}
	s.Record(p1, west, false, Success, started) // an answer of its own
	assert.True(t, s.Empty())
	for i := range 5 {
		tr, opened := s.Record(p1, west, false, SlowWin, started)
		require.Equal(t, i == 4, opened)
		if opened {
			assert.Equal(t, SlowWins, tr.Cause)
			assert.Equal(t, 5, tr.Failures)
		}
	}
	assert.Equal(t, uint64(1<<west), s.Route(p1, false, started).Mask, "the sixth read goes elsewhere, unhedged")
	assert.Zero(t, s.Route(p1, true, started).Mask)

	byDefault := newStore(Options{SlowWins: 0}, 100, steady)
	_, opened := byDefault.Record(p1, west, false, SlowWin, started)
	assert.False(t, opened, "zero is the default, not one")
}
