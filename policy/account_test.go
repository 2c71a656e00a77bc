package policy_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// atAccount is a fault of the account read at the global endpoint.
func atAccount(r gateway.Rule) gateway.Rule {
	r.Region, r.Operations = gateway.Global, []string{"account"}
	return r
}

// TestStartWithoutGlobalEndpoint: a client starts while the global endpoint
// fails in any way, by the endpoints that its preferred regions must have.
func TestStartWithoutGlobalEndpoint(t *testing.T) {
	tests := []struct {
		name string
		rule gateway.Rule
		took time.Duration
	}{
		{"refused", gateway.Rule{Kind: gateway.Refuse}, 0},
		{"reset", gateway.Rule{Kind: gateway.Reset}, 0},
		{"503", gateway.Rule{Status: 503}, 0},
		{"500", gateway.Rule{Status: 500}, 0},
		{"404 of a proxy", gateway.Rule{Status: 404, Body: "<html>not here</html>"}, 0},
		{"HTML instead of JSON", gateway.Rule{Status: 200, Body: "<html>sign in</html>"}, 0},
		{"no regions", gateway.Rule{Status: 200, Body: `{"id":"acct"}`}, 0},
		{"empty", gateway.Rule{Status: 200, Body: " "}, 0},
		{"403/1008", gateway.Rule{Status: 403, SubStatus: 1008}, 0},
		{"hangs", gateway.Rule{Kind: gateway.Hang}, 5 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{preferred: []string{B, C}})
				w.Inject(atAccount(test.rule))
				start := time.Now()
				require.Equal(t, "201", outcomeOf(create(t.Context(), w.container)))
				require.Equal(t, test.took, time.Since(start))
				require.Equal(t, []string{gateway.Global, B}, w.AccountReads())
				require.Equal(t, "A", w.contacted())
			})
		})
	}
}

// TestStartWithPreferredRegionDown: the guess goes on to the next region.
func TestStartWithPreferredRegionDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{preferred: []string{"Atlantis", B, C}})
		w.Down(gateway.Global)
		w.Down(B)
		require.Equal(t, "201", outcomeOf(create(t.Context(), w.container)))
		require.Equal(t, []string{gateway.Global, B, C}, w.AccountReads())
	})
}

// TestAccountReadUntouched: with nothing else to ask, and for an answer about
// the caller, the account read is azcosmos's own business.
func TestAccountReadUntouched(t *testing.T) {
	tests := []struct {
		name      string
		preferred []string
		rule      gateway.Rule
		reads     int
		outcome   string
	}{
		{"nothing to guess from: azcore's retries", nil, gateway.Rule{Status: 503, Hits: 2}, 3, "201"},
		{"401 is about the caller", []string{B}, gateway.Rule{Status: 401}, 1, "401"},
		{"429 is repeated in place", []string{B}, gateway.Rule{Status: 429, SubStatus: 3200, Hits: 2, Header: map[string]string{"x-ms-retry-after-ms": "250"}}, 3, "201"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{preferred: test.preferred})
				w.Inject(atAccount(test.rule))
				require.Equal(t, test.outcome, outcomeOf(create(t.Context(), w.container)))
				reads := w.AccountReads()
				require.Len(t, reads, test.reads)
				for _, endpoint := range reads {
					require.Equal(t, gateway.Global, endpoint)
				}
			})
		})
	}
}

// TestAccountReadAllDown: when no endpoint answers, the caller gets azcosmos's
// own error after azcosmos's own retries, and azcosmos is as it was.
func TestAccountReadAllDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{preferred: []string{A, B}})
		for _, r := range []string{gateway.Global, A, B} {
			w.Down(r)
		}
		require.Equal(t, "error", outcomeOf(create(t.Context(), w.container)))
		require.Equal(t, []string{gateway.Global, A, B, gateway.Global, gateway.Global, gateway.Global, gateway.Global}, w.AccountReads())
	})
}

// TestRefreshedByAzcosmos: azcosmos's own refresh, every five minutes, teaches
// new regions; an answer that cannot be used keeps the last good topology; with
// the global endpoint gone the refresh goes to a region.
func TestRefreshedByAzcosmos(t *testing.T) {
	later := func(w *world) {
		time.Sleep(6 * time.Minute)
		_, _ = w.do(w.Context(), read) // sets the refresh off
		synctest.Wait()
	}
	t.Run("a region is added", func(t *testing.T) {
		inWorld(t, setup{gateway: gateway.Options{Regions: []string{A}}}, func(w *world) {
			w.Inject(status(A, 503, 0))
			w.expect(read, "503", "A", 0)
			w.SetRegions(A, B)
			later(w)
			w.expect(read, "200", "A B", 0)
		})
	})
	t.Run("a bad answer changes nothing", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			w.Inject(gateway.Rule{Operations: []string{"account"}, Status: 200, Body: `{"readableLocations":[{"name":"B","databaseAccountEndpoint":"not a URL"}]}`})
			later(w)
			w.Inject(status(A, 503, 0))
			w.expect(read, "200", "A B", 0)
		})
	})
	t.Run("the global endpoint is gone", func(t *testing.T) {
		inWorld(t, setup{preferred: []string{C, B, A}}, func(w *world) {
			w.Down(gateway.Global)
			w.SetRegions(A, C)
			later(w)
			require.Equal(w, []string{gateway.Global, C}, w.AccountReads())
			w.Inject(status(C, 503, 0))
			w.expect(read, "200", "C A", 0)
		})
	})
}

