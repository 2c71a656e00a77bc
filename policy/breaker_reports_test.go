package policy_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// Azure/azure-sdk-for-rust#4610, #4590: failing back on a timer sent live
// traffic to a region that was still sick. One of a hundred concurrent requests
// is copied to it; when that fails, the others stay away, for twice as long.
func TestReport99_FailBackByOneProbe(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		w.sick(A)
		w.open(readKey, 10)
		time.Sleep(openAtMost)
		require.Equal(w, 1, w.together(100, readKey))
		require.Zero(w, w.together(100, readKey))
		time.Sleep(59 * time.Second)
		require.Zero(w, w.together(100, readKey))
		time.Sleep(17 * time.Second)
		require.Equal(w, 1, w.together(100, readKey))
	})
}

// Azure/azure-sdk-for-python#46328: a write region that answers 403/3 on a
// multi-write account counts towards opening; reads of a single-write account
// never meet it.
func TestReport101_WriteForbiddenCounts(t *testing.T) {
	s := setup{gateway: multi}
	s.policy.Breaker.WriteFailures = 2
	inCircuit(t, s, func(w *circuitWorld) {
		w.times(1, upsertKey, w.container, w.p1)
		w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 403, SubStatus: 3})
		require.Equal(w, "A B", w.times(1, upsertKey, w.container, w.p1))
		require.Equal(w, []string{"A write HealthyWithFailures"}, w.unwell())
		time.Sleep(30 * time.Second) // the mark of the region lets one write through
		require.Equal(w, "A B", w.times(1, upsertKey, w.container, w.p1))
		require.Equal(w, []string{"A write Unavailable"}, w.unwell())
		require.Equal(w, "A A", w.times(2, readKey, w.container, w.p1))
	})
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.SetWriteRegion(B)
		_, contacted := w.ask(w.Context(), 10, upsertKey)
		require.Equal(w, "A "+repeat("B", 10), contacted)
		require.Equal(w, repeat("A", 10), w.times(10, readKey, w.container, w.p1))
		require.Empty(w, w.unwell())
	})
}

// Azure/azure-sdk-for-java#46968: whatever is odd about the partition, the
// breaker never fails the caller's request.
func TestReport103_BreakerNeverFailsARequest(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.ha.Bind(w.client)
		w.Inject(gateway.Rule{Operations: []string{"pkranges", "container/read"}, Status: 200, Body: `{"PartitionKeyRanges":null}`})
		odd := map[string]string{"x-ms-documentdb-partitionkeyrangeid": "no range of ours"}
		w.Inject(gateway.Rule{Region: A, Container: "items", Status: 503, Header: odd})
		require.Equal(w, repeat("A B", 11)+" B", w.times(12, readKey, w.container, w.p1), "one was counted for the odd range")
		for _, pk := range []azcosmos.PartitionKey{key("\U0001f600"), azcosmos.NewPartitionKey(), key("a").AppendString("b")} {
			require.NotEmpty(w, w.times(12, oddKey(pk), w.container, ""))
		}
	})
}

// Azure/azure-cosmos-dotnet-v3#5778: the loop that failed back leaked after the
// client was gone. There is no loop: nothing runs while nothing is asked, and
// Close ends what a request has started.
func TestReport105_NothingRunsInTheBackground(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		before := started()
		w.ResetLog()
		time.Sleep(24 * time.Hour)
		require.Empty(w, w.Log())
		require.LessOrEqual(w, started(), before)
	})
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
		require.Equal(w, 1, w.together(1, readKey))
		w.ha.Close()
		synctest.Wait()
		require.Zero(w, w.inFlight()) // and the bubble would not end with a goroutine left
	})
}

// Azure/azure-sdk-for-rust#4156: which codes count. All 5xx do but 501 and 505.
func TestReport107_CodesThatCount(t *testing.T) {
	for status, counts := range map[int]bool{
		408: true, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false, 507: true, 511: true, 599: true,
		400: false, 404: false, 409: false, 412: false, 429: false, 449: false,
	} {
		inCircuit(t, setup{}, func(w *circuitWorld) {
			w.times(1, readKey, w.container, w.p1)
			header := map[string]string{"x-ms-retry-after-ms": "0"}
			w.Inject(gateway.Rule{Region: A, Container: "items", Status: status, Header: header})
			w.ask(w.Context(), 10, readKey)
			want := []string{}
			if counts {
				want = []string{"A read Unavailable"}
			}
			require.Equal(w, want, w.unwell(), "%d", status)
		})
	}
}

