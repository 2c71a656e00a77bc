package policy_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// front is a policy of the application's that stands before PerRetry, and what
// it sees of a request after each of its turns.
type front struct {
	turns int
	after func() // the first turn
	hosts []string
	ends  []error
}

func (f *front) Do(req *azpolicy.Request) (response *http.Response, err error) {
	for turn := range max(f.turns, 1) {
		if turn == 1 && f.after != nil {
			f.after()
		}
		response, err = req.Next()
		f.hosts, f.ends = append(f.hosts, letterOfHost(req.Raw().URL.Host)), append(f.ends, req.Raw().Context().Err())
	}
	return response, err
}

// ways are the two that a point read can take: straight, and, when something is
// recorded of it, by an operation.
func ways(w *world, test func(ctx context.Context)) {
	test(w.Context())
	recorded, _ := telemetry.Record(w.Context())
	test(recorded)
}

// TestPolicyInFrontOfARace: a policy before ours sees the region that answered and
// the caller's context, not the one of a leg that has lost, and may go on with it.
func TestPolicyInFrontOfARace(t *testing.T) {
	tests := []struct {
		name  string
		rules []gateway.Rule
		turns int
		went  string
		took  time.Duration
		hosts []string
	}{
		{"all is well", nil, 1, "A", 0, []string{"A"}},
		{"a hedge wins", []gateway.Rule{slow(A, time.Second)}, 1, "A B", 100 * ms, []string{"B"}},
		{"a hedge wins after the first leg has failed", []gateway.Rule{status(A, 503, 0)}, 1, "A B", 0, []string{"B"}},
		{"the first leg wins after all", []gateway.Rule{slow(A, 150*ms), slow(B, time.Second)}, 1, "A B", 150 * ms, []string{"A"}},
		{"twice", []gateway.Rule{slow(A, time.Second)}, 2, "A B A", 1100 * ms, []string{"B", "A"}}, // a repetition is not hedged
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var f front
			s := setup{policy: hedgedAt(100 * ms), hedged: true, change: func(o *azcosmos.ClientOptions) { o.PerRetryPolicies = append(o.PerRetryPolicies, &f) }}
			s.policy.Breaker = noBreaker.Breaker
			inWorld(t, s, func(w *world) {
				for _, r := range test.rules {
					w.Inject(r)
				}
				ways(w, func(ctx context.Context) {
					f = front{turns: test.turns}
					w.expectWith(ctx, read, "200", test.went, test.took)
					require.Equal(w, test.hosts, f.hosts)
					require.Equal(w, make([]error, test.turns), f.ends)
				})
			})
		})
	}
}

// TestErrorThatWins: what a hedge won with reaches the caller, though azcosmos
// finds the first leg's context ended when it looks at the error.
func TestErrorThatWins(t *testing.T) {
	for _, soleRetry := range []bool{true, false} {
		s := setup{policy: hedgedAt(100 * ms), hedged: true}
		s.policy.Breaker = noBreaker.Breaker
		if !soleRetry {
			s.change = func(o *azcosmos.ClientOptions) { o.PerRetryPolicies = append(o.PerRetryPolicies, &front{}) }
		}
		inWorld(t, s, func(w *world) {
			w.Inject(fault(A, gateway.Hang))
			w.Inject(status(B, 408, 21013))
			ways(w, func(ctx context.Context) {
				for range 2 {
					w.expectWith(ctx, read, "408/21013", "A B", 100*ms)
					w.expectWith(ctx, query, "408/21013", "A B", 100*ms)
				}
			})
		})
	}
}

// foreign is a context that package context does not know: whoever derives from
// it waits for its end on a goroutine.
type foreign struct{ context.Context }

// Value hides the context inside.
func (foreign) Value(any) any { return nil }

// waiting is how many goroutines wait for the end of a foreign context.
func waiting() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "context.(*cancelCtx).propagateCancel.func")
}

// TestNobodyWaitsForLong: however a race ends, nothing of it stays with the
// caller's context.
func TestNobodyWaitsForLong(t *testing.T) {
	for _, rules := range [][]gateway.Rule{
		nil,
		{slow(A, time.Second)},
		{slow(A, 150*ms), slow(B, time.Second)},
		{status(A, 503, 0)},
		{status(A, 449, 0), fault(B, gateway.Hang)},
		{fault(A, gateway.Hang), fault(B, gateway.Hang)},
	} {
		s := setup{policy: hedgedAt(100 * ms), hedged: true}
		s.policy.Breaker = noBreaker.Breaker
		inWorld(t, s, func(w *world) {
			for _, r := range rules {
				w.Inject(r)
			}
			ctx, stop := context.WithCancel(w.Context())
			defer stop()
			caller := foreign{ctx}
			for _, c := range []call{read, query, read} {
				bounded, end := context.WithTimeout(caller, 5*time.Second)
				_, err := c(bounded, w.container)
				require.True(w, err == nil || errors.Is(err, context.DeadlineExceeded), "%v", err)
				end()
				_, _ = c(caller, w.container)
				pass(time.Minute) // until what runs in the background is done
				synctest.Wait()
				require.Zero(w, waiting())
			}
		})
	}
}

