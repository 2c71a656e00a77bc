package policy_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// TestFailoverMode: the options against the account's flag.
func TestFailoverMode(t *testing.T) {
	yes, no := true, false
	for _, mode := range []ppaf.Mode{ppaf.FromAccount, ppaf.On, ppaf.Off} {
		for name, flag := range map[string]*bool{"absent": nil, "false": &no, "true": &yes} {
			t.Run(mode.String()+"/"+name, func(t *testing.T) {
				s := setup{gateway: gateway.Options{PartitionFailover: flag}, policy: policy.Options{Failover: ppaf.Options{Mode: mode}}}
				inWorld(t, s, func(w *world) {
					w.MoveRange("items", "0", B)
					if mode == ppaf.On || (mode == ppaf.FromAccount && flag == &yes) {
						w.expect(upsert, "200", "A B", 0)
						w.expect(upsert, "200", "B", 0)
						return
					}
					w.expect(upsert, "403/3", "A A A A A", 5*time.Second)
					require.Empty(w, w.overrides())
				})
			})
		}
	}
}

// TestFailoverOtherLimits: the number of timeouts and their window are options.
func TestFailoverOtherLimits(t *testing.T) {
	s := ppafAccount(1)
	s.policy.Failover = ppaf.Options{Timeouts: 2, TimeoutWindow: 3 * time.Second}
	inWorld(t, s, func(w *world) {
		w.MoveRange("items", "0", B)
		w.Inject(status(A, 408, 0))
		w.expect(upsert, "408", "A", 0)
		time.Sleep(4 * time.Second)
		w.expect(upsert, "408", "A", 0)
		time.Sleep(3 * time.Second)
		w.expect(upsert, "408", "A", 0)
		w.expect(upsert, "200", "B", 0)
	})
}

// TestFailoverCandidates: the service's order, the primary among them, what is
// excluded last; preferences do not matter, nor does what the breaker or the
// health of the endpoints say.
func TestFailoverCandidates(t *testing.T) {
	tests := []struct {
		name      string
		order     []string // of the account; the first is the primary
		preferred []string
		excluded  []string // of the client
		request   []string // of the request
		override  string
		asked     string
	}{
		{name: "the service's order", asked: "A B C"},
		{name: "another order", order: []string{C, A, B}, asked: "C A B"},
		{name: "preferences do not matter", preferred: []string{C, B}, asked: "A B C"},
		{name: "excluded by the client", excluded: []string{B}, asked: "A C B"},
		{name: "excluded by the request", request: []string{B}, asked: "A C B"},
		{name: "the primary is excluded", excluded: []string{A}, asked: "A B C"},
		{name: "all are excluded", excluded: []string{A, B, C}, asked: "A B C"},
		{name: "from the override", override: C, asked: "C A B"},
		{name: "from an excluded override", override: B, excluded: []string{B}, asked: "B A C"},
		{name: "from the override, the primary is excluded", override: B, request: []string{A}, asked: "B C A"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := ppafAccount(1)
			s.gateway.Regions, s.preferred = test.order, test.preferred
			s.policy.ExcludedRegions = test.excluded
			inWorld(t, s, func(w *world) {
				if test.override != "" {
					w.MoveRange("items", "0", test.override)
					_, _ = w.do(w.Context(), upsert)
					require.Equal(w, []string{lettersOf([]string{test.override})}, w.overrides())
				}
				w.Inject(gateway.Rule{Operations: []string{"write"}, Status: 503})
				ctx := w.Context()
				if test.request != nil {
					ctx = regions.WithExcluded(ctx, test.request...)
				}
				w.expectWith(ctx, upsert, "503", test.asked, 0)
			})
		})
	}
}

// TestFailoverCandidatesAfterAMoveOfThePrimary: the primary comes first, then
// the service's order, although the primary is not the first in it.
func TestFailoverCandidatesAfterAMoveOfThePrimary(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.SetWriteRegion(C)
		w.awaitRefresh()
		w.Inject(gateway.Rule{Operations: []string{"write"}, Status: 503})
		w.expect(upsert, "503", "C A B", 0)
	})
}

