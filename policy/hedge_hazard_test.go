package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	azlog "github.com/Azure/azure-sdk-for-go/sdk/azcore/log"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// family is a tracing provider of azcore that keeps each span with its parent:
// "read_item 1 > HTTP GET westus".
type family struct {
	mutex sync.Mutex // guards what follows
	ended []string
}

type familyKey struct{}

func (f *family) provider() tracing.Provider {
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, o *tracing.SpanOptions) (context.Context, tracing.Span) {
			if parent, _ := ctx.Value(familyKey{}).(string); parent != "" {
				name = parent + " > " + name
			}
			for _, a := range o.Attributes {
				if a.Key == "http.url" {
					name += " " + letterOfHost(fmt.Sprint(a.Value))
				}
			}
			return context.WithValue(ctx, familyKey{}, name), tracing.NewSpan(tracing.SpanImpl{End: func() {
				f.mutex.Lock()
				defer f.mutex.Unlock()
				f.ended = append(f.ended, name)
			}})
		}, nil)
	}, nil)
}

func (f *family) take() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	list := f.ended
	f.ended = nil
	slices.Sort(list)
	return list
}

// TestHedgeUnderAzcoreTracing: with a TracingProvider azcore keeps a state in
// the context that two attempts of one operation must not share. Both have
// their HTTP span under the operation's.
func TestHedgeUnderAzcoreTracing(t *testing.T) {
	var seen family
	s := setup{policy: hedgedAt(100 * ms), hedged: true, change: func(o *azcosmos.ClientOptions) { o.TracingProvider = seen.provider() }}
	s.policy.Breaker = noBreaker.Breaker
	inWorld(t, s, func(w *world) {
		seen.take()
		f := w.Inject(slow(A, time.Second))
		w.expect(read, "200", "A B", 100*ms)
		synctest.Wait()
		require.Equal(w, []string{"read_item items", "read_item items > HTTP GET A", "read_item items > HTTP GET B"}, seen.take())
		f.Remove()
		w.Inject(status(A, 449, 0)) // the hedge starts while azcore ends the span of the first
		w.expect(query, "200", "A B", 0)
		synctest.Wait()
		require.Equal(w, []string{"query_items items", "query_items items > HTTP POST A", "query_items items > HTTP POST B"}, seen.take())
		w.manyAtOnce(w.Context(), 50)
	})
}

// manyAtOnce makes reads and queries whose hedges start when the first region
// answers, so that both run at the same time, for the race detector.
func (w *world) manyAtOnce(ctx context.Context, n int) {
	w.Helper()
	w.RemoveAll()
	w.Inject(slow(A, 100*ms))
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			got, _ := w.do(ctx, []call{read, query}[i%2])
			if got != "200" {
				w.Error(got)
			}
		})
	}
	all.Wait()
	synctest.Wait()
	require.Zero(w, hedgesRunning())
}

// TestHedgeCapturesTheWinner: azcore's WithCaptureResponse gets the answer that
// the caller gets, and nobody else writes there.
func TestHedgeCapturesTheWinner(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, 200*ms))
		for _, test := range []struct {
			winner  string
			b, took time.Duration
		}{{"B", 50 * ms, 150 * ms}, {"A", time.Second, 200 * ms}} {
			rule := w.Inject(slow(B, test.b))
			var captured *http.Response
			w.expectWith(azpolicy.WithCaptureResponse(w.Context(), &captured), read, "200", "A B", test.took)
			require.Equal(w, test.winner, letterOfHost(captured.Request.URL.Host))
			rule.Remove()
		}
	})
}

// TestHedgeIsNotRetried: the caller's retry options are about the caller's
// request; a hedge is one attempt.
func TestHedgeIsNotRetried(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, 5*time.Second))
		for _, region := range []string{B, C} {
			w.Inject(gateway.Rule{Region: region, Status: 429, SubStatus: 3200, Header: map[string]string{"x-ms-retry-after-ms": "1"}})
		}
		ctx := azpolicy.WithRetryOptions(w.Context(), azpolicy.RetryOptions{
			MaxRetries: 5, RetryDelay: ms, StatusCodes: []int{404, 429, 449, 500, 503},
		})
		w.expectWith(ctx, read, "200", "A B C", 5*time.Second)
	})
}

// TestHedgeCarriesHeaders: headers of the caller's context, and all others, are
// the same on every leg; the body and its type too.
func TestHedgeCarriesHeaders(t *testing.T) {
	var sent tape
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true, change: sent.change}, func(w *world) {
		sent.bodies = nil
		w.Inject(fault(A, gateway.Hang))
		w.Inject(fault(B, gateway.Hang))
		ctx := azpolicy.WithHTTPHeader(w.Context(), http.Header{"X-Of-The-Caller": {"yes"}})
		w.expectWith(ctx, query, "200", "A B C", 600*ms)
		require.Equal(w, []string{"yes", "yes", "yes"}, w.headers("X-Of-The-Caller"))
		entries := w.Log()
		for _, e := range entries[1:] {
			require.Equal(w, entries[0].Header, e.Header)
		}
		require.Len(w, sent.bodies, 2*3)
		for _, body := range sent.bodies {
			require.Equal(w, sent.bodies[0], body)
			require.Contains(w, body, "SELECT * FROM c")
		}
	})
}

