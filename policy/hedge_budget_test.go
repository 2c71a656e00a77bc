package policy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// TestHedgeBudget: 32 slow reads with eight hedges at a time make at most 40
// requests; those that go on unhedged say so. What ends gives its place back.
func TestHedgeBudget(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	s := setup{policy: hedgedAt(100 * ms), hedged: true}
	s.policy.Hedge.MaxInFlight, s.policy.Hedge.MaxHedges, s.policy.Breaker = 8, 1, noBreaker.Breaker
	s.policy.Telemetry.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	inWorld(t, s, func(w *world) {
		for _, test := range []struct{ b, hedged, unhedged time.Duration }{
			{50 * ms, 150 * ms, 3 * time.Second}, // hedges win
			{5 * time.Second, 3 * time.Second, 3 * time.Second},
		} {
			w.RemoveAll()
			w.Inject(slow(A, 3*time.Second))
			w.Inject(slow(B, test.b))
			w.ResetLog()
			spans.Reset()
			var all sync.WaitGroup
			took := make([]time.Duration, 32)
			for i := range took {
				all.Go(func() {
					var got string
					got, took[i] = w.do(w.Context(), read)
					if got != "200" {
						t.Error(got)
					}
				})
			}
			all.Wait()
			require.Len(w, w.Regions(nil), 40)
			var hedged, unhedged, said int
			for _, d := range took {
				if d == test.hedged {
					hedged++
				}
				if d == test.unhedged {
					unhedged++
				}
			}
			if test.hedged == test.unhedged {
				require.Equal(w, 32, hedged)
			} else {
				require.Equal(w, []int{8, 24}, []int{hedged, unhedged})
			}
			for _, span := range spans.Ended() {
				if valueOf(span, telemetry.AttrHedgeWithheld) == "budget" {
					said++
				}
			}
			require.Equal(w, 24, said)
			synctest.Wait()
			require.Zero(w, hedgesRunning())
		}
	})
}

// valueOf is an attribute of a span, or of one of its events.
func valueOf(span sdktrace.ReadOnlySpan, key attribute.Key) string {
	attributes := span.Attributes()
	for _, e := range span.Events() {
		attributes = append(attributes, e.Attributes...)
	}
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// TestHedgeThresholdsAroundTheLatency: ten thousand operations whose threshold
// lies within a millisecond of the first region's latency: whoever wins, the
// answer belongs to its request, and the time is that of the quicker.
func TestHedgeThresholdsAroundTheLatency(t *testing.T) {
	const workers, each = 50, 200
	s := setup{hedged: true, gateway: gateway.Options{Latency: map[string]time.Duration{A: 20 * ms, B: ms / 2}, LogLimit: -1}}
	s.policy.Breaker = noBreaker.Breaker
	inWorld(t, s, func(w *world) {
		for i := range workers {
			_, err := w.container.UpsertItem(w.Context(), key(fmt.Sprint(i)), item(fmt.Sprint("of ", i), fmt.Sprint(i), i), nil)
			require.NoError(w, err)
		}
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for n := range each / 2 {
					d := time.Duration(n-each/4) * 2 * ms / (each / 2) // from -1 ms to 1 ms
					ctx := hedge.With(w.Context(), hedge.Options{Threshold: 20*ms + d})
					start := time.Now()
					if err := w.ownItem(ctx, i); err != nil {
						t.Error(err)
						return
					}
					if took, want := time.Since(start), 2*min(20*ms, 20*ms+d+ms/2); took != want {
						t.Errorf("threshold %v: two operations took %v, not %v", 20*ms+d, took, want)
						return
					}
				}
			})
		}
		all.Wait()
		synctest.Wait()
		require.Zero(w, hedgesRunning())
	})
}

// TestHedgeArmed: hedging that is armed and does not fire starts no goroutine,
// and one that has fired leaves none behind.
func TestHedgeArmed(t *testing.T) {
	var before, during int64
	watch := func(next transportFunc) transportFunc {
		return func(r *http.Request) (*http.Response, error) {
			during = max(during, started())
			return next(r)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := clientOver(t, hedgedAt(time.Second), watch(instant))
		readOnce(t, c)
		synctest.Wait()
		before, during = started(), 0
		for range 200 {
			readOnce(t, c)
		}
		require.Equal(t, before, during)
		require.Equal(t, before, started())
	})
}

