package policy_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

const ms = time.Millisecond

// TestHedgeCountsForItsRegion: the answer of a hedge is counted for the region
// that it went to and for no other.
func TestHedgeCountsForItsRegion(t *testing.T) {
	options := hedgedAt(100 * ms)
	options.Breaker.SlowWins = 200
	s := setup{policy: options, hedged: true}
	t.Run("failures open it", func(t *testing.T) {
		inCircuit(t, s, func(w *circuitWorld) {
			w.Inject(slow(A, 150*ms))
			w.Inject(status(B, 503, 0))
			w.Inject(fault(C, gateway.Hang))
			for range 10 {
				w.expect(read, "200", "A B C", 150*ms)
			}
			require.Equal(w, []string{"B read Unavailable"}, w.unwell())
			w.expect(read, "200", "A C", 150*ms)
		})
	})
	t.Run("a success clears its run", func(t *testing.T) {
		inCircuit(t, s, func(w *circuitWorld) {
			w.Inject(slow(A, 5*time.Second))
			f := w.Inject(status(B, 503, 0))
			for range 9 {
				w.expect(read, "200", "A B C", 100*ms)
			}
			f.Remove()
			w.expect(read, "200", "A B", 100*ms)
			w.Inject(status(B, 503, 0))
			w.expect(read, "200", "A B C", 100*ms)
			require.NotContains(w, w.unwell(), "B read Unavailable")
		})
	})
	t.Run("cancelled ones count for none", func(t *testing.T) {
		inCircuit(t, s, func(w *circuitWorld) {
			w.Inject(slow(A, 150*ms))
			w.Inject(fault(B, gateway.Hang))
			for range 30 {
				w.expect(read, "200", "A B", 150*ms)
			}
			require.Empty(w, w.unwell())
		})
	})
}

// TestSlowWinIsNoFailure: a first leg that lost counts towards SlowWins and not
// as a failure; its region answering first begins the count anew.
func TestSlowWinIsNoFailure(t *testing.T) {
	s := setup{policy: hedgedAt(100 * ms), hedged: true}
	s.policy.Breaker = breaker.Options{SlowWins: 3, ReadFailures: 3}
	inCircuit(t, s, func(w *circuitWorld) {
		f := w.Inject(slow(A, time.Second))
		w.expect(read, "200", "A B", 100*ms)
		w.expect(read, "200", "A B", 100*ms)
		f.Remove()
		w.expect(read, "200", "A", 0)
		f = w.Inject(slow(A, time.Second))
		w.expect(read, "200", "A B", 100*ms)
		w.expect(read, "200", "A B", 100*ms)
		f.Remove()
		f = w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
		w.expect(read, "200", "A B", 0)
		require.NotContains(w, w.unwell(), "A read Unavailable", "two failures, and four slow wins of two runs")
		f.Remove()
		w.expect(read, "200", "A", 0)
		w.Inject(slow(A, time.Second))
		for range 3 {
			w.expect(read, "200", "A B", 100*ms)
		}
		require.Equal(w, []string{"A read Unavailable"}, w.unwell())
		w.expect(read, "200", "B", 0)
	})
}

// deaf is a transport that ignores the end of the context of what it sends to a region.
func deaf(region string) func(*azcosmos.ClientOptions) {
	return func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if letterOfHost(r.URL.Host) == region {
				r = r.WithContext(context.WithoutCancel(r.Context()))
			}
			return next.Do(r)
		})
	}
}

