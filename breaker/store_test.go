package breaker

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const west = Region(1)

var p1 = Key{1, 1}

func steady(slot, time.Duration) uint8 { return 0 }

// open opens a region for a partition.
func open(t *testing.T, m machine, k Key, r Region, write bool, now time.Time) {
	t.Helper()
	for range 10 {
		if tr, ok := m.Record(k, r, write, Failure, now); ok {
			require.Equal(t, Unavailable, tr.To)
			return
		}
	}
	require.Fail(t, "it does not open")
}

// TestWithoutJitter opens many partitions, which come due at the same moment, and not with jitter.
func TestWithoutJitter(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		steady  bool
	}{{"with", Options{ReadFailures: 1}, false}, {"without", Options{ReadFailures: 1}.WithoutJitter(), true}} {
		s, at := NewStore(c.options), time.Unix(1_000, 0)
		due := 0
		for k := range uint64(100) {
			s.Record(Key{1, k}, 0, false, Failure, at)
		}
		for k := range uint64(100) {
			if s.Route(Key{1, k}, false, at.Add(defaultOpenFor)).ProbeDue {
				due++
			}
		}
		if c.steady != (due == 100) {
			t.Errorf("%s jitter: %d of 100 due", c.name, due)
		}
	}
}

func TestHealthyCostsNothing(t *testing.T) {
	s := NewStore(Options{})
	healthy := func() {
		s.Record(p1, west, false, Success, started)
		s.Route(p1, false, started)
		s.ClaimProbe(p1, west, false, started)
		s.EndProbe(p1, west, false, 1, Success, started)
		s.Lapse(started, nil)
	}
	assert.Zero(t, testing.AllocsPerRun(100, healthy))
	assert.True(t, s.Empty())
	assert.Nil(t, s.epoch.Load(), "not even the time is looked at")

	open(t, s, Key{2, 2}, west, false, started)
	assert.Zero(t, testing.AllocsPerRun(100, healthy), "nor when another partition is unwell")
	assert.Equal(t, 1, s.Len(), "nor is anything recorded")

	unwell := func() {
		s.Record(Key{2, 2}, west, false, Failure, started)
		s.Route(Key{2, 2}, false, started)
	}
	assert.Zero(t, testing.AllocsPerRun(100, unwell))
}

func TestDisabledRecordsNothing(t *testing.T) {
	s := NewStore(Options{Disabled: true})
	for range 100 {
		_, ok := s.Record(p1, west, false, Failure, started)
		require.False(t, ok)
	}
	assert.True(t, s.Empty())
	assert.Zero(t, s.Route(p1, false, started))
}

func TestTheLimitRefusesAndCounts(t *testing.T) {
	s := newStore(Options{ReadFailures: 1}, 2, steady)
	open(t, s, Key{1, 1}, west, false, started)
	open(t, s, Key{1, 2}, west, false, started)
	tr, ok := s.Record(Key{1, 3}, west, false, Failure, started)
	assert.False(t, ok, "nothing has opened: %v", tr)
	assert.Equal(t, uint64(1), s.Dropped())
	assert.Equal(t, 2, s.Len())
	assert.Zero(t, s.Route(Key{1, 3}, false, started).Count)
	assert.Equal(t, 1, s.Route(Key{1, 1}, false, started).Count, "what is known stays known")
}

// TestEqualHashesAreNotEqualPartitions builds partitions whose hashes are those of another one.
func TestEqualHashesAreNotEqualPartitions(t *testing.T) {
	a := Key{1, 1}
	h := (slot{key: a}).Hash()
	b := Key{Container: 2}
	// Mix is x := container*golden ^ rotate(range, 32), and then something that has an inverse.
	const golden = 0x9e3779b97f4a7c15
	b.Range = bits.RotateLeft64(a.Container*golden^b.Container*golden^bits.RotateLeft64(a.Range, 32), -32)
	require.Equal(t, h, (slot{key: b, region: 5}).Hash())

	s := newStore(Options{}, 100, steady)
	open(t, s, a, west, false, started)
	assert.Zero(t, s.Route(b, false, started).Count)
	open(t, s, b, 5, false, started)
	assert.Equal(t, uint64(1<<5), s.Route(b, false, started).Mask)
	assert.Equal(t, uint64(1<<west), s.Route(a, false, started).Mask)
}