// TestHedgeOff: the ways to switch hedging off, and what stays off.
func TestHedgeOff(t *testing.T) {
	yes, no := true, false
	const threshold = 100 * ms
	with := func(o hedge.Options) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context { return hedge.With(ctx, o) }
	}
	tests := []struct {
		name     string
		client   hedge.Options
		request  func(context.Context) context.Context
		account  *bool
		region   []string // of the account
		excluded []string
		regions  string
		took     time.Duration
	}{
		{name: "on", client: hedge.Options{Threshold: threshold}, regions: "A B", took: threshold},
		{name: "off by the client", client: hedge.Options{Disabled: true}, regions: "A", took: 2 * time.Second},
		{name: "off by the request", client: hedge.Options{Threshold: threshold}, request: hedge.Off, regions: "A", took: 2 * time.Second},
		{name: "on by the request", client: hedge.Options{Disabled: true}, request: with(hedge.Options{Threshold: 300 * ms}), regions: "A B", took: 300 * ms},
		{name: "on by the request, zero fields are the client's", client: hedge.Options{Disabled: true, Threshold: threshold}, request: with(hedge.Options{}), regions: "A B", took: threshold},
		{name: "on by the request, nothing set at all", client: hedge.Options{Disabled: true}, request: with(hedge.Options{}), regions: "A B", took: time.Second},
		{name: "the request's negative threshold is the client's", client: hedge.Options{Threshold: threshold}, request: with(hedge.Options{Threshold: -1}), regions: "A B", took: threshold},
		{name: "a nanosecond", client: hedge.Options{Threshold: 1}, regions: "A B", took: 1},
		{name: "off by the account", client: hedge.Options{Threshold: threshold}, account: &yes, regions: "A", took: 2 * time.Second},
		{name: "off by the account, on by the request", client: hedge.Options{Threshold: threshold}, account: &yes, request: with(hedge.Options{Threshold: threshold}), regions: "A", took: 2 * time.Second},
		{name: "allowed by the account", client: hedge.Options{Threshold: threshold}, account: &no, regions: "A B", took: threshold},
		{name: "allowed by the account, off by the client", client: hedge.Options{Disabled: true}, account: &no, regions: "A", took: 2 * time.Second},
		{name: "one region", client: hedge.Options{Threshold: threshold}, region: []string{A}, regions: "A", took: 2 * time.Second},
		{name: "all excluded", client: hedge.Options{Threshold: threshold}, excluded: []string{A, B, C}, regions: "A", took: 2 * time.Second},
		{name: "one left", client: hedge.Options{Threshold: threshold}, excluded: []string{B, C}, regions: "A", took: 2 * time.Second},
		{name: "the second excluded", client: hedge.Options{Threshold: threshold}, excluded: []string{B}, regions: "A C", took: threshold},
		{name: "a step beyond the deadline", client: hedge.Options{Threshold: threshold, Step: time.Hour}, regions: "A B", took: threshold},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := setup{hedged: true, gateway: gateway.Options{HedgingDisabled: test.account, Regions: test.region}}
			s.policy.Hedge, s.policy.ExcludedRegions = test.client, test.excluded
			inWorld(t, s, func(w *world) {
				w.Inject(slow(A, 2*time.Second))
				ctx := w.Context()
				if test.request != nil {
					ctx = test.request(ctx)
				}
				w.expectWith(ctx, read, "200", test.regions, test.took)
			})
		})
	}
}

// TestHedgeAccountFlagFollowsRefreshes: the account's word is that of its last
// answer; one that does not say anything changes nothing.
func TestHedgeAccountFlagFollowsRefreshes(t *testing.T) {
	yes, no := true, false
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, time.Second))
		ask := func() string {
			w.awaitRefresh()
			w.ResetLog()
			got, _ := w.do(w.Context(), read)
			require.Equal(w, "200", got)
			return w.contacted()
		}
		require.Equal(w, "A B", ask())
		w.SetFlags(nil, &yes)
		require.Equal(w, "A", ask())
		w.SetFlags(nil, nil)
		require.Equal(w, "A", ask(), "no word, no change")
		w.SetFlags(nil, &no)
		require.Equal(w, "A B", ask())
		w.SetFlags(nil, nil)
		require.Equal(w, "A B", ask())
	})
}

// TestHedgeNothingFinal: when no region has a final answer, the caller sees that
// of the first leg.
func TestHedgeNothingFinal(t *testing.T) {
	for _, test := range []struct {
		name    string
		faults  []gateway.Rule
		outcome string
		regions string
		took    time.Duration
	}{
		{"all 503", []gateway.Rule{status(A, 503, 1), status(B, 503, 2), status(C, 503, 3)}, "503/3", "A B C", 0},
		{"the hedges' are not told", []gateway.Rule{status(A, 410, 1002), status(B, 503, 2), status(C, 500, 3)}, "410/1002", "A B C", 0},
		{"the first leg is the last to end", []gateway.Rule{{Region: A, Status: 449, Delay: time.Second}, status(B, 503, 0), status(C, 503, 0)}, "449", "A B C", time.Second},
		{"a hedge is the last to end", []gateway.Rule{status(A, 449, 0), {Region: B, Status: 503, Delay: time.Second}, status(C, 503, 0)}, "449", "A B C", time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := setup{policy: hedgedAt(100 * ms), hedged: true}
			inWorld(t, s, func(w *world) {
				for _, f := range test.faults {
					w.Inject(f)
				}
				w.expect(read, test.outcome, test.regions, test.took)
			})
		})
	}
}

// TestHedgeTopologyChanges: a race keeps the regions that it began with; the
// next operation has those of the new topology.
func TestHedgeTopologyChanges(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(time.Second), hedged: true}, func(w *world) {
		w.Inject(slow(A, 20*time.Minute))
		w.Inject(fault(C, gateway.Hang))
		time.AfterFunc(500*ms, func() {
			w.SetRegions(A, C, "East US")
			time.Sleep(6 * time.Minute)
		})
		w.expect(read, "200", "A B C", 20*time.Minute) // B has left: 403/1008
		w.RemoveAll()
		w.Inject(fault(A, gateway.Hang))
		w.expect(read, "200", "A C", time.Second)
	})
}

var errTransport = errors.New("transport")

// TestHedgeErrors: an error of the transport in a hedge is not the caller's.
func TestHedgeErrors(t *testing.T) {
	var p tap
	p.fail = func(r *http.Request) error {
		if strings.Contains(r.URL.Host, "westus") {
			return errTransport
		}
		return nil
	}
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true, change: p.change}, func(w *world) {
		w.Inject(slow(A, 150*ms))
		w.Inject(fault(C, gateway.Hang))
		w.expect(read, "200", "A C", 150*ms)
		w.RemoveAll()
		p.take()
		w.Inject(status(A, 449, 0))
		w.Inject(status(C, 503, 0))
		w.expect(read, "449", "A C", 0)
		require.Equal(w, "A B C", p.take())
	})
}
