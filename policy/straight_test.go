package policy_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// between runs a function once, between PerCall and PerRetry of the next read of
// an item: what the two policies see of the world differs then.
type between struct{ do func() }

func (b *between) Do(req *azpolicy.Request) (*http.Response, error) {
	if do := b.do; do != nil && req.Raw().Method == http.MethodGet {
		b.do = nil
		do()
	}
	return req.Next()
}

// withBetween puts the policy in front of PerRetry.
func withBetween(b *between, s setup) setup {
	s.change = func(o *azcosmos.ClientOptions) { o.PerRetryPolicies = append(o.PerRetryPolicies, b) }
	return s
}

// TestChangeBetweenThePolicies: a read that PerCall let go without an operation
// is routed by what PerRetry sees, once, and the next one as ever.
func TestChangeBetweenThePolicies(t *testing.T) {
	for _, hedged := range []bool{false, true} {
		var b between
		inWorld(t, withBetween(&b, setup{hedged: hedged}), func(w *world) {
			b.do = func() { w.ha.SetExcludedRegions(A) }
			w.expect(read, "200", "B", 0)
			b.do = func() { w.ha.SetExcludedRegions() }
			w.expect(read, "200", "A", 0)
			b.do = func() { // a write marks A: reads are to pass it
				w.Down(A)
				_, err := read(w.Context(), w.container)
				require.NoError(w, err)
				w.Up(A)
			}
			w.expect(read, "200", "A B B", 0) // the first two are the inner one's
			w.expect(read, "200", "B", 0)
			pass(regions.MarkFor)
			w.expect(read, "200", "A", 0)
		})
	}
}

// TestRecordedAndNot: what is recorded does not depend on what other operations
// have recorded.
func TestRecordedAndNot(t *testing.T) {
	inWorld(t, setup{hedged: true}, func(w *world) {
		for range 2 {
			w.expect(read, "200", "A", 0)
			ctx, record := telemetry.Record(w.Context())
			w.expectWith(ctx, read, "200", "A", 0)
			require.Equal(w, []string{A}, record.Contacted())
		}
	})
}

// TestProviderInstalledLate: a provider that is installed after the account was read
// is noticed by requests about items within a second, and by everything else at once.
func TestProviderInstalledLate(t *testing.T) {
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	for name, first := range map[string]call{"read": read, "query": query, "upsert": upsert, "change feed": changeFeed} {
		otel.SetTracerProvider(noop.NewTracerProvider())
		exporter := tracetest.NewInMemoryExporter()
		inWorld(t, setup{hedged: true}, func(w *world) {
			w.expect(read, "200", "A", 0)
			otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
			if name != "change feed" {
				pass(time.Second)
				w.expect(first, "200", "A", 0) // which finds it
				require.Empty(w, exporter.GetSpans())
				exporter.Reset()
			}
			got, _ := w.do(w.Context(), first)
			require.Equal(w, "200", got, name)
			require.NotEmpty(w, exporter.GetSpans(), name)
		})
	}
}

// TestThrottledOnce: azcore repeats a 429 of a read that went straight. The
// repetition is a pass of the same operation, and what was kept for it is gone.
func TestThrottledOnce(t *testing.T) {
	for _, hedged := range []bool{false, true} {
		inWorld(t, setup{hedged: hedged}, func(w *world) {
			w.Inject(gateway.Rule{Region: A, Status: 429, SubStatus: 3200, Hits: 2, Header: map[string]string{"x-ms-retry-after-ms": "10"}})
			if hedged {
				w.expect(read, "200", "A B", 0) // a 429 starts the hedge at once
				w.expect(read, "200", "A B", 0)
			} else {
				w.expect(read, "200", "A A A", 20*time.Millisecond)
			}
			w.expect(read, "200", "A", 0)
		})
	}
}

// TestReadsOfOddItems: ids that have to be escaped, and paths that are no item's.
func TestReadsOfOddItems(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		for _, id := range []string{"a b", "ü", "100%", "a+b", "?", "#"} {
			_, err := w.container.CreateItem(w.Context(), key("a"), item(id, "a", 0), nil)
			require.NoError(w, err, id)
			w.Inject(gateway.Rule{Region: A, Operations: []string{"read"}, Status: 503, Hits: 1})
			w.ResetLog()
			_, err = w.container.ReadItem(w.Context(), key("a"), id, nil)
			require.NoError(w, err, id)
			require.Equal(w, "A B", w.contacted(), id)
		}
	})
}

// TestTwoEndpointsOfOneClientOption: options that serve two clients have no only
// endpoint; each read goes by its own.
func TestTwoEndpointsOfOneClientOption(t *testing.T) {
	var options *azcosmos.ClientOptions
	s := setup{gateway: gateway.Options{MultiWrite: true}}
	s.change = func(o *azcosmos.ClientOptions) { options = o }
	inWorld(t, s, func(w *world) {
		w.expect(read, "200", "A", 0)
		container := w.secondClient(options)
		for range 2 {
			w.ResetLog()
			_, err := read(w.Context(), container)
			require.NoError(w, err)
			require.Equal(w, "C", w.contacted(), "a regional endpoint keeps its region")
			w.expect(read, "200", "A", 0)
		}
	})
}

