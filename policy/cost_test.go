package policy_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
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

// TestHealthyAllocations: a read through both policies costs at most 8
// allocations more than plain azcosmos, of which two are azcore's own hops.
// What armed hedging adds is in TestHedgeAllocations.
func TestHealthyAllocations(t *testing.T) {
	plain, ours := instantClient(t, nil), instantClient(t, &policy.Options{Hedge: hedge.Options{Disabled: true}})
	readOnce(t, plain)
	readOnce(t, ours)
	without := testing.AllocsPerRun(500, func() { readOnce(t, plain) })
	with := testing.AllocsPerRun(500, func() { readOnce(t, ours) })
	t.Logf("ReadItem: %.0f allocations plain, %.0f with our policies", without, with)
	require.LessOrEqual(t, with-without, 8.0)
}

// BenchmarkReadItem measures a healthy ReadItem with and without our policies
// in alternating rounds of one process, and reports the median ratio: the
// machine's noise falls on both.
func BenchmarkReadItem(b *testing.B) {
	plain, ours := instantClient(b, nil), instantClient(b, &policy.Options{Hedge: hedge.Options{Disabled: true}})
	round := func(c *azcosmos.ContainerClient) time.Duration {
		start := time.Now()
		for range 400 {
			readOnce(b, c)
		}
		return time.Since(start)
	}
	round(plain)
	round(ours)
	var ratios []float64
	var total time.Duration
	for b.Loop() {
		// The order alternates inside a pair too.
		p1, o1 := round(plain), round(ours)
		o2, p2 := round(ours), round(plain)
		ratios = append(ratios, float64(o1+o2)/float64(p1+p2))
		total += p1 + p2
	}
	slices.Sort(ratios)
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "%-over-plain")
	b.ReportMetric(float64(total.Nanoseconds())/float64(len(ratios)*800), "ns/plain-read")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReadItemPlain and BenchmarkReadItemOurs are for profiles.
func BenchmarkReadItemPlain(b *testing.B) { benchmarkReads(b, instantClient(b, nil)) }

// BenchmarkReadItemOurs is the same with our policies.
func BenchmarkReadItemOurs(b *testing.B) {
	benchmarkReads(b, instantClient(b, &policy.Options{Hedge: hedge.Options{Disabled: true}}))
}

func benchmarkReads(b *testing.B, c *azcosmos.ContainerClient) {
	b.ReportAllocs()
	for b.Loop() {
		readOnce(b, c)
	}
}
