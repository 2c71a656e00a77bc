package policy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// The regions of the tests' accounts, in the service's order; A is the hub.
const (
	A = "North Central US"
	B = "West US"
	C = "Central US"
)

// accountKey is the emulators' well-known key.
const accountKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// setup is what a world is made of. The zero value is a single-write account
// with three regions, a client on its global endpoint, and no preferences.
type setup struct {
	gateway   gateway.Options
	policy    policy.Options
	preferred []string // of the azcosmos client
	endpoint  string   // of the azcosmos client; default: the global one
	plain     bool     // without our policies
	hedged    bool     // with hedging; most tests are about the walk alone
	change    func(*azcosmos.ClientOptions)
}

// world is an account behind the in-memory gateway and an azcosmos client with
// our policies, in a synctest bubble: its time is virtual.
type world struct {
	*testing.T
	*gateway.Gateway
	store     *gateway.Store
	ha        *policy.Middleware
	client    *azcosmos.Client
	container *azcosmos.ContainerClient
}

// inWorld runs a test in a world of its own. The container "items" (partition
// key /pk) holds the item "1" of partition "a"; the log starts empty, after
// the first account read.
func inWorld(t *testing.T, s setup, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		w.warm()
		test(w)
	})
}

// newWorld makes a world whose client has sent nothing yet.
func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{T: t, store: gateway.NewStore()}
	w.store.CreateContainer("db", "items", "/pk")
	s.gateway.Upstream = w.store
	s.policy.Hedge.Disabled = s.policy.Hedge.Disabled || !s.hedged
	w.Gateway = gateway.New(s.gateway)
	ha, err := policy.New(s.policy)
	require.NoError(t, err)
	w.ha = ha
	t.Cleanup(ha.Close)
	w.client, w.container = w.newClient(s)
	return w
}

// newClient makes a further client of the world's account.
func (w *world) newClient(s setup) (*azcosmos.Client, *azcosmos.ContainerClient) {
	o := &azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{Transport: w.Transport()},
		PreferredRegions: s.preferred,
	}
	if s.change != nil {
		s.change(o)
	}
	if !s.plain {
		w.ha.Apply(o)
	}
	endpoint := s.endpoint
	if endpoint == "" {
		endpoint = w.Endpoint()
	}
	credential, err := azcosmos.NewKeyCredential(accountKey)
	require.NoError(w, err)
	client, err := azcosmos.NewClientWithKey(endpoint, credential, o)
	require.NoError(w, err)
	w.Cleanup(client.Close)
	container, err := client.NewContainer("db", "items")
	require.NoError(w, err)
	return client, container
}

// warm creates the item "1" in partition "a" and empties the log.
func (w *world) warm() {
	w.Helper()
	_, err := w.container.CreateItem(w.Context(), key("a"), item("1", "a", 0), nil)
	require.NoError(w, err)
	w.ResetLog()
}

func key(value string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(value) }

func item(id, pk string, n int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":%d}`, id, pk, n)
}

// call is an operation on the item "1" of partition "a".
type call func(context.Context, *azcosmos.ContainerClient) (*http.Response, error)

func read(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.ReadItem(ctx, key("a"), "1", nil)
	return r.RawResponse, err
}

func upsert(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.UpsertItem(ctx, key("a"), item("1", "a", 1), nil)
	return r.RawResponse, err
}

func create(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.CreateItem(ctx, key("a"), item("new", "a", 1), nil)
	return r.RawResponse, err
}

func query(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.NewQueryItemsPager("SELECT * FROM c", key("a"), nil).NextPage(ctx)
	return r.RawResponse, err
}

func readContainer(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
	r, err := c.Read(ctx, nil)
	return r.RawResponse, err
}

// outcomeOf is what a caller sees, in short: "200", "503", "404/1002",
// "deadline", "cancelled", or "error" for a transport error.
func outcomeOf(r *http.Response, err error) string {
	var answer *azcore.ResponseError
	switch {
	case err == nil:
		return fmt.Sprint(r.StatusCode)
	case errors.As(err, &answer):
		if sub := answer.RawResponse.Header.Get("x-ms-substatus"); sub != "" && sub != "0" {
			return fmt.Sprintf("%d/%s", answer.StatusCode, sub)
		}
		return fmt.Sprint(answer.StatusCode)
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	default:
		return "error"
	}
}

// do makes the call and returns its outcome and the virtual time it took.
func (w *world) do(ctx context.Context, c call) (string, time.Duration) {
	start := time.Now()
	got := outcomeOf(c(ctx, w.container))
	return got, time.Since(start)
}

// expect makes the call and requires the outcome, the regions contacted and
// the virtual time.
func (w *world) expect(c call, outcome, regions string, took time.Duration) {
	w.Helper()
	w.expectWith(w.Context(), c, outcome, regions, took)
}

func (w *world) expectWith(ctx context.Context, c call, outcome, regions string, took time.Duration) {
	w.Helper()
	w.ResetLog()
	got, elapsed := w.do(ctx, c)
	require.Equal(w, regions, w.contacted(), "regions contacted")
	require.Equal(w, outcome, got, "outcome")
	require.Equal(w, took, elapsed, "virtual time")
}

// contacted is the regions of all requests but account reads, as letters.
func (w *world) contacted() string {
	letters := strings.NewReplacer(A, "A", B, "B", C, "C", gateway.Global, "global")
	list := w.Regions(func(e gateway.Entry) bool { return e.Operation != "account" })
	return letters.Replace(strings.Join(list, " "))
}

// transportFunc is a transport made of a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

var _ azpolicy.Transporter = transportFunc(nil)

// pass lets virtual time pass: it is called in bubbles only.
func pass(d time.Duration) { time.Sleep(d) }