// TestEndsOfTheCaller: the caller's end ends the first leg, whatever the race
// has come to, with the caller's own error.
func TestEndsOfTheCaller(t *testing.T) {
	s := setup{policy: hedgedAt(100 * ms), hedged: true}
	s.policy.Breaker = noBreaker.Breaker
	inWorld(t, s, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		w.Inject(fault(B, gateway.Hang))
		w.Inject(fault(C, gateway.Hang))
		for after, went := range map[time.Duration]string{50 * ms: "A", 150 * ms: "A B", time.Second: "A B C"} {
			ways(w, func(ctx context.Context) {
				late, stop := context.WithTimeout(ctx, after)
				defer stop()
				w.ResetLog()
				start := time.Now()
				_, err := read(late, w.container)
				require.ErrorIs(w, err, context.DeadlineExceeded)
				require.Equal(w, after, time.Since(start))
				require.Equal(w, went, w.contacted())

				cancelled, cancel := context.WithCancel(ctx)
				time.AfterFunc(after, cancel)
				_, err = read(cancelled, w.container)
				require.ErrorIs(w, err, context.Canceled)
			})
		}
	})
}

// TestAnErrorWinsAndThen: what a hedge has won with counts for its own pass only.
func TestAnErrorWinsAndThen(t *testing.T) {
	for _, prepended := range []bool{true, false} {
		f := new(front)
		s := setup{policy: hedgedAt(100 * ms), hedged: true}
		s.policy.Breaker = noBreaker.Breaker
		if !prepended {
			s.change = func(o *azcosmos.ClientOptions) { o.PerRetryPolicies = append(o.PerRetryPolicies, f) }
		}
		inWorld(t, s, func(w *world) {
			c := w.container
			if prepended { // which is not supported, but must not cost a request
				o := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: w.Transport()}}
				w.ha.Apply(o)
				o.PerRetryPolicies = append([]azpolicy.Policy{f}, o.PerRetryPolicies...)
				credential, err := azcosmos.NewKeyCredential(accountKey)
				require.NoError(w, err)
				client, err := azcosmos.NewClientWithKey(w.Endpoint(), credential, o)
				require.NoError(w, err)
				w.Cleanup(client.Close)
				c, err = client.NewContainer("db", "items")
				require.NoError(w, err)
				_, err = read(w.Context(), c)
				require.NoError(w, err)
			}
			hang, late := w.Inject(fault(A, gateway.Hang)), w.Inject(status(B, 408, 21013))
			f.after = func() {
				hang.Remove()
				late.Remove()
				if prepended {
					return
				}
				for _, region := range []string{A, B, C} {
					w.Inject(status(region, 503, 0))
				}
			}
			f.turns = 2
			response, err := read(w.Context(), c)
			require.Equal(w, map[bool]string{true: "200", false: "503"}[prepended], outcomeOf(response, err))
		})
	}
}

// TestSampledOut: a read of which PerCall made an operation, and whose span a
// sampler has dropped by the time PerRetry sees it, ends as all others do.
func TestSampledOut(t *testing.T) {
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	for _, provider := range []trace.TracerProvider{noop.NewTracerProvider(), sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))} {
		otel.SetTracerProvider(provider)
		s := setup{policy: hedgedAt(100 * ms), hedged: true}
		s.policy.Breaker = noBreaker.Breaker
		inWorld(t, s, func(w *world) {
			hang, late := w.Inject(fault(A, gateway.Hang)), w.Inject(status(B, 408, 21013))
			w.expect(read, "408/21013", "A B", 100*ms)
			hang.Remove()
			late.Remove()
			for _, region := range []string{A, B, C} {
				w.Inject(gateway.Rule{Region: region, Status: 429, SubStatus: 3200, Header: map[string]string{"x-ms-retry-after-ms": "10"}})
			}
			w.expect(read, "429/3200", "A B C A A A", 30*ms)
		})
	}
}

// TestWhoWaitsForTheEnd: a transport that waits for the end of a request's context
// hears of it when the race is over, whether the first leg has a copy or not.
func TestWhoWaitsForTheEnd(t *testing.T) {
	for _, sole := range []bool{true, false} {
		var after, woken atomic.Int32
		s := setup{policy: hedgedAt(time.Second), hedged: true, change: func(o *azcosmos.ClientOptions) {
			next := o.Transport
			o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
				context.AfterFunc(r.Context(), func() { after.Add(1) })
				done := r.Context().Done()
				go func() {
					<-done
					woken.Add(1)
				}()
				return next.Do(r)
			})
			if !sole {
				o.PerRetryPolicies = append(o.PerRetryPolicies, &front{})
			}
		}}
		inWorld(t, s, func(w *world) {
			synctest.Wait() // for the end of what made the world
			after.Store(0)
			woken.Store(0)
			for range 3 {
				w.expect(read, "200", "A", 0)
			}
			synctest.Wait()
			require.EqualValues(w, 3, after.Load())
			require.EqualValues(w, 3, woken.Load())
		})
	}
}

// TestHeadersOfALostLeg: what a policy in front writes after a hedge has won, no
// transport can see that is still busy with the first leg.
func TestHeadersOfALostLeg(t *testing.T) {
	var sent []http.Header
	s := setup{policy: hedgedAt(100 * ms), hedged: true, change: func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Header)
			return next.Do(r)
		})
		o.PerRetryPolicies = append(o.PerRetryPolicies, latePolicy(func(r *azpolicy.Request) (*http.Response, error) {
			response, err := r.Next()
			r.Raw().Header.Set("x-late", "1")
			return response, err
		}))
	}}
	inWorld(t, s, func(w *world) {
		w.Inject(slow(A, time.Second))
		sent = nil
		w.expect(read, "200", "A B", 100*ms)
		require.Len(w, sent, 2)
		require.Empty(w, sent[0].Get("x-late"))
		require.Empty(w, sent[1].Get("x-late"))
	})
}
