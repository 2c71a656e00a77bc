package policy_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// overrides is what failover holds, in short: "B", "slow A", "hub C", "3 timeouts".
func (w *world) overrides() []string {
	list := []string{}
	for _, a := range w.ha.State().Accounts {
		for _, o := range a.Overrides {
			list = append(list, overrideText(o))
		}
	}
	return list
}

func overrideText(o telemetry.OverrideState) (text string) {
	add := func(format string, args ...any) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf(format, args...)
	}
	if o.Region != "" {
		add("%s", lettersOf([]string{o.Region}))
	}
	if o.Slow != "" {
		add("slow %s", lettersOf([]string{o.Slow}))
	}
	if o.Hub != "" {
		add("hub %s", lettersOf([]string{o.Hub}))
	}
	if o.Timeouts > 0 {
		add("%d timeouts", o.Timeouts)
	}
	return text
}

// flag switches the account's flag for failover; a client learns it with its
// next account read.
func (w *world) flag(on bool) { w.SetFlags(&on, nil) }

// TestFailoverFlagFlipsDuringAWrite: the account read that a refused write
// waits for, or one that comes during an election, turns failover on or off.
// The write goes on by the new rules, within five seconds of the first 403/3.
func TestFailoverFlagFlipsDuringAWrite(t *testing.T) {
	t.Run("on: the candidates are tried", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			w.flag(true)
			w.MoveRange("items", "0", B)
			w.expect(upsert, "200", "A A B", 0)
			require.Equal(w, []string{"B"}, w.overrides())
			w.expect(upsert, "200", "B", 0)
		})
	})
	t.Run("on, and nobody takes the write", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			w.flag(true)
			w.Elect("items", "0")
			w.expect(upsert, "403/3", "A A B C A B C A B C", 3*time.Second)
		})
	})
	t.Run("on, late: the five seconds are those of the first refusal", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			w.Elect("items", "0")
			time.AfterFunc(2*time.Second, func() { w.flag(true) })
			// A at 0, 0, and 1 s; at 3 s the flag is known: rounds at 3 and 4 s, a third one at 6 s is too late.
			w.expect(upsert, "403/3", "A A A A B C A B C", 4*time.Second)
		})
	})
	t.Run("off: the primary is asked", func(t *testing.T) {
		inWorld(t, ppafAccount(1), func(w *world) {
			w.flag(false)
			w.MoveRange("items", "0", "")
			w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 403, SubStatus: 3, Hits: 1})
			w.expect(upsert, "200", "A B C A", time.Second)
			require.Empty(w, w.overrides())
		})
	})
	t.Run("off, and nobody takes the write", func(t *testing.T) {
		inWorld(t, ppafAccount(1), func(w *world) {
			w.flag(false)
			w.Elect("items", "0")
			got, took := w.do(w.Context(), upsert)
			require.Equal(w, "403/3", got)
			require.LessOrEqual(w, took, 5*time.Second)
			require.Regexp(w, "^A B C A( A)+$", w.contacted())
		})
	})
}

// TestFailoverAccountChangesDuringAWrite: what the account becomes while a
// write looks for its region.
func TestFailoverAccountChangesDuringAWrite(t *testing.T) {
	t.Run("multi-write during an election", func(t *testing.T) {
		s := ppafAccount(1)
		s.preferred = []string{B, A, C}
		inWorld(t, s, func(w *world) {
			w.Inject(gateway.Rule{Operations: []string{"write"}, Status: 403, SubStatus: 3, Hits: 6})
			time.AfterFunc(500*time.Millisecond, func() { w.SetMultiWrite(true) })
			// The refusals of the second round make us read the account again.
			w.expect(upsert, "200", "A B C A B C B", 3*time.Second)
			require.Empty(w, w.overrides())
			w.expect(upsert, "200", "B", 0)
		})
	})
	t.Run("multi-write, and each region is asked once", func(t *testing.T) {
		for regions, s := range map[string]setup{"A B C": {}, "A B C B C": ppafAccount(1)} { // the next round after 1 s
			s.preferred = []string{B, C}
			inWorld(t, s, func(w *world) {
				w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 403, SubStatus: 3, Hits: 1})
				w.Inject(gateway.Rule{Region: B, Operations: []string{"write"}, Status: 503})
				w.Inject(gateway.Rule{Region: C, Operations: []string{"write"}, Status: 503})
				w.SetMultiWrite(true)
				got, _ := w.do(w.Context(), upsert)
				require.Equal(w, "503", got)
				require.Equal(w, regions, w.contacted())
			})
		}
	})
	t.Run("no longer multi-write", func(t *testing.T) {
		inWorld(t, setup{gateway: multi}, func(w *world) {
			w.SetMultiWrite(false)
			w.flag(true)
			w.MoveRange("items", "0", B)
			w.Inject(gateway.Rule{Operations: []string{"write"}, Status: 403, SubStatus: 1008, Hits: 3})
			w.expect(upsert, "200", "A B C A B", 0)
			require.Equal(w, []string{"B"}, w.overrides())
		})
	})
	t.Run("one region left", func(t *testing.T) {
		inWorld(t, ppafAccount(1), func(w *world) {
			w.Elect("items", "0")
			time.AfterFunc(500*time.Millisecond, func() { w.SetRegions(A) })
			got, took := w.do(w.Context(), upsert)
			require.Contains(w, []string{"403/3", "403/1008"}, got)
			require.LessOrEqual(w, took, 5*time.Second)
		})
	})
	t.Run("the primary moves between rounds", func(t *testing.T) {
		inWorld(t, ppafAccount(1), func(w *world) {
			w.Elect("items", "0")
			time.AfterFunc(900*time.Millisecond, func() {
				w.SetWriteRegion(C)
				w.MoveRange("items", "0", "")
			})
			got, _ := w.do(w.Context(), upsert)
			require.Equal(w, "200", got)
			require.Equal(w, "A B C A B C", w.contacted())
			w.expect(upsert, "200", "C", 0)
		})
	})
}

