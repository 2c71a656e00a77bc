package policy_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// The tests named TestReport are numbered after a collection of public reports
// against the Cosmos DB SDKs; each names its thread. SW3 and MW3 are the
// single- and multi-write accounts with the regions A, B and C.
var (
	single = gateway.Options{}
	multi  = gateway.Options{MultiWrite: true}
)

// noBreaker is for tests that let a region fail often: its circuit breaker
// would take the region out of the list, which is not what they are about.
var noBreaker = policy.Options{Breaker: breaker.Options{Disabled: true}}

// two is an account with the regions A and B.
func two(multiWrite bool) gateway.Options {
	return gateway.Options{Regions: []string{A, B}, MultiWrite: multiWrite}
}

func replace(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.ReplaceItem(ctx, key("a"), "1", item("1", "a", 2), nil)
	return r.RawResponse, err
}

func patch(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	var p azcosmos.PatchOperations
	p.AppendSet("/n", 3)
	r, err := c.PatchItem(ctx, key("a"), "1", p, nil)
	return r.RawResponse, err
}

func remove(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.DeleteItem(ctx, key("a"), "1", nil)
	return r.RawResponse, err
}

func batch(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	b := c.NewTransactionalBatch(key("a"))
	b.UpsertItem(item("1", "a", 4), nil)
	b.UpsertItem(item("2", "a", 4), nil)
	r, err := c.ExecuteTransactionalBatch(ctx, b, nil)
	return r.RawResponse, err
}

// readMany reads the container, its ranges (both once per account) and a page.
// azcosmos keeps the raw response to itself, so success is told by an answer of our own.
func readMany(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	_, err := c.ReadManyItems(ctx, []azcosmos.ItemIdentity{{ID: "1", PartitionKey: key("a")}}, nil)
	return &http.Response{StatusCode: http.StatusOK}, err
}

// changeFeed reads the ranges (once per account) and a page.
func changeFeed(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	_, err := c.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}})
	return &http.Response{StatusCode: http.StatusOK}, err
}

// readWith is a read with a session token.
func readWith(token string) call {
	return func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		r, err := c.ReadItem(ctx, key("a"), "1", &azcosmos.ItemOptions{SessionToken: &token})
		return r.RawResponse, err
	}
}

// named is a call with its name.
type named struct {
	name string
	call call
}

// itemReads and itemWrites are every operation on items that azcosmos has.
// Those on ranges need an account of their own: azcosmos remembers the
// containers and ranges of an account for the whole process.
var (
	itemReads  = []named{{"read", read}, {"query", query}, {"readMany", readMany}, {"changeFeed", changeFeed}}
	itemWrites = []named{{"create", create}, {"upsert", upsert}, {"replace", replace}, {"patch", patch}, {"batch", batch}, {"delete", remove}}
)

// alone is a call without hedges, for tests of the walk that take long.
func alone(c call) call {
	return func(ctx context.Context, container *azcosmos.ContainerClient) (*http.Response, error) {
		return c(hedge.Off(ctx), container)
	}
}

// data is the regions of the requests on items, as letters.
func (w *world) data() string { return lettersOf(w.Regions(nil)) }

// regionsOf is the regions of one operation, as letters.
func (w *world) regionsOf(operation string) string {
	return lettersOf(w.Regions(func(e gateway.Entry) bool { return e.Operation == operation }))
}

func lettersOf(regions []string) string {
	letters := strings.NewReplacer(A, "A", B, "B", C, "C", gateway.Global, "global")
	return letters.Replace(strings.Join(regions, " "))
}

// headers is one header of all logged requests on items, in order.
func (w *world) headers(name string) []string {
	var list []string
	for _, e := range w.Log() {
		if e.Operation != "account" {
			list = append(list, e.Header.Get(name))
		}
	}
	return list
}

// awaitRefresh lets azcosmos's own refresh of the account happen: it is due
// after five minutes, at the next request.
func (w *world) awaitRefresh() {
	time.Sleep(6 * time.Minute)
	_, _ = w.do(w.Context(), read)
	synctest.Wait()
}

// everyEntry requires something of every logged request on items.
func (w *world) everyEntry(check func(gateway.Entry) bool, what string) {
	w.Helper()
	entries := w.Log()
	require.NotEmpty(w, entries)
	for _, e := range entries {
		if e.Operation != "account" {
			require.True(w, check(e), "%s: %s %s at %s", what, e.Method, e.Path, e.Host)
		}
	}
}

// tap stands before a transport: it sees every request that is sent, in order,
// and may fail one before it goes out.
type tap struct {
	fail func(*http.Request) error // nil, or nil as its result: pass on

	mutex   sync.Mutex // guards what follows
	regions []string
}

// change puts the tap before the transport of a client's options.
func (p *tap) change(o *azcosmos.ClientOptions) {
	next := o.Transport
	o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) { return p.do(next, r) })
}

func (p *tap) do(next azpolicy.Transporter, r *http.Request) (*http.Response, error) {
	if r.URL.Path != "" && r.URL.Path != "/" {
		p.mutex.Lock()
		p.regions = append(p.regions, letterOfHost(r.URL.Host))
		p.mutex.Unlock()
	}
	if p.fail != nil {
		if err := p.fail(r); err != nil {
			return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: err}
		}
	}
	return next.Do(r)
}

// take returns what was seen since the last time.
func (p *tap) take() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	seen := strings.Join(p.regions, " ")
	p.regions = nil
	return seen
}

// letterOfHost is the region that a host belongs to.
func letterOfHost(host string) string {
	for region, letter := range map[string]string{"northcentralus": "A", "westus": "B", "centralus": "C"} {
		if strings.Contains(host, "-"+region+".") {
			return letter
		}
	}
	return "global"
}
