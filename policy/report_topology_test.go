package policy_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// Azure/azure-cosmos-dotnet-v3#3580: after a manual failover every write finds
// the new write region, without a restart.
func TestReport39_WriteRegionMoves(t *testing.T) {
	inWorld(t, setup{gateway: two(false)}, func(w *world) {
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A B", 0)
		w.expect(upsert, "200", "B", 0)
		w.ResetLog()
		for range 1000 {
			got, _ := w.do(w.Context(), upsert)
			require.Equal(w, "200", got)
		}
		require.Equal(w, 1000, strings.Count(w.contacted(), "B"))
		require.NotContains(w, w.contacted(), "A")
		require.Empty(w, w.store.Repeated())
	})
}

// Azure/azure-sdk-for-python#37721: the same, with an error on the first
// refresh of the topology: at one endpoint, and at all of them.
func TestReport41_WriteRegionMovesAndTheRefreshFails(t *testing.T) {
	inWorld(t, setup{gateway: two(false)}, func(w *world) {
		w.Inject(atAccount(gateway.Rule{Status: 500, Hits: 1}))
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A B", 0)
		require.Equal(w, []string{gateway.Global, A}, w.AccountReads())
	})
	inWorld(t, setup{gateway: two(false)}, func(w *world) {
		w.Inject(gateway.Rule{Operations: []string{"account"}, Status: 503, Hits: 3})
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A A B", time.Second)
		w.expect(upsert, "200", "B", 0)
	})
}

// Azure/azure-sdk-for-js#5721: the name of a region's endpoint is not found.
// A write on a single-write account has no other place to go: once more, then
// the error.
func TestReport43_RegionalNameIsNotFound(t *testing.T) {
	lost := func(r *http.Request) error {
		if letterOfHost(r.URL.Host) != "A" || len(r.URL.Path) < 2 {
			return nil
		}
		name := r.URL.Hostname()
		return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}}
	}
	tests := []struct {
		account     gateway.Options
		call        call
		first, then string // regions of the first call and of the next
		outcome     string
	}{
		{single, read, "A B", "B", "200"},
		{single, upsert, "A A", "A A", "error"},
		{multi, read, "A B", "B", "200"},
		{multi, upsert, "A B", "B", "200"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			var down tap
			w := newWorld(t, setup{gateway: test.account, change: down.change})
			w.warm()
			down.fail = lost
			down.take()
			for _, regions := range []string{test.first, test.then} {
				start := time.Now()
				response, err := test.call(w.Context(), w.container)
				require.Equal(t, test.outcome, outcomeOf(response, err))
				require.Equal(t, regions, down.take())
				require.Zero(t, time.Since(start))
				if err != nil {
					var dns *net.DNSError
					require.ErrorAs(t, err, &dns, "the caller sees the cause")
				}
			}
		})
	}
}

// Azure/azure-sdk-for-js#35739: a region that the last answer lacks is never
// contacted again, preferred or not.
func TestReport45_StaleRegionIsNeverContacted(t *testing.T) {
	for _, preferred := range [][]string{nil, {A, B, C}} {
		inWorld(t, setup{gateway: multi, preferred: preferred}, func(w *world) {
			w.SetRegions(B, C)
			w.awaitRefresh()
			w.expect(read, "200", "B", 0)
			w.Inject(status(B, 503, 0))
			w.expect(read, "200", "B C", 0)
			w.expect(upsert, "200", "B C", 0)
			w.Inject(status(C, 503, 0))
			w.expect(read, "503", "B C", 0)
			w.expect(upsert, "503", "B C", 0)
		})
	}
}