func TestAllSixtyFourRegionsInOrder(t *testing.T) {
	s := newStore(Options{ReadFailures: 1}, 1000, steady)
	for i := range MaxRegions {
		// 27 has no common divisor with 64: every region once, out of order.
		s.Record(p1, Region(i*27%MaxRegions), false, Failure, started.Add(time.Duration(i)))
	}
	route := s.Route(p1, false, started.Add(time.Minute))
	require.Equal(t, MaxRegions, route.Count)
	assert.Equal(t, ^uint64(0), route.Mask)
	assert.Equal(t, ^uint64(0), route.Due)
	assert.Equal(t, Region(0), route.Probe)
	for i, r := range route.Opened {
		assert.Equal(t, Region(i*27%MaxRegions), r)
	}
}

func TestOpenedAtOnceAreInTheOrderOfTheirIndex(t *testing.T) {
	for range 20 {
		s := newStore(Options{ReadFailures: 1}, 100, steady)
		for _, r := range []Region{5, 3, 9, 0, 7} {
			s.Record(p1, r, false, Failure, started)
		}
		route := s.Route(p1, false, started)
		require.Equal(t, []Region{0, 3, 5, 7, 9}, route.Opened[:route.Count])
	}
}

// TestOneHundredClaimOneProbe has a hundred goroutines ask at once, again and again.
func TestOneHundredClaimOneProbe(t *testing.T) {
	s := newStore(Options{}, 1000, steady)
	now := started
	open(t, s, p1, west, false, now)
	open(t, s, p1, west, true, now)
	for range 20 {
		now = now.Add(20 * time.Minute) // due, however often it has doubled, and not lapsed
		var reads, writes atomic.Int32
		var token [2]atomic.Uint32
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				<-start
				if tok, ok := s.ClaimProbe(p1, west, false, now); ok {
					reads.Add(1)
					token[0].Store(uint32(tok))
				}
				if tok, ok := s.ClaimProbe(p1, west, true, now); ok {
					writes.Add(1)
					token[1].Store(uint32(tok))
				}
				s.Route(p1, false, now)
				s.Record(p1, west, false, Failure, now)
			})
		}
		close(start)
		wg.Wait()
		require.Equal(t, int32(1), reads.Load())
		require.Equal(t, int32(1), writes.Load())
		s.EndProbe(p1, west, false, Token(token[0].Load()), Failure, now)
		s.EndProbe(p1, west, true, Token(token[1].Load()), Failure, now)
	}
}