// TestHedgeBesideLateWriters: policies that were added after ours, and headers
// of the context, write to the request of the first leg while hedges are made.
func TestHedgeBesideLateWriters(t *testing.T) {
	inWorld(t, setup{plain: true, policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		var delay atomic.Bool
		late := latePolicy(func(r *azpolicy.Request) (*http.Response, error) {
			for delay.Load() {
				r.Raw().Header.Set("X-Late", time.Now().String())
				r.Raw().Header.Add("X-Ms-Version", "late")
				if !sleepFor(r.Raw().Context(), 20*ms) {
					return nil, r.Raw().Context().Err()
				}
			}
			return r.Next()
		})
		_, w.container = w.newClient(setup{plain: true, change: func(o *azcosmos.ClientOptions) {
			w.ha.Apply(o)
			o.PerRetryPolicies = append(o.PerRetryPolicies, late)
		}})
		got, _ := w.do(w.Context(), read)
		require.Equal(w, "200", got)
		delay.Store(true)
		w.expect(query, "200", "B", 100*ms)
		for _, version := range w.headers("X-Late") {
			require.Empty(w, version, "hedges carry what there was before the first leg began")
		}
		require.Equal(w, []string{"2020-11-05"}, w.Log()[0].Header["X-Ms-Version"])
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() { w.do(w.Context(), query) })
		}
		all.Wait()
	})
}

// latePolicy is a policy made of a function.
type latePolicy func(*azpolicy.Request) (*http.Response, error)

func (f latePolicy) Do(r *azpolicy.Request) (*http.Response, error) { return f(r) }

// sleepFor reports whether the context lived to the end of d.
func sleepFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// TestHedgeLogsBodies: with IncludeBody azcore reads the body of every leg to log it.
func TestHedgeLogsBodies(t *testing.T) {
	var mutex sync.Mutex
	hosts := map[string]int{}
	azlog.SetListener(func(event azlog.Event, text string) {
		if event == azlog.EventRequest && strings.Contains(text, "SELECT * FROM c") {
			_, host, _ := strings.Cut(text, "https://")
			mutex.Lock()
			hosts[letterOfHost(host[:strings.Index(host, "/")])]++
			mutex.Unlock()
		}
	})
	t.Cleanup(func() { azlog.SetListener(nil) })
	s := setup{policy: hedgedAt(100 * ms), hedged: true, change: func(o *azcosmos.ClientOptions) { o.Logging.IncludeBody = true }}
	s.policy.Breaker = noBreaker.Breaker
	inWorld(t, s, func(w *world) {
		w.Inject(slow(A, time.Second))
		w.expect(query, "200", "A B", 100*ms)
		require.Equal(w, map[string]int{"A": 1, "B": 1}, hosts)
		w.manyAtOnce(w.Context(), 50)
	})
}

// TestHedgeAndTheCallersEnd: the caller's context ends between the timer and the
// sending of the hedge, or while the hedge is being sent.
func TestHedgeAndTheCallersEnd(t *testing.T) {
	var atB func()
	change := func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if letterOfHost(r.URL.Host) == "B" && atB != nil {
				atB()
			}
			return next.Do(r)
		})
	}
	s := setup{policy: hedgedAt(100 * ms), hedged: true, change: change}
	s.policy.Breaker = noBreaker.Breaker
	inWorld(t, s, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		for range 50 {
			ctx, cancel := context.WithCancel(w.Context())
			time.AfterFunc(100*ms, cancel) // with the hedge
			got, took := w.do(ctx, query)
			require.Contains(w, []string{"cancelled", "200"}, got)
			require.Equal(w, 100*ms, took)
			synctest.Wait()
			require.Zero(w, hedgesRunning())
		}
		ctx, cancel := context.WithCancel(w.Context())
		atB = cancel
		got, took := w.do(ctx, query)
		require.Equal(w, "cancelled", got)
		require.Equal(w, 100*ms, took)
	})
}

// TestHedgeNeverToTheOpenedOrExcluded: not even when nothing else is left.
func TestHedgeNeverToTheOpenedOrExcluded(t *testing.T) {
	inCircuit(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *circuitWorld) {
		f := w.sick(A)
		w.times(10, readKey, w.container, w.p1)
		f.Remove()
		require.Equal(w, []string{"A read Unavailable"}, w.unwell())
		w.Inject(slow(B, time.Second))
		c := w.Inject(slow(C, 2*time.Second))
		w.expect(read, "200", "B C", time.Second)
		w.expectWith(hedge.With(w.Context(), hedge.Options{Step: ms}), read, "200", "B C", time.Second)
		c.Remove()
		w.ha.SetExcludedRegions(C)
		w.expect(read, "200", "B", time.Second)
		require.Equal(w, "B", sorted(w.data()))
	})
}