// TestSecondClientBetween: a second client of the same options reads its account
// while a read of the first one is between the two policies. The read keeps its
// walk, as a recorded one does.
func TestSecondClientBetween(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		var b between
		var options *azcosmos.ClientOptions
		s := withBetween(&b, setup{gateway: gateway.Options{MultiWrite: true}})
		inner := s.change
		s.change = func(o *azcosmos.ClientOptions) {
			inner(o)
			options = o
		}
		inWorld(t, s, func(w *world) {
			w.expect(read, "200", "A", 0)
			b.do = func() {
				_, err := read(w.Context(), w.secondClient(options))
				require.NoError(w, err)
				w.Inject(gateway.Rule{Region: A, Status: 500, Hits: 1})
				w.ResetLog()
			}
			ctx := w.Context()
			if recorded {
				ctx, _ = telemetry.Record(ctx)
			}
			w.expectWith(ctx, read, "200", "A B", 0)
		})
	}
}

// secondClient is a client of the account in C, with options that another has.
func (w *world) secondClient(options *azcosmos.ClientOptions) *azcosmos.ContainerClient {
	credential, err := azcosmos.NewKeyCredential(accountKey)
	require.NoError(w, err)
	client, err := azcosmos.NewClientWithKey(w.RegionEndpoint(C), credential, options)
	require.NoError(w, err)
	w.Cleanup(client.Close)
	container, err := client.NewContainer("db", "items")
	require.NoError(w, err)
	return container
}

// TestHedgesAreNotRepeated: whatever answer azcore repeats because the client's
// options say so, its hedges are not repeated with it, recorded or not.
func TestHedgesAreNotRepeated(t *testing.T) {
	for _, code := range [][2]int{{429, 3200}, {410, 1002}, {404, 0}, {449, 0}} {
		var seen []string
		for _, recorded := range []bool{true, false} {
			s := setup{hedged: true, policy: policy.Options{Hedge: hedge.Options{Threshold: 10 * time.Millisecond, MaxHedges: 1}}}
			s.change = func(o *azcosmos.ClientOptions) {
				o.Retry.StatusCodes = []int{code[0]}
				o.Retry.MaxRetries = 2
				o.Retry.RetryDelay, o.Retry.MaxRetryDelay = time.Millisecond, time.Millisecond
			}
			inWorld(t, s, func(w *world) {
				w.Inject(gateway.Rule{Status: code[0], SubStatus: code[1], Delay: 20 * time.Millisecond})
				ctx := w.Context()
				if recorded {
					ctx, _ = telemetry.Record(ctx)
				}
				w.do(ctx, read)
				seen = append(seen, w.contacted())
				w.RemoveAll()
				w.expect(read, "200", "A", 0)
			})
		}
		require.Equal(t, seen[0], seen[1], code)
		require.Equal(t, 1, strings.Count(seen[0], "B"), code)
	}
}

// TestNoProbeBesideALeg: what begins on the alarm's goroutine, beside the leg in
// flight, starts no probe: it would copy a request that others write to. The next
// read starts it.
func TestNoProbeBesideALeg(t *testing.T) {
	s := setup{hedged: true}
	s.policy.Hedge.Threshold = time.Second
	s.policy.Breaker = breaker.Options{OpenFor: 100 * time.Millisecond}.WithoutJitter()
	s.gateway.Ranges = 2
	inCircuit(t, s, func(w *circuitWorld) {
		w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang, Hits: 1})
		var slow sync.WaitGroup
		slow.Go(func() { _, _ = readKey(w.Context(), w.container, w.p1) })
		synctest.Wait()
		w.Inject(gateway.Rule{Region: A, Container: "items", Status: 503, Hits: 10})
		w.times(10, readKey, w.container, w.p1)
		w.ResetLog()
		slow.Wait()
		require.Equal(w, "B", w.data(), "the hedge, and no probe of A")
		w.times(1, readKey, w.container, w.p1)
		synctest.Wait()
		require.Contains(w, w.data(), "A", "the probe")
	})
}

// TestDeadlineBeforeTheThreshold: such a read is not hedged; one with more time is.
func TestDeadlineBeforeTheThreshold(t *testing.T) {
	s := setup{hedged: true, policy: policy.Options{Hedge: hedge.Options{Threshold: time.Second}}}
	inWorld(t, s, func(w *world) {
		for _, c := range []struct {
			deadline      time.Duration
			outcome, seen string
			took          time.Duration
		}{
			{time.Second, "deadline", "A", time.Second},
			{time.Second + 1, "200", "A B", time.Second},
		} {
			w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang, Hits: 1})
			ctx, cancel := context.WithTimeout(w.Context(), c.deadline)
			w.expectWith(ctx, read, c.outcome, c.seen, c.took)
			cancel()
		}
	})
}