// TestConcurrentFailuresOpenOnce counts transitions when many attempts fail at once.
func TestConcurrentFailuresOpenOnce(t *testing.T) {
	s := newStore(Options{}, 10_000, steady)
	var opened atomic.Int32
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range uint64(2000) {
				now := started.Add(time.Duration(i) * time.Millisecond)
				if _, ok := s.Record(Key{1, i % 50}, Region(g%2), false, Failure, now); ok {
					opened.Add(1)
				}
				s.Lapse(now, nil)
				if i%500 == 0 {
					for range s.All {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, int32(100), opened.Load(), "50 partitions, two regions, one opening each")
	assert.Equal(t, 100, s.Len())
}

func TestLapseDrainsEverythingAndTellsIt(t *testing.T) {
	s := newStore(Options{}, 100_000, steady)
	for i := range uint64(20_000) {
		s.Record(Key{1, i}, west, false, Failure, started)
	}
	open(t, s, Key{2, 1}, west, true, started)

	now := started.Add(time.Minute)
	for range 100 {
		now = now.Add(sweepRound)
		s.Lapse(now, nil)
	}
	assert.True(t, s.Empty(), "%d left", s.Len())

	open(t, s, Key{2, 1}, west, true, now)
	var all []Transition
	tell := func(tr Transition) {
		all = append(all, tr)
		s.Record(Key{2, 1}, west, true, Success, now) // no lock is held
	}
	s.Lapse(now.Add(20*time.Minute), tell)
	assert.Empty(t, all)
	later := now.Add(20*time.Minute + 30*time.Second)
	s.Lapse(later, tell)
	assert.Equal(t, []Transition{{
		Key: Key{2, 1}, Region: west, Write: true, From: Unavailable, To: Healthy, Cause: Lapsed, Since: later,
	}}, all)
	assert.True(t, s.Empty())
}

func TestLapseBoundsItsWork(t *testing.T) {
	s := newStore(Options{}, 200_000, steady)
	const n = 100_000
	for i := range uint64(n) {
		s.Record(Key{1, i}, west, false, Failure, started)
	}
	before := s.Len()
	s.Lapse(started.Add(time.Hour), nil)
	dropped := before - s.Len()
	assert.Greater(t, dropped, sweepRecords/2)
	assert.Less(t, dropped, sweepRecords+2*n/256)

	again := s.Len()
	s.Lapse(started.Add(time.Hour), nil)
	assert.Equal(t, again, s.Len(), "once for each moment, however many requests pass")

	s.Lapse(started.Add(-time.Hour), nil)
	assert.Less(t, s.Len(), again, "a clock that jumps backwards does not stop it")
}

func TestLapseGoesOnWhileRequestsAreFrequent(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	for i := range uint64(50) {
		s.Record(Key{1, i}, west, false, Failure, started)
	}
	now := started.Add(4*time.Minute + 50*time.Second) // ten seconds before they lapse
	for end := now.Add(2 * sweepRound); now.Before(end); now = now.Add(10 * time.Millisecond) {
		s.Lapse(now, nil)
	}
	assert.True(t, s.Empty(), "%d left", s.Len())
}

func TestTokensSkipZero(t *testing.T) {
	s := newStore(Options{}, 100, steady)
	s.tokens.Store(1<<32 - 2)
	assert.Equal(t, []Token{1<<32 - 1, 1}, []Token{s.nextToken(), s.nextToken()})
}

func TestStateOfAnEntry(t *testing.T) {
	s := newStore(Options{}, 10, steady)
	open(t, s, p1, west, false, started)
	now := started.Add(30 * time.Second)
	_, ok := s.ClaimProbe(p1, west, false, now)
	require.True(t, ok)
	assert.Equal(t, []Entry{{
		Key: p1, Region: west, State: Unavailable, Since: started, OpenFor: 30 * time.Second, Probing: true,
	}}, entries(s))
}

func TestJitterOfAStore(t *testing.T) {
	seen := map[time.Duration]bool{}
	s, other := NewStore(Options{ReadFailures: 1}), NewStore(Options{ReadFailures: 1})
	same := 0
	for i := range uint64(1000) {
		tr, ok := s.Record(Key{1, i}, west, false, Failure, started)
		require.True(t, ok)
		require.GreaterOrEqual(t, tr.OpenFor, 30*time.Second)
		require.LessOrEqual(t, tr.OpenFor, 30*time.Second*5/4)
		seen[tr.OpenFor] = true
		tr2, _ := other.Record(Key{1, i}, west, false, Failure, started)
		if tr2.OpenFor == tr.OpenFor {
			same++
		}
	}
	assert.Greater(t, len(seen), 200, "partitions of a client probe apart from each other")
	assert.Less(t, same, 50, "and so do clients")
}

func TestWallClockJumpsAreNotSeen(t *testing.T) {
	// time.Now carries a monotonic reading; Round(0) takes it off, as a clock that was set would.
	now := time.Now()
	s := newStore(Options{}, 10, steady)
	open(t, s, p1, west, false, now)
	assert.True(t, s.Route(p1, false, now.Add(30*time.Second)).ProbeDue)
	assert.False(t, s.Route(p1, false, now.Round(0).Add(29*time.Second)).ProbeDue)
}
