package policy_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// racing reports whether the race detector is on: see poolSlack.
const racing = poolSlack > 0

// noisy is an account whose first region stalls now and then, as a transport:
// the gateway would keep a log of every request. The latency of a request is
// drawn by its item's number, so that every run sees the same ones.
type noisy struct {
	requests atomic.Int64
	stall    func(n uint64) time.Duration // of the first region's n-th item
}

// latencyOf is a region's usual latency for one item: around 3 ms at home and
// 60 ms more elsewhere.
func latencyOf(r *rand.Rand, home bool) time.Duration {
	d := 2*ms + time.Duration(r.ExpFloat64()*float64(ms))
	if !home {
		d += 60 * ms
	}
	return d
}

func (p *noisy) do(r *http.Request) (*http.Response, error) {
	region := letterOfHost(r.URL.Host)
	if region == "global" {
		return instant(r)
	}
	p.requests.Add(1)
	n := itemNumber(r.URL.Path)
	random := rand.New(rand.NewPCG(n, uint64(region[0])))
	wait := latencyOf(random, region == "A")
	if region == "A" {
		wait += p.stall(n)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return instant(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func itemNumber(path string) (n uint64) {
	for _, c := range path[len("/dbs/db/colls/items/docs/"):] {
		n = 10*n + uint64(c-'0')
	}
	return n
}

// client makes a client over a transport.
func clientOver(tb testing.TB, o policy.Options, transport transportFunc) *azcosmos.ContainerClient {
	tb.Helper()
	options := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: transport}}
	ha, err := policy.New(o)
	require.NoError(tb, err)
	ha.Apply(options)
	tb.Cleanup(ha.Close)
	credential, err := azcosmos.NewKeyCredential(accountKey)
	require.NoError(tb, err)
	client, err := azcosmos.NewClientWithKey("https://acct.documents.azure.test:443/", credential, options)
	require.NoError(tb, err)
	container, err := client.NewContainer("db", "items")
	require.NoError(tb, err)
	return container
}

func decimal(n uint64) string {
	var digits []byte
	for ; n > 0 || len(digits) == 0; n /= 10 {
		digits = append(digits, byte('0'+n%10))
	}
	slices.Reverse(digits)
	return string(digits)
}

// readAll makes the reads of a test in virtual time, by several readers at
// once, and returns their times, sorted, and the number of requests.
func (p *noisy) readAll(t *testing.T, o policy.Options, reads int) (took []time.Duration, requests int64) {
	t.Helper()
	took = make([]time.Duration, reads)
	synctest.Test(t, func(t *testing.T) {
		const readers = 20
		p.requests.Store(0)
		c := clientOver(t, o, p.do)
		_, err := c.ReadItem(t.Context(), key("a"), "0", nil)
		require.NoError(t, err)
		p.requests.Store(0)
		var all sync.WaitGroup
		for reader := range readers {
			all.Go(func() {
				for i := reader; i < reads; i += readers {
					start := time.Now()
					if _, err := c.ReadItem(context.Background(), key("a"), decimal(uint64(i)), nil); err != nil {
						t.Error(err)
						return
					}
					took[i] = time.Since(start)
				}
			})
		}
		all.Wait()
		requests = p.requests.Load()
	})
	slices.Sort(took)
	return took, requests
}

func quantile(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))])
}

// TestHedgeTail: a hundred thousand reads (a tenth of them under the race
// detector), one in a hundred of which stalls for 0.2 to 2 s in the first region.
func TestHedgeTail(t *testing.T) {
	reads := 100_000
	if racing {
		reads /= 10
	}
	p := &noisy{stall: func(n uint64) time.Duration {
		if n%100 != 37 {
			return 0
		}
		return 200*ms + time.Duration(rand.New(rand.NewPCG(n, 0)).Int64N(int64(1800*ms)))
	}}
	off, plain := p.readAll(t, policy.Options{Hedge: hedge.Options{Disabled: true}}, reads)
	require.EqualValues(t, reads, plain)
	for _, test := range []struct {
		threshold time.Duration
		lower     float64
	}{{500 * ms, 3}, {100 * ms, 10}} {
		on, requests := p.readAll(t, hedgedAt(test.threshold), reads)
		lower := quantile(off, 0.999) / quantile(on, 0.999)
		extra := float64(requests-plain) / float64(reads)
		t.Logf("threshold %v: p99.9 %.0f ms -> %.0f ms, %.1f times lower; p99.99 %.0f ms -> %.0f ms; %.2f %% extra requests",
			test.threshold, quantile(off, 0.999)/1e6, quantile(on, 0.999)/1e6, lower,
			quantile(off, 0.9999)/1e6, quantile(on, 0.9999)/1e6, 100*extra)
		require.GreaterOrEqual(t, lower, test.lower)
		require.LessOrEqual(t, extra, 0.011)
		require.InEpsilon(t, quantile(off, 0.5), quantile(on, 0.5), 0.01)
		require.InEpsilon(t, quantile(off, 0.99), quantile(on, 0.99), 0.01)
	}
}

// TestHedgeHangingRegion: while a region hangs, every read is done within the
// threshold and the other region's latency, from the first one on; after five
// wins the breaker opens it, and reads take the other region's latency only.
func TestHedgeHangingRegion(t *testing.T) {
	s := setup{policy: hedgedAt(200 * ms), hedged: true, gateway: gateway.Options{Latency: map[string]time.Duration{B: 60 * ms}}}
	inWorld(t, s, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		for range 5 {
			w.expect(read, "200", "A B", 260*ms)
		}
		for range 50 {
			w.expect(read, "200", "B", 60*ms)
		}
	})
}

// TestHedgeHangingRegionConcurrently: the same for many at once.
func TestHedgeHangingRegionConcurrently(t *testing.T) {
	s := setup{policy: hedgedAt(200 * ms), hedged: true, gateway: gateway.Options{Latency: map[string]time.Duration{B: 60 * ms}}}
	inWorld(t, s, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		var all sync.WaitGroup
		var again atomic.Int64 // second reads that began before the fifth win was told
		for range 60 {
			all.Go(func() {
				for i := range 5 {
					got, took := w.do(w.Context(), read)
					if i == 1 && took == 260*ms {
						again.Add(1)
						took = 60 * ms
					}
					if want := map[bool]time.Duration{true: 260 * ms, false: 60 * ms}[i == 0]; got != "200" || took != want {
						t.Errorf("read %d: %s after %v", i, got, took)
					}
				}
			})
		}
		all.Wait()
		require.Less(w, again.Load(), int64(5))
	})
}
