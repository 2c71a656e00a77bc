package policy_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// front is a policy of the application's that stands before PerRetry, and what
// it sees of a request after each of its turns.
type front struct {
	turns int
	hosts []string
	ends  []error
}

func (f *front) Do(req *azpolicy.Request) (response *http.Response, err error) {
	for range max(f.turns, 1) {
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