// Azure/azure-sdk-for-java#43677: one partition is out in one region of a
// multi-write account, the endpoint answers: the others stay where they were.
func TestReport109_PartialOutageOnMultiWrite(t *testing.T) {
	inCircuit(t, setup{gateway: gateway.Options{MultiWrite: true, Ranges: 8}}, func(w *circuitWorld) {
		keys := map[string]string{}
		for i := 'a'; len(keys) < 8; i++ {
			if pk := string(i); keys[w.rangeOf(pk)] == "" {
				keys[w.rangeOf(pk)] = pk
				_, err := upsertKey(w.Context(), w.container, pk)
				require.NoError(w, err)
			}
		}
		w.sick(A)
		w.open(readKey, 10)
		w.open(upsertKey, 5)
		for id, pk := range keys {
			want := "A A"
			if id == w.rangeOf(w.p1) {
				want = "B B"
			}
			require.Equal(w, want, w.times(2, readKey, w.container, pk))
			require.Equal(w, want, w.times(2, upsertKey, w.container, pk))
		}
	})
}

// The Java SDK's page says multi-write only, its code (Azure/azure-sdk-for-java
// #44099) reads of single-write accounts too: rows of the acceptance tables
// with an opened region.
func TestReport111_SingleWriteReads(t *testing.T) {
	tests := []struct {
		preferred, excluded []string
		opened              string
		contacted           string // with every region answering 503
	}{
		{[]string{A, B, C}, nil, B, "A C"},
		{[]string{B, A}, nil, B, "A B"},
		{[]string{B}, nil, B, "A"},
		{nil, nil, A, "B C"},
		{[]string{A, B, C}, []string{C}, B, "A B"},
	}
	for _, test := range tests {
		inCircuit(t, setup{preferred: test.preferred}, func(w *circuitWorld) {
			w.times(1, readKey, w.container, w.p1)
			others := []string{}
			for _, r := range []string{A, B, C} {
				if r != test.opened {
					others = append(others, r)
				}
			}
			fault := w.sick(test.opened)
			w.ask(regions.WithExcluded(w.Context(), others...), 10, readKey)
			fault.Remove()
			w.Inject(gateway.Rule{Container: "items", Status: 503})
			_, contacted := w.ask(regions.WithExcluded(w.Context(), test.excluded...), 1, readKey)
			require.Equal(w, test.contacted, contacted, "%v without %v, %s opened", test.preferred, test.excluded, test.opened)
		})
	}
}

// The Rust SDK's specification of failover, on exhaustion: with every region
// opened at least one is tried, the first one first.
func TestReport113_EveryRegionOpened(t *testing.T) {
	for _, multiWrite := range []bool{false, true} {
		inCircuit(t, setup{gateway: gateway.Options{MultiWrite: multiWrite}}, func(w *circuitWorld) {
			w.times(1, readKey, w.container, w.p1)
			fault := w.Inject(gateway.Rule{Container: "items", Range: w.rangeOf(w.p1), Status: 503})
			w.ask(w.Context(), 10, readKey)
			require.Len(w, w.unwell(), 3)
			_, contacted := w.ask(w.Context(), 1, readKey)
			require.True(w, strings.HasPrefix(contacted, "A"), contacted)
			fault.Remove()
			require.Equal(w, "A", w.times(1, readKey, w.container, w.p1))
			require.Len(w, w.unwell(), 3, "one answer of a last resort forgets nothing")
		})
	}
}

// TestBreakerAllocations: while nothing is unwell, a read with the breaker
// allocates what a read without it does; the same with a range map in use.
func TestBreakerAllocations(t *testing.T) {
	with := instantClient(t, &policy.Options{})
	without := instantClient(t, &policy.Options{Breaker: breaker.Options{Disabled: true}})
	readOnce(t, with)
	readOnce(t, without)
	off, on := leastAllocs(func() { readOnce(t, without) }), leastAllocs(func() { readOnce(t, with) })
	require.InDelta(t, off, on, poolSlack)
}

// leastAllocs is the least of several measurements: a pool that the garbage
// collector has emptied meanwhile adds to some.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(200, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(200, f))
	}
	return least
}

// TestBreakerAllocationsBound: nor does a bound client's read.
func TestBreakerAllocationsBound(t *testing.T) {
	inCircuit(t, setup{change: instantReads}, func(w *circuitWorld) {
		measure := func() float64 {
			return leastAllocs(func() {
				if _, err := w.container.ReadItem(w.Context(), key(w.p1), "1", nil); err != nil {
					t.Fatal(err)
				}
			})
		}
		unbound := measure()
		w.bound()
		require.InDelta(w, unbound, measure(), poolSlack)
	})
}

// instantReads answers reads of items at once, so that only the client's
// allocations are left; the gateway answers the rest.
func instantReads(o *azcosmos.ClientOptions) {
	next := o.Transport
	o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/docs/") {
			return instant(r)
		}
		return next.Do(r)
	})
}