// TestHedgeDeafTransport: a transport that ignores cancellation delays the win
// of a hedge until it returns; what it brings then is nobody's success or
// failure, and the winner's answer is the caller's.
func TestHedgeDeafTransport(t *testing.T) {
	for name, rule := range map[string]gateway.Rule{
		"answer":  slow(A, 2*time.Second),
		"failure": {Region: A, Status: 503, Delay: 2 * time.Second},
		"refused": {Region: A, Kind: gateway.Refuse, Delay: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup{policy: hedgedAt(100 * ms), hedged: true, change: deaf("A")}
			s.policy.Breaker.ReadFailures = 2
			inCircuit(t, s, func(w *circuitWorld) {
				w.Inject(rule)
				for range 5 {
					w.expect(read, "200", "A B", 2*time.Second)
				}
				require.Equal(w, []string{"A read Unavailable"}, w.unwell())
				changes := w.changes.take()
				require.Equal(w, "A read HealthyWithFailures>Unavailable slow wins 5", changes[len(changes)-1], "by slow wins, not by failures")
				require.Nil(w, w.ha.State().Accounts[0].Regions[0].UnwellReads, "no mark")
				w.expect(read, "200", "B", 0)
			})
		})
	}
}

// TestHedgeLateLoser: a hedge that comes too late changes nothing that the
// caller sees, whatever it brings.
func TestHedgeLateLoser(t *testing.T) {
	for name, rule := range map[string]gateway.Rule{
		"answer": slow(B, 2*time.Second),
		"404":    {Region: B, Status: 404, Delay: 2 * time.Second},
		"503":    {Region: B, Status: 503, Delay: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup{policy: hedgedAt(100 * ms), hedged: true, change: deaf("B")}
			inWorld(t, s, func(w *world) {
				w.Inject(slow(A, 150*ms))
				w.Inject(rule)
				w.expect(read, "200", "A B", 150*ms)
				time.Sleep(5 * time.Second)
				now, _ := w.InFlight()
				require.Zero(w, now)
				w.RemoveAll()
				w.expect(read, "200", "A", 0)
			})
		})
	}
}

// TestHedgeEffects: what a hedge finds out about its region is not lost: a
// refused region is marked, and a topology that is wrong is read anew.
func TestHedgeEffects(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
			w.Inject(slow(A, 150*ms))
			w.Inject(fault(B, gateway.Refuse))
			w.expect(read, "200", "A B C", 100*ms)
			synctest.Wait()
			require.NotEmpty(w, w.AccountReads(), "a refused region makes the topology suspect")
			require.NotNil(w, w.ha.State().Accounts[0].Regions[1].UnwellReads)
			w.expect(read, "200", "A C", 100*ms)
		})
	})
	t.Run("left the account", func(t *testing.T) {
		inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
			w.SetRegions(A, C)
			w.Inject(slow(A, 150*ms))
			w.expect(read, "200", "A B C", 100*ms)
			synctest.Wait()
			require.NotEmpty(w, w.AccountReads())
			w.expect(read, "200", "A C", 100*ms)
		})
	})
}

// TestHedgeAttemptTimeout: a hedge is an attempt, and Retry.AttemptTimeout bounds it.
func TestHedgeAttemptTimeout(t *testing.T) {
	options := hedgedAt(100 * ms)
	options.Retry.AttemptTimeout = time.Second
	options.Hedge.Step = time.Minute
	inWorld(t, setup{policy: options, hedged: true}, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		w.Inject(fault(B, gateway.Hang))
		w.expect(read, "200", "A B C", time.Second)
		w.Inject(fault(C, gateway.Hang))
		w.expect(read, "deadline", "A B C", 2*time.Second)
		w.Inject(fault("", gateway.Hang))
		start := time.Now()
		got, _ := w.do(hedge.With(w.Context(), hedge.Options{MaxHedges: 1, Threshold: 1500 * ms}), read)
		require.Equal(w, "deadline", got)
		require.Equal(w, 2500*ms, time.Since(start), "A until 1 s, B until 2 s, the hedge to C until 2.5 s")
	})
}

