package policy_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// TestBreakerOutcomes is the breaker's column of the judge's table: which
// answers of A count as its failures, for reads on both kinds of accounts and
// for writes on multi-write ones. An answer that counts opens A at the
// threshold; one that does not, never does.
func TestBreakerOutcomes(t *testing.T) {
	counts := map[string]gateway.Rule{
		"408": {Status: 408}, "500": {Status: 500}, "502": {Status: 502}, "503": {Status: 503}, "504": {Status: 504}, "507": {Status: 507},
		"410": {Status: 410}, "410/1022": {Status: 410, SubStatus: 1022},
		"410/21": {Status: 410, SubStatus: 21}, "429/3092": {Status: 429, SubStatus: 3092},
		"reset": {Kind: gateway.Reset}, "closed": {Kind: gateway.Close}, "stream reset": {Kind: gateway.StreamReset},
	}
	ignored := map[string]gateway.Rule{
		"304": {Status: 304}, "400": {Status: 400}, "401": {Status: 401}, "403": {Status: 403}, "404": {Status: 404}, "405": {Status: 405},
		"409": {Status: 409}, "412": {Status: 412}, "413": {Status: 413}, "422": {Status: 422}, "451": {Status: 451},
		"404/1002": {Status: 404, SubStatus: 1002}, "404/1003": {Status: 404, SubStatus: 1003}, "408/21013": {Status: 408, SubStatus: 21013},
		"410/1000": {Status: 410, SubStatus: 1000}, "410/1002": {Status: 410, SubStatus: 1002},
		"410/1007": {Status: 410, SubStatus: 1007}, "410/1008": {Status: 410, SubStatus: 1008},
		"449": {Status: 449}, "501": {Status: 501}, "505": {Status: 505},
	}
	for name, rule := range counts {
		t.Run(name, func(t *testing.T) { outcomes(t, rule, true) })
	}
	for name, rule := range ignored {
		t.Run(name, func(t *testing.T) { outcomes(t, rule, false) })
	}
}

func outcomes(t *testing.T, rule gateway.Rule, counts bool) {
	columns := []struct {
		name      string
		multi     bool
		op        keyed
		what      string
		threshold int
	}{
		{"single-write read", false, readKey, "read", 10},
		{"multi-write read", true, readKey, "read", 10},
		{"multi-write write", true, upsertKey, "write", 5},
	}
	for _, c := range columns {
		t.Run(c.name, func(t *testing.T) {
			inCircuit(t, setup{gateway: gateway.Options{MultiWrite: c.multi}}, func(w *circuitWorld) {
				w.times(1, c.op, w.container, w.p1)
				rule := rule
				rule.Region, rule.Container, rule.Range = A, "items", w.rangeOf(w.p1)
				w.Inject(rule)
				w.ask(w.Context(), c.threshold-1, c.op)
				require.NotContains(w, w.unwell(), "A "+c.what+" Unavailable")
				w.ask(w.Context(), 1, c.op)
				if !counts {
					w.ask(w.Context(), c.threshold, c.op)
					require.Empty(w, w.unwell())
					return
				}
				require.Equal(w, []string{"A " + c.what + " Unavailable"}, w.unwell(), "the region that it was sent to, and no other")
				_, contacted := w.ask(w.Context(), 1, c.op)
				require.Equal(w, "B", contacted)
			})
		})
	}
}

// TestBreakerAndMarks: a failure that marks the region moves it behind the
// others for every partition; it is counted for the one that saw it, as are the
// trials that follow, one every 30 s.
func TestBreakerAndMarks(t *testing.T) {
	for name, rule := range map[string]gateway.Rule{
		"refused": {Kind: gateway.Refuse}, "403/1008": {Status: 403, SubStatus: 1008},
	} {
		for what, op := range map[string]keyed{"read": readKey, "write": upsertKey} {
			t.Run(name+"/"+what, func(t *testing.T) {
				inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
					w.times(1, op, w.container, w.p1)
					rule := rule
					rule.Region = A
					w.Inject(rule)
					require.Equal(w, "A B B B", w.times(3, op, w.container, w.p1))
					require.Equal(w, "B", w.times(1, op, w.other, w.p2))
					require.Equal(w, []string{"A " + what + " HealthyWithFailures"}, w.unwell())
					threshold := map[string]int{"read": 10, "write": 5}[what]
					for range threshold - 1 {
						time.Sleep(30 * time.Second)
						require.Equal(w, "A B", w.times(1, op, w.container, w.p1))
					}
					require.Equal(w, []string{"A " + what + " Unavailable"}, w.unwell())
				})
			})
		}
	}
}