// Azure/azure-sdk-for-rust#2292: every attempt of a write on a multi-write
// account carries the tentative-writes header, whatever the region and the
// endpoint of the client.
func TestReport47_TentativeWritesHeaderOnEveryAttempt(t *testing.T) {
	regional := gateway.New(multi).RegionEndpoint(B)
	inWorld(t, setup{gateway: multi, endpoint: regional}, func(w *world) {
		w.expect(upsert, "200", "B", 0)
		require.Equal(w, []string{"true"}, w.headers("x-ms-cosmos-allow-tentative-writes"))
	})
	inWorld(t, setup{gateway: multi, endpoint: regional, preferred: []string{B, C, A}}, func(w *world) {
		w.Inject(status(B, 503, 0))
		w.Inject(status(C, 403, 3))
		w.expect(batch, "200", "B C A", 0)
		require.Equal(w, []string{"true", "true", "true"}, w.headers("x-ms-cosmos-allow-tentative-writes"))
	})
}

// Azure/azure-sdk-for-go#26889: an account read that hangs for a minute does
// not hold a write failover up.
func TestReport49_RefreshDoesNotBlockTheFailover(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Inject(atAccount(gateway.Rule{Delay: time.Minute}))
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A B", 600*time.Millisecond)
	})
	inWorld(t, setup{gateway: multi}, func(w *world) {
		w.Inject(gateway.Rule{Operations: []string{"account"}, Kind: gateway.Hang})
		w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 403, SubStatus: 3})
		w.expect(upsert, "200", "A B", 0)
		w.Down(B)
		w.expect(read, "200", "A", 0)
		w.expect(upsert, "200", "B C", 0)
	})
}

// Azure/azure-sdk-for-java#48758: after many quiet intervals a change of the
// topology is still seen.
func TestReport51_RefreshSurvivesASteadyState(t *testing.T) {
	inWorld(t, setup{gateway: multi}, func(w *world) {
		for range 20 {
			w.ResetLog()
			w.awaitRefresh()
			require.Equal(w, []string{gateway.Global}, w.AccountReads())
		}
		w.SetRegions(C, B)
		w.awaitRefresh()
		w.expect(read, "200", "C", 0)
		w.expect(upsert, "200", "C", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#3692: one region of a multi-write account is
// taken offline; reads and writes fail over.
func TestReport53_OfflineRegionOfAMultiWriteAccount(t *testing.T) {
	inWorld(t, setup{gateway: two(true)}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
		w.expect(upsert, "200", "A B", 0)
		w.expect(batch, "200", "A B", 0)
	})
	inWorld(t, setup{gateway: two(true)}, func(w *world) {
		w.Down(A)
		w.expect(read, "200", "A B", 0)
		w.expect(upsert, "200", "A B", 0)
		w.expect(read, "200", "B", 0)
		w.expect(upsert, "200", "B", 0)
	})
}

// Azure/azure-sdk-for-go#23339: metadata writes belong to the hub on every
// account and are never sent elsewhere.
func TestReport55_MetadataWritesStayAtTheHub(t *testing.T) {
	createContainer := func(ctx context.Context, w *world) string {
		db, err := w.client.NewDatabase("db")
		require.NoError(w, err)
		r, err := db.CreateContainer(ctx, azcosmos.ContainerProperties{
			ID: "more", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
		}, nil)
		return outcomeOf(r.RawResponse, err)
	}
	options := setup{gateway: multi, preferred: []string{C, B}, policy: policy.Options{ExcludedRegions: []string{A}}}
	inWorld(t, options, func(w *world) {
		require.Equal(w, "201", createContainer(w.Context(), w))
		require.Equal(w, "A", w.contacted())
		w.ResetLog()
		w.Inject(gateway.Rule{Region: A, Operations: []string{"container/create"}, Status: 400})
		require.Equal(w, "400", createContainer(w.Context(), w))
		require.Equal(w, "A", w.contacted())
	})
	inWorld(t, options, func(w *world) {
		for range 2 { // the query, then the replace
			w.Inject(gateway.Rule{
				Operations: []string{"offer"}, Status: 200, Hits: 1,
				Body: `{"_rid":"","Offers":[{"id":"o","_rid":"o","_self":"offers/o/","offerVersion":"V2","content":{"offerThroughput":400}}],"_count":1}`,
			})
		}
		_, err := w.container.ReplaceThroughput(w.Context(), azcosmos.NewManualThroughputProperties(500), nil)
		require.NoError(w, err)
		var writes []string
		for _, e := range w.Log() {
			if e.Method == http.MethodPut {
				writes = append(writes, e.Region)
			}
		}
		require.Equal(w, []string{A}, writes)
	})
}

// Azure/azure-sdk-for-python#41848: the account turns from single-write to
// multi-write, and back, while writes are being retried. Each decision is one
// of one topology; a write is refused at worst, never lost or carried out twice.
func TestReport57_AccountChangesItsKindDuringRetries(t *testing.T) {
	inWorld(t, setup{preferred: []string{C, A}}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 403, SubStatus: 3, Hits: 1})
		w.SetMultiWrite(true)
		w.expect(upsert, "200", "A C", 0) // refused as single-write, planned anew as multi-write
	})
	latency := map[string]time.Duration{A: 7 * time.Millisecond, B: 9 * time.Millisecond, C: 11 * time.Millisecond}
	inWorld(t, setup{gateway: gateway.Options{Latency: latency}, preferred: []string{B, C, A}}, func(w *world) {
		w.Inject(gateway.Rule{Operations: []string{"write"}, Status: 403, SubStatus: 3, Probability: 0.3, Hits: 100})
		w.Inject(gateway.Rule{Operations: []string{"data"}, Status: 403, SubStatus: 1008, Probability: 0.1, Hits: 40})
		var clients sync.WaitGroup
		for i := range 8 {
			clients.Go(func() {
				for range 30 {
					got, _ := w.do(w.Context(), []call{upsert, read}[i%2])
					require.Contains(w, []string{"200", "403/3", "403/1008"}, got)
				}
			})
		}
		clients.Go(func() {
			for i := range 100 {
				w.SetMultiWrite(i%2 == 0)
				time.Sleep(50 * time.Millisecond)
			}
		})
		clients.Wait()
		require.Empty(w, w.store.Repeated())
		w.RemoveAll()
		time.Sleep(6 * time.Minute)
		w.SetMultiWrite(false)
		w.awaitRefresh()
		w.expect(upsert, "200", "A", 7*time.Millisecond)
		w.expect(read, "200", "B", 9*time.Millisecond)
	})
}