// TestFailoverOfTheAccount: the account's own write region moves while
// partitions are elsewhere. Overrides to the new primary are none any more, the
// others stay, and a partition that stays behind is found.
func TestFailoverOfTheAccount(t *testing.T) {
	inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
		w.MoveRange("items", w.rangeOf(w.p1), B)
		w.MoveRange("items", w.rangeOf(w.p2), C)
		require.Equal(w, "A B", w.times(1, upsertKey, w.container, w.p1))
		require.Equal(w, "A B C", w.times(1, upsertKey, w.container, w.p2))
		require.ElementsMatch(w, []string{"B", "C"}, w.overrides())
		w.SetWriteRegion(B)
		w.MoveRange("other", "", A) // does not move with the account
		w.awaitRefresh()
		require.Equal(w, []string{"C"}, w.overrides())
		require.Equal(w, "B", w.times(1, upsertKey, w.container, w.p1))
		require.Equal(w, "C", w.times(1, upsertKey, w.container, w.p2))
		require.Equal(w, "B A", w.times(1, upsertKey, w.other, w.p1))
		require.Equal(w, "A", w.times(1, upsertKey, w.other, w.p1))

		// The refresh that a refusal asks for is as good as azcosmos's own.
		time.Sleep(time.Second)
		w.SetWriteRegion(C)
		w.MoveRange("items", w.rangeOf(w.p1), "")
		require.Equal(w, "B A C", w.times(1, upsertKey, w.container, w.p1))
		synctest.Wait()
		require.Equal(w, []string{"A"}, w.overrides(), "only the container that stayed behind")
		require.Equal(w, "C", w.times(1, upsertKey, w.container, w.p1))
		require.Empty(w, w.store.Repeated())
	})
}

// TestFailoverRegionLeaves: the override's region leaves the account: the write
// that finds out goes on to the next candidate; and the override goes, at the
// latest with the next account read.
func TestFailoverRegionLeaves(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", B)
		w.expect(upsert, "200", "A B", 0)
		synctest.Wait() // the refusal's refresh still sees B
		w.SetRegions(A, C)
		w.MoveRange("items", "0", C)
		w.expect(upsert, "200", "B A C", 0) // 403/1008, 403/3
		require.Equal(w, []string{"C"}, w.overrides())
		w.SetRegions(A)
		w.MoveRange("items", "0", "")
		w.awaitRefresh()
		require.Empty(w, w.overrides())
		w.expect(upsert, "200", "A", 0)
		// Back again, it starts without a past.
		w.SetRegions(A, B, C)
		w.awaitRefresh()
		w.expect(upsert, "200", "A", 0)
		w.MoveRange("items", "0", C)
		w.expect(upsert, "200", "A B C", 0)
	})
}

// TestFailoverMultiWriteTurns: an account that becomes multi-write loses its
// overrides, and does not get them back with single-write.
func TestFailoverMultiWriteTurns(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", B)
		w.expect(upsert, "200", "A B", 0)
		w.SetMultiWrite(true)
		w.awaitRefresh()
		require.Empty(w, w.overrides())
		w.Inject(status(A, 503, 0))
		w.expect(upsert, "200", "A B", 0)
		require.Empty(w, w.overrides())
		w.RemoveAll()
		w.SetMultiWrite(false)
		w.awaitRefresh()
		w.expect(upsert, "200", "A B", 0)
	})
}

