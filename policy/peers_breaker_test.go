package policy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// TestPeersBreakerThresholds: the .NET SDK's pairs of iterations and thresholds:
// as many operations as the threshold says meet the sick region, the others do
// not. With preferred regions and without.
func TestPeersBreakerThresholds(t *testing.T) {
	tests := []struct {
		name   string
		multi  bool
		op     keyed
		unwell string
	}{
		{"single-write read", false, readKey, "A read Unavailable"},
		{"multi-write read", true, readKey, "A read Unavailable"},
		{"multi-write create", true, createKey, "A write Unavailable"},
	}
	for _, test := range tests {
		for _, preferred := range [][]string{nil, {A, B, C}} {
			for _, pair := range [][2]int{{15, 10}, {25, 20}, {35, 30}} {
				iterations, threshold := pair[0], pair[1]
				t.Run(fmt.Sprintf("%s/%d preferred/%d of %d", test.name, len(preferred), threshold, iterations), func(t *testing.T) {
					s := setup{preferred: preferred, gateway: gateway.Options{MultiWrite: test.multi}}
					s.policy.Breaker.ReadFailures, s.policy.Breaker.WriteFailures = threshold, threshold
					inCircuit(t, s, func(w *circuitWorld) {
						w.sick(A)
						before := w.effects()
						want := repeat("A B", threshold) + " " + repeat("B", iterations-threshold)
						require.Equal(w, want, w.times(iterations, test.op, w.container, w.p1))
						require.Equal(w, []string{test.unwell}, w.unwell())
						require.Len(w, w.changes.take(), 1, "one transition that is told")
						if test.unwell == "A write Unavailable" {
							require.Equal(w, before+iterations, w.effects())
						}
						require.Empty(w, w.store.Repeated())
					})
				})
			}
		}
	}
}

// TestPeersBreakerTwoRegions: two regions answer 503 from the beginning: the
// third one serves, and after the threshold it is the only one asked.
func TestPeersBreakerTwoRegions(t *testing.T) {
	for _, multiWrite := range []bool{false, true} {
		inCircuit(t, setup{gateway: gateway.Options{MultiWrite: multiWrite}}, func(w *circuitWorld) {
			w.sick(A)
			w.sick(B)
			require.Equal(w, repeat("A B C", 10)+" "+repeat("C", 5), w.times(15, readKey, w.container, w.p1))
			require.Equal(w, []string{"A read Unavailable", "B read Unavailable"}, w.unwell())
			require.Equal(w, "A", w.times(1, readKey, w.container, w.p2), "another partition")
		})
	}
}

// TestPeersBreakerQueryWithDelay: a query whose answers come late. What ends its
// attempts counts, be it the attempt's timeout, the caller's deadline or a hedge
// that wins; then the region is not asked any more. Late alone is no failure.
func TestPeersBreakerQueryWithDelay(t *testing.T) {
	late := func(w *circuitWorld) {
		w.Inject(gateway.Rule{Region: A, Range: w.rangeOf(w.p1), Operations: []string{"query"}, Kind: gateway.Slow, Delay: 2 * time.Second})
	}
	opened := func(w *circuitWorld) {
		require.Equal(w, []string{"A read Unavailable"}, w.unwell())
		w.expect(query, "200", "B", 0)
	}
	t.Run("nothing ends it", func(t *testing.T) {
		inCircuit(t, setup{}, func(w *circuitWorld) {
			late(w)
			for range 15 {
				w.expect(query, "200", "A", 2*time.Second)
			}
			require.Empty(w, w.unwell())
		})
	})
	t.Run("attempt timeout", func(t *testing.T) {
		inCircuit(t, setup{policy: policy.Options{Retry: policy.RetryOptions{AttemptTimeout: 500 * ms}}}, func(w *circuitWorld) {
			late(w)
			for range 10 {
				w.expect(query, "200", "A B", 500*ms)
			}
			opened(w)
		})
	})
	t.Run("deadline", func(t *testing.T) {
		inCircuit(t, setup{}, func(w *circuitWorld) {
			late(w)
			for range 10 {
				ctx, cancel := context.WithTimeout(w.Context(), 200*ms)
				w.expectWith(ctx, query, "deadline", "A", 200*ms)
				cancel()
			}
			opened(w)
		})
	})
	t.Run("hedges", func(t *testing.T) {
		inCircuit(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *circuitWorld) {
			late(w)
			for range 5 {
				w.expect(query, "200", "A B", 100*ms)
			}
			opened(w)
		})
	})
}

// TestPeersBreakerOneRegion: with one region there is nothing to choose: nothing
// is counted, and every call asks it. With one preferred region of several the
// others are not asked either, however sick it is.
func TestPeersBreakerOneRegion(t *testing.T) {
	for _, multiWrite := range []bool{false, true} {
		for name, op := range map[string]keyed{"read": readKey, "query": queryKey, "upsert": upsertKey} {
			t.Run(fmt.Sprintf("%s/multi-write %v", name, multiWrite), func(t *testing.T) {
				inCircuit(t, setup{gateway: gateway.Options{Regions: []string{A}, MultiWrite: multiWrite}}, func(w *circuitWorld) {
					fault := w.sick(A)
					outcome, contacted := w.ask(w.Context(), 30, op)
					require.Equal(w, "503", outcome)
					require.Equal(w, repeat("A", 30), contacted)
					require.Empty(w, w.unwell())
					fault.Remove()
					require.Equal(w, "A", w.times(1, op, w.container, w.p1))
				})
			})
		}
	}
	t.Run("one preferred", func(t *testing.T) {
		inCircuit(t, setup{preferred: []string{A}}, func(w *circuitWorld) {
			fault := w.sick(A)
			outcome, contacted := w.ask(w.Context(), 30, readKey)
			require.Equal(w, "503", outcome)
			require.Equal(w, repeat("A", 30), contacted)
			require.Equal(w, []string{"A read Unavailable"}, w.unwell())
			fault.Remove()
			require.Equal(w, "A", w.times(1, readKey, w.container, w.p1))
		})
	})
}

// TestPeersBreakerNextRegion: A is opened, and the region that would be next is
// excluded, has left the account, or cannot be reached: it is the third one.
// The opened one is not asked, and comes back by its probe.
func TestPeersBreakerNextRegion(t *testing.T) {
	tests := []struct {
		name        string
		happens     func(w *circuitWorld)
		excluded    []string
		first, then string
	}{
		{"excluded", func(*circuitWorld) {}, []string{B}, "C", "C"},
		{"gone", func(w *circuitWorld) { w.SetRegions(A, C) }, nil, "B C", "C"},
		{"marked", func(w *circuitWorld) { w.Down(B) }, nil, "B C", "C"},
	}
	for _, test := range tests {
		for what, op := range map[string]keyed{"read": readKey, "write": upsertKey} {
			t.Run(test.name+"/"+what, func(t *testing.T) {
				s := setup{gateway: multi, policy: policy.Options{Breaker: breaker.Options{ReadFailures: 3, WriteFailures: 3}}}
				inCircuit(t, s, func(w *circuitWorld) {
					w.sick(A)
					w.open(op, 3)
					test.happens(w)
					ctx := w.Context()
					if test.excluded != nil {
						ctx = regions.WithExcluded(ctx, test.excluded...)
					}
					for _, asked := range []string{test.first, test.then, test.then} {
						w.ResetLog()
						w.one(ctx, op, w.container, w.p1)
						require.Equal(w, asked, w.data())
					}
					require.Contains(w, w.unwell(), "A "+what+" Unavailable")
					require.Empty(w, w.store.Repeated())
				})
			})
		}
	}
}