// TestFailoverMaxAttempts: refusals (403/3) are not counted, as without
// failover: a partition that has moved is found whatever MaxAttempts says.
func TestFailoverMaxAttempts(t *testing.T) {
	with := func(limit int) setup {
		s := ppafAccount(1)
		s.policy = policy.Options{Retry: policy.RetryOptions{MaxAttempts: limit}}
		return s
	}
	for limit := 1; limit <= 4; limit++ {
		inWorld(t, with(limit), func(w *world) {
			w.MoveRange("items", "0", C)
			w.expect(upsert, "200", "A B C", 0)
		})
	}
	for limit, regions := range []string{"A B C", "A", "A B", "A B C", "A B C"} {
		inWorld(t, with(limit), func(w *world) {
			w.Inject(gateway.Rule{Operations: []string{"write"}, Status: 503})
			w.expect(upsert, "503", regions, 0)
		})
	}
}

// TestFailoverWithoutTopology: as long as the account is not known, a write
// goes where azcosmos sends it.
func TestFailoverWithoutTopology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ppafAccount(1))
		w.Inject(atAccount(gateway.Rule{Status: 200, Body: " "}))
		got, _ := w.do(t.Context(), create)
		require.NotEmpty(t, got)
		require.Empty(t, w.ha.State().Accounts)
		w.RemoveAll()
		time.Sleep(6 * time.Minute)
		w.MoveRange("items", "0", B)
		require.Equal(t, "201", outcomeOf(create(t.Context(), w.container)))
		require.Equal(t, []string{"B"}, w.overrides())
	})
}

// TestFailoverFlagFlapping: the flag changes with every account read while
// writers are at work and the partition moves: each error is the service's,
// within the time that the rules give, and nothing is carried out twice.
func TestFailoverFlagFlapping(t *testing.T) {
	s := ppafAccount(1)
	s.gateway.Latency = map[string]time.Duration{A: 3 * time.Millisecond, B: 5 * time.Millisecond, C: 7 * time.Millisecond}
	inWorld(t, s, func(w *world) {
		var writers sync.WaitGroup
		for writer := range 16 {
			writers.Go(func() {
				for n := range 60 {
					start := time.Now()
					r, err := w.container.CreateItem(w.Context(), key("a"), item(fmt.Sprintf("%d-%d", writer, n), "a", n), nil)
					got := outcomeOf(r.RawResponse, err)
					assert.Contains(w, []string{"201", "403/3"}, got)
					assert.LessOrEqual(w, time.Since(start), 6*time.Second)
				}
			})
		}
		writers.Go(func() {
			for i := range 40 {
				w.flag(i%2 == 0)
				w.MoveRange("items", "0", []string{A, B, C}[i%3])
				time.Sleep(250 * time.Millisecond)
			}
		})
		writers.Wait()
		require.Empty(w, w.store.Repeated())
		w.flag(true)
		w.awaitRefresh()
		w.MoveRange("items", "0", B)
		_, _ = w.do(w.Context(), upsert)
		w.expect(upsert, "200", "B", 5*time.Millisecond)
		require.Equal(w, []string{"B"}, w.overrides())
	})
}