// TestBreakerCountsTheRegionAsked: in a walk through three regions every
// attempt counts for the region it was sent to.
func TestBreakerCountsTheRegionAsked(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.sick(A)
		for range 4 {
			require.Equal(w, "A B", w.times(1, readKey, w.container, w.p1))
		}
		b := w.sick(B)
		for range 3 {
			require.Equal(w, "A B C", w.times(1, readKey, w.container, w.p1))
		}
		failures := map[string]int{}
		for _, u := range w.ha.State().Accounts[0].Unwell {
			failures[u.Region] = u.Failures
		}
		require.Equal(w, map[string]int{A: 7, B: 3}, failures)
		b.Remove()
		require.Equal(w, "A B", w.times(1, readKey, w.container, w.p1))
		for _, u := range w.ha.State().Accounts[0].Unwell {
			require.Equal(w, map[string]int{A: 8, B: 0}[u.Region], u.Failures, "a success ends B's run")
		}
	})
}

// TestBreakerCallersDeadline: the end of the caller's time counts for the
// attempt in flight if that was in flight for at least 100 ms; a caller that
// cancels, and one whose time was over before, says nothing. A is asked by
// every caller, so nothing but the time makes the difference.
func TestBreakerCallersDeadline(t *testing.T) {
	tests := []struct {
		name   string
		ctx    func(context.Context) (context.Context, context.CancelFunc)
		counts bool
	}{
		{"after 100 ms", within(100 * time.Millisecond), true},
		{"after 2 s", within(2 * time.Second), true},
		{"after 99 ms", within(99 * time.Millisecond), false},
		{"before it began", within(-time.Second), false},
		{"cancelled after 1 s", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, false},
	}
	for _, test := range tests {
		for name, op := range map[string]keyed{"read": readKey, "write": upsertKey} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
					w.times(1, op, w.container, w.p1)
					w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
					threshold := map[string]int{"read": 10, "write": 5}[name]
					for range threshold {
						ctx, cancel := test.ctx(w.Context())
						outcome := outcomeOf(op(ctx, w.container, w.p1))
						cancel()
						require.Contains(w, []string{"deadline", "cancelled"}, outcome)
					}
					synctest.Wait()
					if test.counts {
						require.Equal(w, []string{fmt.Sprintf("A %s Unavailable", name)}, w.unwell())
					} else {
						require.Empty(w, w.unwell())
					}
				})
			})
		}
	}
}

func within(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

// TestBreakerAttemptTimeout: an attempt that our own timeout ends is A's failure,
// and the read goes on; a write returns, and is counted too.
func TestBreakerAttemptTimeout(t *testing.T) {
	s := setup{gateway: multi}
	s.policy.Retry.AttemptTimeout = 50 * time.Millisecond
	inCircuit(t, s, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
		_, contacted := w.ask(w.Context(), 11, readKey)
		require.Equal(w, repeat("A B", 10)+" B", contacted)
		outcome, contacted := w.ask(w.Context(), 5, upsertKey)
		require.Equal(w, "deadline "+repeat("A", 5), outcome+" "+contacted)
		require.Equal(w, "B", w.times(1, upsertKey, w.container, w.p1))
	})
}

// TestBreakerLateAnswers: the answer of a request that was sent before A opened
// changes nothing, whichever it is.
func TestBreakerLateAnswers(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		slow := w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Slow, Delay: 10 * time.Second})
		late := make(chan string, 1)
		go func() { late <- outcomeOf(readKey(w.Context(), w.container, w.p1)) }()
		synctest.Wait()
		slow.Remove()
		w.sick(A)
		w.open(readKey, 10)
		require.Equal(w, "200", <-late)
		require.Equal(w, []string{"A read Unavailable"}, w.unwell())
		require.Equal(w, "B", w.times(1, readKey, w.container, w.p1))
	})
}

// TestBreakerThrottled: 429 is azcore's to repeat, and says nothing of A.
func TestBreakerThrottled(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.Inject(gateway.Rule{
			Region: A, Container: "items", Status: 429, SubStatus: 3200,
			Header: map[string]string{"x-ms-retry-after-ms": "1"},
		})
		outcome, contacted := w.ask(w.Context(), 5, readKey)
		require.Equal(w, "429", outcome[:3])
		require.Equal(w, repeat("A", 20), contacted)
		require.Empty(w, w.unwell())
	})
}