// TestHedgeRequestURI: azcosmos's own diagnostics name the region that answered.
func TestHedgeRequestURI(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, 500*ms))
		for _, f := range []struct {
			rule gateway.Rule
			host string
		}{{slow(B, 10*ms), "westus"}, {slow(B, time.Second), "northcentralus"}} {
			rule := w.Inject(f.rule)
			r, err := w.container.ReadItem(w.Context(), key("a"), "1", nil)
			require.NoError(w, err)
			require.Contains(w, r.Diagnostics.String(), "acct-"+f.host+".")
			require.Equal(w, strings.Count(r.Diagnostics.String(), "/docs/1"), strings.Count(r.Diagnostics.String(), "acct-"+f.host+"."))
			rule.Remove()
		}
		w.RemoveAll()
		w.Inject(status(A, 429, 3200))
		w.Inject(status(B, 404, 0))
		_, err := w.container.ReadItem(w.Context(), key("a"), "1", nil)
		var answer *azcore.ResponseError
		require.ErrorAs(w, err, &answer)
		require.Equal(w, 404, answer.StatusCode)
		require.Equal(w, "acct-westus.documents.azure.test:443", answer.RawResponse.Request.URL.Host)
	})
}

// TestHedgePanic: a transport that panics in the first leg takes the caller
// with it, as without us; in a hedge it costs the hedge only.
func TestHedgePanic(t *testing.T) {
	var where atomic.Value
	where.Store("")
	change := func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if letterOfHost(r.URL.Host) == where.Load() {
				panic("transport")
			}
			if where.Load() == "A after a hedge" && letterOfHost(r.URL.Host) == "A" {
				time.Sleep(time.Second)
				panic("transport")
			}
			return next.Do(r)
		})
	}
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true, change: change}, func(w *world) {
		where.Store("A")
		require.PanicsWithValue(w, "transport", func() { w.do(w.Context(), read) })
		w.Inject(fault(B, gateway.Hang))
		where.Store("A after a hedge")
		require.PanicsWithValue(w, "transport", func() { w.do(w.Context(), read) })
		synctest.Wait()
		now, _ := w.InFlight()
		require.Zero(w, now, "the hedge was ended")
		w.RemoveAll()
		w.Inject(slow(A, time.Second))
		where.Store("B")
		w.expect(read, "200", "A C", 100*ms)
		where.Store("C")
		w.Inject(fault(B, gateway.Hang))
		w.expect(read, "200", "A B", time.Second)
	})
}

// TestHedgeErrorOfTheCaller: whatever the race, the caller's own end is told as
// azcosmos tells it.
func TestHedgeErrorOfTheCaller(t *testing.T) {
	for _, test := range []struct {
		name, outcome, regions string
		cancelled              bool
		at                     time.Duration
	}{
		{"deadline before the threshold", "deadline", "A", false, 90 * ms},
		{"deadline at the threshold", "deadline", "A", false, 100 * ms},
		{"deadline after it", "deadline", "A B", false, 110 * ms},
		{"deadline long after it", "deadline", "A B", false, 250 * ms},
		{"cancelled before", "cancelled", "A", true, 90 * ms},
		{"cancelled after", "cancelled", "A B", true, 110 * ms},
		{"cancelled after all", "cancelled", "A B C", true, 700 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			inCircuit(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *circuitWorld) {
				w.Inject(fault("", gateway.Hang))
				ctx, cancel := context.WithCancel(w.Context())
				if test.cancelled {
					time.AfterFunc(test.at, cancel)
				} else {
					ctx, cancel = context.WithTimeout(ctx, test.at)
				}
				defer cancel()
				w.expectWith(ctx, read, test.outcome, test.regions, test.at)
				synctest.Wait()
				now, _ := w.InFlight()
				require.Zero(w, now)
				want := []string{}
				if !test.cancelled && test.at >= 100*ms {
					want = append(want, "A read HealthyWithFailures") // a hedge of 10 ms says nothing
				}
				if !test.cancelled && test.at >= 200*ms {
					want = append(want, "B read HealthyWithFailures")
				}
				require.Equal(w, want, w.unwell())
			})
		})
	}
	inWorld(t, setup{policy: policy.Options{}, hedged: true}, func(w *world) {
		reason := errors.New("the caller's reason")
		ctx, cancel := context.WithCancelCause(w.Context())
		cancel(reason)
		w.expectWith(ctx, read, "cancelled", "", 0)
	})
}