// TestWriteRegionMoved: a write that the old write region refuses finds the
// new one within the call, at the price of one account read; the next goes
// straight there.
func TestWriteRegionMoved(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A B", 0)
		require.Equal(w, []string{gateway.Global}, w.AccountReads())
		w.expect(upsert, "200", "B", 0)
		require.Empty(w, w.AccountReads())
		require.Empty(w, w.store.Repeated())
	})
}

// TestWriteRegionMovesLate: the account tells the new write region only after
// 1.5 s; the write finds it at its next retry.
func TestWriteRegionMovesLate(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 403, SubStatus: 3})
		time.AfterFunc(1500*time.Millisecond, func() { w.SetWriteRegion(B) })
		w.expect(upsert, "200", "A A A B", 3*time.Second)
	})
}

// TestWriteWithoutPrimary: while nobody takes the write it is tried again
// after 0, 1, 2 and 2 s, with a refresh each time, and then the service's own
// answer is the caller's; the caller's deadline ends it sooner.
func TestWriteWithoutPrimary(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Elect("items", "0")
		w.expect(upsert, "403/3", "A A A A A", 5*time.Second)
		require.Len(w, w.AccountReads(), 3) // before the retries at 0, 1 and 3 s; at 5 s there is no time left to wait for one

		ctx, cancel := context.WithTimeout(w.Context(), 2500*time.Millisecond)
		defer cancel()
		w.expectWith(ctx, upsert, "deadline", "A A A", 2500*time.Millisecond)
	})
}

// TestRefreshThatHangs: a topology refresh never holds a write up for more
// than a second, and goes to a region when the global endpoint hangs.
func TestRefreshThatHangs(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Inject(atAccount(gateway.Rule{Kind: gateway.Hang}))
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A B", 600*time.Millisecond)
		require.Equal(w, []string{gateway.Global, A}, w.AccountReads())
	})
	inWorld(t, setup{}, func(w *world) {
		w.Inject(gateway.Rule{Operations: []string{"account"}, Kind: gateway.Hang})
		w.SetWriteRegion(B)
		w.expect(upsert, "403/3", "A A A A", 5*time.Second) // the waits count
	})
}

// TestRefreshSingleFlight: fifty writers that are refused at once share one
// account read.
func TestRefreshSingleFlight(t *testing.T) {
	inWorld(t, setup{gateway: gateway.Options{Latency: map[string]time.Duration{A: 5 * time.Millisecond, gateway.Global: 20 * time.Millisecond}}}, func(w *world) {
		w.SetWriteRegion(B)
		var writers sync.WaitGroup
		for range 50 {
			writers.Go(func() {
				got, _ := w.do(w.Context(), upsert)
				require.Equal(w, "200", got)
			})
		}
		writers.Wait()
		require.Equal(w, []string{gateway.Global}, w.AccountReads())
	})
}

// TestRefreshAfterRefusedConnection: an endpoint that cannot be reached makes
// us ask for the topology, in nobody's way and at most every 5 s.
func TestRefreshAfterRefusedConnection(t *testing.T) {
	inWorld(t, setup{preferred: []string{B, C}}, func(w *world) {
		w.Down(B)
		w.Down(C)
		for i := range 10 {
			w.expect(read, "error", "B C", 0)
			synctest.Wait()
			require.Len(w, w.AccountReads(), map[bool]int{true: 1, false: 0}[i%5 == 0], "after %d s", i)
			time.Sleep(time.Second)
		}
	})
}

// TestWriteRegionLost: the write region is lost for good, and the account fails
// over while nobody there can say 403/3: every write that begins after that finds
// the new write region within its call. Each write waits for a topology that was
// read since it failed: not at all for the first one, for as much of a second as
// is left since the last reading for all others.
func TestWriteRegionLost(t *testing.T) {
	for name, rule := range map[string]gateway.Rule{
		"refused": fault(A, gateway.Refuse), "503": status(A, 503, 0), "410/1022": status(A, 410, 1022), "429/3092": status(A, 429, 3092),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, setup{}, func(w *world) {
				w.Inject(rule)
				for i := range 10 {
					got, took := w.do(w.Context(), upsert)
					require.NotEqual(w, "200", got)
					require.Equal(w, map[bool]time.Duration{true: 0, false: 900 * time.Millisecond}[i == 0], took)
					time.Sleep(100 * time.Millisecond)
				}
				require.Len(w, w.AccountReads(), 10)
				w.SetWriteRegion(C)
				regions := map[bool]string{true: "A A C", false: "A C"}[name == "refused"]
				w.expect(upsert, "200", regions, 900*time.Millisecond)
				w.expect(upsert, "200", "C", 0)
				require.Empty(w, w.store.Repeated())
			})
		})
	}
}