// Azure/azure-sdk-for-rust#4099: a client starts while the global endpoint is
// down; the regional names of the preferred list are tried.
func TestReport59_ColdStartWithoutTheGlobalEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{preferred: []string{C, B}})
		w.Down(gateway.Global)
		start := time.Now()
		require.Equal(t, "201", outcomeOf(create(t.Context(), w.container)))
		require.Zero(t, time.Since(start))
		require.Equal(t, []string{gateway.Global, C}, w.AccountReads())
		w.expect(read, "404", "C", 0)
	})
}

// dapr/components-contrib#1329: account and ranges reads that are throttled
// wait as long as the service says.
func TestReport61_ThrottledMetadataHonoursRetryAfter(t *testing.T) {
	throttled := func(operation string) gateway.Rule {
		return gateway.Rule{
			Operations: []string{operation}, Status: 429, SubStatus: 3200, Hits: 2,
			Header: map[string]string{"x-ms-retry-after-ms": "250"},
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{preferred: []string{B, C}})
		w.Inject(throttled("account"))
		start := time.Now()
		require.Equal(t, "201", outcomeOf(create(t.Context(), w.container)))
		require.Equal(t, 500*time.Millisecond, time.Since(start))
		require.Equal(t, []string{gateway.Global, gateway.Global, gateway.Global}, w.AccountReads())
	})
	inWorld(t, setup{gateway: gateway.Options{Account: "report61"}}, func(w *world) {
		w.Inject(throttled("pkranges"))
		got, took := w.do(w.Context(), changeFeed)
		require.Equal(w, "200", got)
		require.Equal(w, 500*time.Millisecond, took)
		require.Regexp(w, "^A A A", w.regionsOf("pkranges"))
		require.NotContains(w, w.contacted(), "B")
	})
}
