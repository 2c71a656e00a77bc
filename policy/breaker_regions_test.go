package policy_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// ask makes n calls for p1 whatever comes of them, and returns the outcome of
// the last one and the regions of all.
func (w *circuitWorld) ask(ctx context.Context, n int, op keyed) (outcome, regions string) {
	w.Helper()
	w.ResetLog()
	for range n {
		outcome = outcomeOf(op(ctx, w.container, w.p1))
	}
	synctest.Wait()
	return outcome, w.data()
}

// TestBreakerAllRegionsOpened: with every region opened a request still asks
// the primary, and after it the region that has been opened for longest; the
// first region that is well again comes back by its probe.
func TestBreakerAllRegionsOpened(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.sick(A)
		w.sick(B)
		c := w.sick(C)
		outcome, contacted := w.ask(w.Context(), 10, readKey)
		require.Equal(w, "503", outcome)
		require.Equal(w, repeat("A B C", 10), contacted)
		require.Equal(w, []string{"A read Unavailable", "B read Unavailable", "C read Unavailable"}, w.unwell())

		// All opened at one time: A is the primary and the oldest too, so B is appended by rule M.
		outcome, contacted = w.ask(w.Context(), 3, readKey)
		require.Equal(w, "503", outcome)
		require.Equal(w, repeat("A B", 3), contacted)

		c.Remove()
		start := time.Now()
		for !slices.Contains(w.unwell(), "C read HealthyTentative") {
			require.LessOrEqual(w, time.Since(start), openAtMost+time.Second)
			time.Sleep(500 * time.Millisecond)
			w.ask(w.Context(), 1, readKey)
		}
		require.GreaterOrEqual(w, time.Since(start), openFor)
		require.Equal(w, []string{"A read Unavailable", "B read Unavailable"}, w.unwell()[:2])
		require.Equal(w, repeat("C", 10), w.times(10, readKey, w.container, w.p1), "nothing else is asked")
	})
}

// TestBreakerOldestOpenedComesLast is rule M: one opened region, the one that
// has been opened for longest, is asked when the others fail.
func TestBreakerOldestOpenedComesLast(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		a := w.sick(A)
		require.Equal(w, repeat("A B", 10), w.times(10, readKey, w.container, w.p1))
		time.Sleep(time.Second)
		w.sick(B)
		require.Equal(w, repeat("B C", 10), w.times(10, readKey, w.container, w.p1))
		require.Equal(w, "C", w.times(1, readKey, w.container, w.p1))

		a.Remove()
		w.Inject(gateway.Rule{Region: C, Container: "items", Status: 503, Hits: 2})
		require.Equal(w, "C A", w.times(1, readKey, w.container, w.p1))
		w.sick(A)
		outcome, contacted := w.ask(w.Context(), 1, readKey)
		require.Equal(w, "503", outcome)
		require.Equal(w, "C A", contacted, "at most one")
	})
}

// TestBreakerNeverOverrulesExclusions: an excluded region is neither appended
// nor probed. It is asked only where it is the primary and nothing else is left.
func TestBreakerNeverOverrulesExclusions(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.sick(A)
		w.times(10, readKey, w.container, w.p1)
		without := regions.WithExcluded(w.Context(), A)
		time.Sleep(openAtMost)
		_, contacted := w.ask(without, 5, readKey)
		require.Equal(w, repeat("B", 5), contacted, "no probe")
		w.Inject(gateway.Rule{Region: B, Container: "items", Status: 503, Hits: 1})
		_, contacted = w.ask(without, 1, readKey)
		require.Equal(w, "B C", contacted)
		w.Down(B)
		w.Down(C)
		outcome, contacted := w.ask(without, 1, readKey)
		require.Equal(w, "error", outcome)
		require.NotContains(w, contacted, "A")
		w.Up(B)
		w.Up(C)
		outcome, contacted = w.ask(w.Context(), 1, readKey)
		require.Equal(w, "200", outcome)
		require.Contains(w, contacted, "A", "a request that may, probes")

		w.sick(B)
		w.sick(C)
		w.ask(without, 15, readKey)
		require.Equal(w, []string{"A read Unavailable", "B read Unavailable", "C read Unavailable"}, w.unwell())
		_, contacted = w.ask(without, 1, readKey)
		require.Equal(w, "A B", contacted, "the fallback of the rules is the primary, excluded or not")
	})
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.sick(B)
		w.sick(C)
		only := regions.WithExcluded(w.Context(), A)
		w.ask(only, 10, readKey)
		require.Equal(w, []string{"B read Unavailable", "C read Unavailable"}, w.unwell())
		w.ha.SetExcludedRegions(B, C)
		_, contacted := w.ask(w.Context(), 3, readKey)
		require.Equal(w, "A A A", contacted)
	})
}

// TestBreakerPreferences: opened regions leave the preferred ones; when the
// last of them is opened the primary is asked, and then the oldest.
func TestBreakerPreferences(t *testing.T) {
	inCircuit(t, setup{preferred: []string{C, B}}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.sick(C)
		require.Equal(w, repeat("C B", 10)+" B", w.times(11, readKey, w.container, w.p1))
		time.Sleep(time.Second)
		w.sick(B)
		outcome, contacted := w.ask(w.Context(), 10, readKey)
		require.Equal(w, "503", outcome)
		require.Equal(w, repeat("B C", 10), contacted, "one region left: the opened one comes after it")
		require.Equal(w, "A", w.times(1, readKey, w.container, w.p1))
		w.sick(A)
		_, contacted = w.ask(w.Context(), 1, readKey)
		require.Equal(w, "A C", contacted)
	})
}