// TestWriteRegionLostToMany: writes that fail around the time of the move share
// one account read a second, and none that begins after the move is lost.
func TestWriteRegionLostToMany(t *testing.T) {
	s := setup{}
	s.gateway.Latency = map[string]time.Duration{A: 5 * time.Millisecond, C: 25 * time.Millisecond, gateway.Global: 20 * time.Millisecond}
	inWorld(t, s, func(w *world) {
		w.Down(A)
		var callers sync.WaitGroup
		for i := range 100 {
			if i == 53 {
				w.SetWriteRegion(C)
			}
			callers.Go(func() {
				got, took := w.do(w.Context(), upsert)
				if i >= 53 && (got != "200" || took > time.Second+70*time.Millisecond) {
					w.Errorf("write %d: %s after %v", i, got, took)
				}
			})
			time.Sleep(50 * time.Millisecond)
		}
		callers.Wait()
		require.LessOrEqual(w, len(w.AccountReads()), 6)
		require.Empty(w, w.store.Repeated())
	})
}

// TestWriteRegionHangs: nobody can say whether a write that hangs was carried
// out, so it is not repeated; but the topology is asked for, and after the
// failover the next write goes straight to the new write region.
func TestWriteRegionHangs(t *testing.T) {
	inWorld(t, setup{policy: policy.Options{Retry: policy.RetryOptions{AttemptTimeout: 300 * time.Millisecond}}}, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		w.expect(upsert, "deadline", "A", 300*time.Millisecond)
		synctest.Wait()
		w.SetWriteRegion(C)
		time.Sleep(5 * time.Second)
		w.expect(upsert, "deadline", "A", 300*time.Millisecond)
		synctest.Wait()
		w.expect(upsert, "200", "C", 0)
	})
}

// TestClose ends a refresh in flight; requests go on.
func TestClose(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Inject(gateway.Rule{Operations: []string{"account"}, Kind: gateway.Hang})
		w.Inject(gateway.Rule{Region: A, Operations: []string{"read"}, Status: 403, SubStatus: 1008, Hits: 1})
		w.expect(read, "200", "A B", 0) // set a refresh off, which hangs
		w.ha.Close()
		w.ha.Close()
		synctest.Wait()
		for _, e := range w.Log() {
			require.True(w, e.Done, "%s is still in flight", e.Operation)
		}
		w.RemoveAll()
		w.Inject(status(B, 503, 0))
		w.expect(read, "200", "B C", 0)
		w.SetWriteRegion(B)
		w.expect(upsert, "403/3", "A A A A A", 5*time.Second) // no refresh of our own any more
	})
}

// TestSharedMiddleware: one Middleware serves several clients of several
// accounts; what happens in one does not touch the other.
func TestSharedMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newWorld(t, setup{preferred: []string{A, B}})
		two := newWorld(t, setup{gateway: gateway.Options{Account: "other", MultiWrite: true}, preferred: []string{B, C}})
		two.ha = one.ha
		two.client, two.container = two.newClient(setup{preferred: []string{B, C}})
		one.warm()
		two.warm()
		one.Down(A)
		one.expect(read, "200", "A B", 0)
		one.expect(read, "200", "B", 0)
		two.expect(read, "200", "B", 0)
		two.expect(upsert, "200", "B", 0)
		two.Down(B)
		two.expect(upsert, "200", "B C", 0)
		one.expect(read, "200", "B", 0)

		// A second client of the first account, with other preferences, knows what the first one learned.
		sibling := *one
		sibling.client, sibling.container = one.newClient(setup{preferred: []string{A, C}})
		sibling.expect(read, "200", "C", 0)
	})
}

// TestUnknownAccount: a request without an operation of ours, or to an account
// that no account read has passed for, goes on as if we were not there.
func TestUnknownAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{plain: true, change: func(o *azcosmos.ClientOptions) {
			ha, err := policy.New(policy.Options{})
			require.NoError(t, err)
			t.Cleanup(ha.Close)
			o.PerRetryPolicies = append(o.PerRetryPolicies, ha.PerRetry()) // PerCall is missing
		}})
		w.warm()
		w.Inject(status(A, 503, 0))
		w.expect(read, "503", "A", 0)
	})
}
