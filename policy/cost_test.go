package policy_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

const accountJSON = `{"id":"acct","writableLocations":[{"name":"North Central US","databaseAccountEndpoint":"https://acct-northcentralus.documents.azure.test:443/"}],
"readableLocations":[{"name":"North Central US","databaseAccountEndpoint":"https://acct-northcentralus.documents.azure.test:443/"},
{"name":"West US","databaseAccountEndpoint":"https://acct-westus.documents.azure.test:443/"},
{"name":"Central US","databaseAccountEndpoint":"https://acct-centralus.documents.azure.test:443/"}],
"enableMultipleWriteLocations":false}`

// instant answers at once: what is left is the cost of the client.
func instant(r *http.Request) (*http.Response, error) {
	content := []byte(`{"id":"1","pk":"a"}`)
	if r.URL.Path == "" || r.URL.Path == "/" {
		content = []byte(accountJSON)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Ms-Request-Charge": {"1"}},
		Body:   io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)),
	}, nil
}

// instantClient reads an item over the instant transport.
func instantClient(tb testing.TB, o *policy.Options) *azcosmos.ContainerClient {
	tb.Helper()
	options := &azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{Transport: transportFunc(instant)},
		PreferredRegions: []string{A, B, C},
	}
	if o != nil {
		ha, err := policy.New(*o)
		require.NoError(tb, err)
		ha.Apply(options)
		tb.Cleanup(ha.Close)
	}
	credential, err := azcosmos.NewKeyCredential(accountKey)
	require.NoError(tb, err)
	client, err := azcosmos.NewClientWithKey("https://acct.documents.azure.test:443/", credential, options)
	require.NoError(tb, err)
	container, err := client.NewContainer("db", "items")
	require.NoError(tb, err)
	return container
}

func readOnce(tb testing.TB, c *azcosmos.ContainerClient) {
	if _, err := c.ReadItem(context.Background(), key("a"), "1", nil); err != nil {
		tb.Fatal(err)
	}
}

// TestHealthyAllocations: what both policies allocate is azcore's two hops, and, of
// a request with a body, the guard of that and the function that reads it again.
// What armed hedging adds is in TestHedgeAllocations.
func TestHealthyAllocations(t *testing.T) {
	plain, ours := instantClient(t, nil), instantClient(t, &unhedged)
	for _, test := range []struct {
		name string
		do   doOnce
		more float64
	}{{"ReadItem", readOnce, 2}, {"UpsertItem", upsertOnce, 4}, {"query", queryOnce, 4}} {
		without := testing.AllocsPerRun(500, func() { test.do(t, plain) })
		with := testing.AllocsPerRun(500, func() { test.do(t, ours) })
		t.Logf("%s: %.0f allocations plain, %.0f with our policies", test.name, without, with)
		require.LessOrEqual(t, with-without, test.more+poolSlack, test.name)
	}
}

// doOnce is one operation that has to succeed.
type doOnce func(testing.TB, *azcosmos.ContainerClient)

func upsertOnce(tb testing.TB, c *azcosmos.ContainerClient) {
	if _, err := upsert(context.Background(), c); err != nil {
		tb.Fatal(err)
	}
}

func queryOnce(tb testing.TB, c *azcosmos.ContainerClient) {
	if _, err := query(context.Background(), c); err != nil {
		tb.Fatal(err)
	}
}

var unhedged = policy.Options{Hedge: hedge.Options{Disabled: true}}

// BenchmarkReadItem measures what a healthy ReadItem costs with our policies, in
// per cent of what it costs with azcosmos alone. See [benchmarkOver].
func BenchmarkReadItem(b *testing.B) { benchmarkOver(b, unhedged, readOnce) }

// BenchmarkUpsertItem is [BenchmarkReadItem] of an UpsertItem.
func BenchmarkUpsertItem(b *testing.B) { benchmarkOver(b, unhedged, upsertOnce) }

// BenchmarkQuery is [BenchmarkReadItem] of a query of one page.
func BenchmarkQuery(b *testing.B) { benchmarkOver(b, unhedged, queryOnce) }

// benchmarkOver measures an operation in paired rounds of one process: azcosmos
// alone, ours, and azcosmos alone once more, whose figure is the noise. A round is
// one operation of each there, in an order of its own, and one back: whatever
// slows the machine down falls on all of them. The garbage collector, which would
// strike by chance, runs between rounds. Reported are the medians of the ratios;
// what the collector adds is in integration/bench.
func benchmarkOver(b *testing.B, o policy.Options, do doOnce) {
	const rounds = 500 // between two collections: some 60 MB of garbage
	clients := []*azcosmos.ContainerClient{instantClient(b, nil), instantClient(b, &o), instantClient(b, nil)}
	for _, c := range clients {
		for range 200 {
			do(b, c)
		}
	}
	order := rand.New(rand.NewPCG(1, 2))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var plain, over, noise []float64
	for b.Loop() {
		runtime.GC()
		for range rounds {
			took := thereAndBack(b, clients, do, order.Perm(len(clients)))
			plain = append(plain, took[0]/2)
			over = append(over, 100*(took[1]/took[0]-1))
			noise = append(noise, 100*(took[2]/took[0]-1))
		}
	}
	b.ReportMetric(median(over), "%-over-plain")
	b.ReportMetric(median(noise), "%-noise")
	b.ReportMetric(median(plain), "ns/plain")
	b.ReportMetric(0, "ns/op")
}

// thereAndBack lets each client do it twice, in the order and in the reverse one,
// and returns the nanoseconds that each took.
func thereAndBack(b *testing.B, clients []*azcosmos.ContainerClient, do doOnce, order []int) []float64 {
	took := make([]float64, len(clients))
	for step := range 2 * len(order) {
		i := order[min(step, 2*len(order)-1-step)]
		start := time.Now()
		do(b, clients[i])
		took[i] += float64(time.Since(start))
	}
	return took
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkReadItemPlain and the others that end in Plain and Ours are for profiles.
func BenchmarkReadItemPlain(b *testing.B) { benchmarkOne(b, instantClient(b, nil), readOnce) }

// BenchmarkReadItemOurs is the same with our policies.
func BenchmarkReadItemOurs(b *testing.B) { benchmarkOne(b, instantClient(b, &unhedged), readOnce) }

// BenchmarkUpsertItemPlain is a write.
func BenchmarkUpsertItemPlain(b *testing.B) { benchmarkOne(b, instantClient(b, nil), upsertOnce) }

// BenchmarkUpsertItemOurs is a write with our policies.
func BenchmarkUpsertItemOurs(b *testing.B) { benchmarkOne(b, instantClient(b, &unhedged), upsertOnce) }

func benchmarkOne(b *testing.B, c *azcosmos.ContainerClient, do doOnce) {
	b.ReportAllocs()
	for b.Loop() {
		do(b, c)
	}
}