// TestBreakerFailureRate: nine failures in ten open a region too, when a
// minute has seen a hundred requests, though no run was ever long enough.
func TestBreakerFailureRate(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		for n := range 99 {
			require.NotEqual(w, "B", w.failing(n%10 != 9), "request %d", n)
		}
		require.Equal(w, []string{"A read HealthyWithFailures"}, w.unwell())
		require.Equal(w, "A", w.failing(false), "90 of 100, with a success")
		require.Equal(w, "B", w.failing(false))
		require.Equal(w, []string{"A read HealthyWithFailures>Unavailable failure rate 90"}, w.changes.take())
	})
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		for n := range 200 { // the same share over more than a minute
			require.NotEqual(w, "B", w.failing(n%10 != 9))
			time.Sleep(700 * time.Millisecond)
		}
		require.Empty(w, w.changes.take())
	})
}

// failing reads p1 once, while A answers 503 or not.
func (w *circuitWorld) failing(fails bool) string {
	w.Helper()
	if fails {
		w.Inject(gateway.Rule{Region: A, Container: "items", Status: 503, Hits: 1})
	}
	defer w.RemoveAll()
	return w.times(1, readKey, w.container, w.p1)
}

// TestBreakerRunsLapse: failures that lie more than five minutes apart never
// add up, and a success ends a run.
func TestBreakerRunsLapse(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		for range 3 {
			for range 9 {
				require.Equal(w, "A B", w.failing(true))
			}
			require.Equal(w, []string{"A read HealthyWithFailures"}, w.unwell())
			time.Sleep(5 * time.Minute)
		}
		w.times(1, readKey, w.container, w.p1)
		time.Sleep(time.Minute)
		require.Equal(w, "A", w.times(1, readKey, w.container, w.p1))
		require.Empty(w, w.unwell(), "what has lapsed is gone with the requests after it")
		for range 3 {
			for range 9 {
				require.Equal(w, "A B", w.failing(true))
			}
			require.Equal(w, "A", w.failing(false))
		}
		require.Empty(w, w.changes.take())
	})
}

// TestBreakerTentativeLapses: a region that was let back tentatively and hears
// of no failure for five minutes is healthy.
func TestBreakerTentativeLapses(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		fault := w.sick(A)
		w.open(readKey, 10)
		fault.Remove()
		w.awaitProbe(readKey)
		require.Equal(w, "A", w.times(1, readKey, w.container, w.p1))
		time.Sleep(5 * time.Minute)
		w.times(1, readKey, w.container, w.p1)
		require.Equal(w, "A read HealthyTentative>Healthy lapsed 0", w.changes.take()[2])
		w.sick(A)
		w.open(readKey, 10)
	})
}

// TestBreakerOptions: the thresholds and times of the options hold.
func TestBreakerOptions(t *testing.T) {
	s := setup{gateway: multi}
	s.policy.Breaker.ReadFailures, s.policy.Breaker.WriteFailures, s.policy.Breaker.OpenFor = 3, 2, 10*time.Second
	inCircuit(t, s, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		fault := w.sick(A)
		w.open(readKey, 3)
		w.open(upsertKey, 2)
		fault.Remove()
		took := w.awaitProbe(readKey)
		require.GreaterOrEqual(w, took, 10*time.Second)
		require.LessOrEqual(w, took, 13*time.Second)
	})
}

// TestBreakerWriteProbesAreNotStarved: with two regions opened a write probes
// the one that it goes to first; one that it never comes to does not keep the
// other from its probe.
func TestBreakerWriteProbesAreNotStarved(t *testing.T) {
	inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		c := w.sick(C)
		w.ask(regions.WithExcluded(w.Context(), A, B), 5, upsertKey)
		require.Equal(w, []string{"C write Unavailable"}, w.unwell())
		time.Sleep(time.Second)
		a := w.sick(A)
		w.open(upsertKey, 5)
		c.Remove()
		a.Remove()
		time.Sleep(openAtMost)
		require.Equal(w, "A", w.times(1, upsertKey, w.container, w.p1))
		require.Contains(w, w.unwell(), "A write HealthyTentative")
	})
}

// TestBreakerWriteProbeOfExcludedRegion: a write that excludes the opened region
// neither goes there nor keeps the place of the probe.
func TestBreakerWriteProbeOfExcludedRegion(t *testing.T) {
	inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
		w.times(1, upsertKey, w.container, w.p1)
		fault := w.sick(A)
		w.open(upsertKey, 5)
		fault.Remove()
		w.Inject(gateway.Rule{Region: B, Container: "items", Delay: time.Second})
		time.Sleep(openAtMost)
		waits := make(chan string)
		go func() { waits <- outcomeOf(upsertKey(regions.WithExcluded(w.Context(), A), w.container, w.p1)) }()
		synctest.Wait()
		require.Equal(w, "A", w.times(1, upsertKey, w.container, w.p1), "while the other is in flight")
		require.Equal(w, "200", <-waits)
		require.Equal(w, []string{"A write HealthyTentative"}, w.unwell())
	})
}

// TestBreakerWriteProbeOutsidePreferences: the primary that writes fall back to
// is probed as well, when every preferred region is opened.
func TestBreakerWriteProbeOutsidePreferences(t *testing.T) {
	inCircuit(t, setup{gateway: multi, preferred: []string{B, C}}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		faults := []*gateway.Fault{w.sick(A), w.sick(B), w.sick(C)}
		w.ask(w.Context(), 12, upsertKey)
		require.Equal(w, []string{"A write Unavailable", "B write Unavailable", "C write Unavailable"}, w.unwell())
		faults[0].Remove()
		for range 400 {
			if slices.Contains(w.unwell(), "A write HealthyTentative") {
				break
			}
			time.Sleep(500 * time.Millisecond)
			w.ask(w.Context(), 1, upsertKey)
		}
		require.Contains(w, w.unwell(), "A write HealthyTentative")
	})
}