// TestFailoverStoredProcedures: what is no document operation passes through
// untouched, whatever the flag says.
func TestFailoverStoredProcedures(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		pipeline := runtime.NewPipeline("test", "", runtime.PipelineOptions{
			PerCall: []azpolicy.Policy{w.ha.PerCall()}, PerRetry: []azpolicy.Policy{w.ha.PerRetry()},
		}, &azpolicy.ClientOptions{Transport: w.Transport(), Retry: azpolicy.RetryOptions{MaxRetries: -1}})
		send := func(method, path string) int {
			req, err := runtime.NewRequest(w.Context(), method, strings.TrimSuffix(w.Endpoint(), "/")+path)
			require.NoError(w, err)
			req.Raw().Header.Set("x-ms-documentdb-partitionkey", `["a"]`)
			response, err := pipeline.Do(req)
			require.NoError(w, err)
			return response.StatusCode
		}
		require.Equal(w, 200, send(http.MethodGet, "/"))
		w.ResetLog()
		w.MoveRange("items", "0", B)
		w.Inject(gateway.Rule{Operations: []string{"sprocs", "triggers"}, Status: 503})
		require.Equal(w, 503, send(http.MethodPost, "/dbs/db/colls/items/sprocs/bulk"))
		require.Equal(w, 503, send(http.MethodPut, "/dbs/db/colls/items/triggers/t"))
		require.Equal(w, "global global", w.contacted())
		require.Empty(w, w.overrides())
	})
}

// TestFailoverKeys: every kind of partition key finds its way, hierarchical
// ones too; what makes no key is sent as without failover.
func TestFailoverKeys(t *testing.T) {
	tests := []struct {
		header string
		asked  string
	}{
		{`["a"]`, "A B"},
		{`[1.5]`, "A B"},
		{`[true]`, "A B"},
		{`[null]`, "A B"},
		{`[{}]`, "A B"},
		{`[]`, "A B"},
		{`["\u00e9"]`, "A B"},
		{`["a`, "A"},
		{`[["a"]]`, "A"},
		{`a`, "A"},
	}
	for _, test := range tests {
		t.Run(test.header, func(t *testing.T) {
			s := ppafAccount(1)
			var header string
			s.change = func(o *azcosmos.ClientOptions) {
				o.PerCallPolicies = append(o.PerCallPolicies, policyFunc(func(req *azpolicy.Request) (*http.Response, error) {
					if header != "" {
						req.Raw().Header.Set("x-ms-documentdb-partitionkey", header)
					}
					return req.Next()
				}))
			}
			inWorld(t, s, func(w *world) {
				header = test.header
				w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 503})
				w.Inject(gateway.Rule{Region: B, Operations: []string{"write"}, Status: 200, Body: `{"id":"1"}`})
				_, _ = w.do(w.Context(), upsert)
				require.Equal(w, test.asked, w.contacted())
			})
		})
	}
}

// policyFunc is a policy made of a function.
type policyFunc func(*azpolicy.Request) (*http.Response, error)

func (f policyFunc) Do(req *azpolicy.Request) (*http.Response, error) { return f(req) }

// TestFailoverRoundTrips counts requests: without failover there is none more
// than azcosmos sends; a write to a partition that has moved costs one more,
// once; and a healthy account leaves nothing behind.
func TestFailoverRoundTrips(t *testing.T) {
	for _, write := range writes {
		inWorld(t, ppafAccount(4), func(w *world) {
			for range 50 {
				_, _ = w.do(w.Context(), upsert)
				_, _ = w.do(w.Context(), write)
			}
			require.Len(w, w.Log(), 100)
			require.Empty(w, w.overrides())
			w.MoveRange("items", w.RangeOf("items", `["a"]`), B)
			w.ResetLog()
			for range 50 {
				_, _ = w.do(w.Context(), upsert)
				_, _ = w.do(w.Context(), write)
			}
			synctest.Wait()
			require.Len(w, w.Log(), 102, "one more round trip, and one account read that nobody waits for")
			require.Len(w, w.AccountReads(), 1)
			require.Empty(w, w.store.Repeated())
		})
	}
}

// TestFailoverIgnoresAzcoreRetries: a 429 that azcore repeats is a new pass: it
// goes straight to the region that was found.
func TestFailoverIgnoresAzcoreRetries(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", B)
		w.Inject(gateway.Rule{
			Region: B, Operations: []string{"write"}, Status: 429, SubStatus: 3200, Hits: 2,
			Header: map[string]string{"x-ms-retry-after-ms": "250"},
		})
		w.expect(upsert, "200", "A B A B A B", 500*time.Millisecond) // 429 confirms nothing
		w.expect(upsert, "200", "B", 0)
		require.Empty(w, w.store.Repeated())
	})
}
