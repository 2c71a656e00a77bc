package policy_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// The widest time at which a region that was opened for the first time is
// probed, and a step that cannot miss it.
const (
	openFor    = 30 * time.Second
	openAtMost = 37500 * time.Millisecond
)

// accounts numbers the accounts of the tests that read ranges: azcosmos
// remembers the ranges of an account for the whole process.
var accounts atomic.Int64

// circuitWorld is a world with two containers, "items" and "other", of several
// physical partitions, that keeps every transition of the circuit breaker.
type circuitWorld struct {
	*world
	changes *transitions
	other   *azcosmos.ContainerClient
	p1, p2  string // partition keys of different ranges, that items has items "1" of
}

// inCircuit runs a test in a circuitWorld. Its account has two ranges for each
// container unless the setup says otherwise, and a name of its own unless it
// has one.
func inCircuit(t *testing.T, s setup, test func(w *circuitWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newCircuit(t, s)
		test(w)
		w.ha.Close()
		synctest.Wait()
	})
}

func newCircuit(t *testing.T, s setup) *circuitWorld {
	t.Helper()
	if s.gateway.Ranges == 0 {
		s.gateway.Ranges = 2
	}
	if s.gateway.Account == "" {
		s.gateway.Account = fmt.Sprintf("circuit%d", accounts.Add(1))
	}
	changes := &transitions{}
	s.policy.Telemetry.Logger = slog.New(changes)
	w := &circuitWorld{world: newWorld(t, s), changes: changes, p1: "a"}
	w.store.CreateContainer("db", "other", "/pk")
	var err error
	w.other, err = w.client.NewContainer("db", "other")
	require.NoError(t, err)
	w.p2 = w.keyOutside(w.rangeOf(w.p1))
	for _, pk := range []string{w.p1, w.p2} {
		for _, c := range []*azcosmos.ContainerClient{w.container, w.other} {
			_, err := c.CreateItem(t.Context(), key(pk), item("1", pk, 0), nil)
			require.NoError(t, err)
		}
	}
	w.ResetLog()
	return w
}

// rangeOf is the id of the range of "items" that a partition key lies in.
func (w *circuitWorld) rangeOf(pk string) string {
	return w.RangeOf("items", fmt.Sprintf("[%q]", pk))
}

// keyOutside is a partition key of another range, "" if there is one range only.
func (w *circuitWorld) keyOutside(rangeID string) string {
	for c := 'b'; c <= 'z'; c++ {
		if w.rangeOf(string(c)) != rangeID {
			return string(c)
		}
	}
	return ""
}

// sick makes the range of p1 in "items" answer 503 in a region.
func (w *circuitWorld) sick(region string) *gateway.Fault {
	return w.Inject(gateway.Rule{Region: region, Container: "items", Range: w.rangeOf(w.p1), Status: 503})
}

// keyed is an operation on the item "1" of a partition.
type keyed func(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error)

// times makes a call n times, requires that each succeeds and takes no time,
// and returns the regions of the requests on items, as letters.
func (w *circuitWorld) times(n int, op keyed, c *azcosmos.ContainerClient, pk string) string {
	w.Helper()
	w.ResetLog()
	for range n {
		w.one(w.Context(), op, c, pk)
	}
	synctest.Wait()
	return w.data()
}

// one makes a call and requires that it succeeds and takes no time.
func (w *circuitWorld) one(ctx context.Context, op keyed, c *azcosmos.ContainerClient, pk string) {
	w.Helper()
	start := time.Now()
	got := outcomeOf(op(ctx, c, pk))
	require.Contains(w, []string{"200", "201", "204", "304"}, got)
	require.Zero(w, time.Since(start), "the call took time")
}

// open makes the region A opened for p1 by exactly as many failures as it takes.
func (w *circuitWorld) open(op keyed, threshold int) {
	w.Helper()
	require.Equal(w, repeat("A B", threshold), w.times(threshold, op, w.container, w.p1))
	require.Equal(w, "B", w.times(1, op, w.container, w.p1), "the region is opened")
}

func repeat(s string, n int) string { return strings.TrimSpace(strings.Repeat(s+" ", n)) }

// sorted is a list of regions in the order of the alphabet: a probe and the
// request that it copies set out at the same time.
func sorted(regions string) string {
	list := strings.Fields(regions)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// unwell is what the store holds, in short: "A read Unavailable" and so on.
func (w *circuitWorld) unwell() []string {
	list := []string{}
	for _, account := range w.ha.State().Accounts {
		for _, u := range account.Unwell {
			what := "read"
			if u.Write {
				what = "write"
			}
			list = append(list, fmt.Sprintf("%s %s %s", lettersOf([]string{u.Region}), what, u.State))
		}
	}
	slices.Sort(list)
	return list
}

// knownBy is how the one unwell partition is known: "range [..)", "range id",
// "key" or "container".
func (w *circuitWorld) knownBy() string {
	w.Helper()
	unwell := w.ha.State().Accounts[0].Unwell
	require.NotEmpty(w, unwell)
	where, _, _ := strings.Cut(unwell[0].Partition, " #")
	if strings.HasPrefix(where, "range [") {
		return "range"
	}
	return where
}

// transitions keeps what the breaker tells the logger.
type transitions struct {
	mutex sync.Mutex // guards lines
	lines []string
}

// Enabled keeps everything.
func (*transitions) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs is not needed: the breaker's lines carry their own.
func (c *transitions) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup is not needed either.
func (c *transitions) WithGroup(string) slog.Handler { return c }

// Handle keeps a transition in short: "A read HealthyWithFailures>Unavailable
// consecutive failures 10".
func (c *transitions) Handle(_ context.Context, r slog.Record) error {
	values := map[string]slog.Value{}
	r.Attrs(func(a slog.Attr) bool { values[a.Key] = a.Value; return true })
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if r.Message != "cosmos.ha circuit breaker" {
		return nil
	}
	what := "read"
	if values["write"].Bool() {
		what = "write"
	}
	c.lines = append(c.lines, fmt.Sprintf("%s %s %s>%s %s %d", lettersOf([]string{values["region"].String()}), what,
		values["from"], values["to"], values["cause"], values["failures"].Int64()))
	return nil
}

// take returns the transitions since the last time.
func (c *transitions) take() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	list := c.lines
	c.lines = nil
	return list
}

// The operations on the item "1" of any partition.
func readKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	r, err := c.ReadItem(ctx, key(pk), "1", nil)
	return r.RawResponse, err
}

func queryKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	r, err := c.NewQueryItemsPager("SELECT * FROM c", key(pk), nil).NextPage(ctx)
	return r.RawResponse, err
}

func queryAll(ctx context.Context, c *azcosmos.ContainerClient, _ string) (*http.Response, error) {
	r, err := c.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), nil).NextPage(ctx)
	return r.RawResponse, err
}

func readManyKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	_, err := c.ReadManyItems(ctx, []azcosmos.ItemIdentity{{ID: "1", PartitionKey: key(pk)}}, nil)
	return &http.Response{StatusCode: http.StatusOK}, err
}

// changeFeedKey reads the change feed of the range that a partition key of
// "items" lies in.
func (w *circuitWorld) changeFeedKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	feed, err := c.ReadFeedRanges(ctx, nil)
	if err != nil {
		return nil, err
	}
	own := feed[slices.Index(w.Ranges("items"), w.rangeOf(pk))]
	k := key(pk)
	_, err = c.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &own, PartitionKey: &k})
	return &http.Response{StatusCode: http.StatusOK}, err
}

var created atomic.Int64

func createKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	r, err := c.CreateItem(ctx, key(pk), item(fmt.Sprint("new", created.Add(1)), pk, 1), nil)
	return r.RawResponse, err
}

func upsertKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	r, err := c.UpsertItem(ctx, key(pk), item("1", pk, 1), nil)
	return r.RawResponse, err
}

func replaceKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	r, err := c.ReplaceItem(ctx, key(pk), "1", item("1", pk, 2), nil)
	return r.RawResponse, err
}

func patchKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	var p azcosmos.PatchOperations
	p.AppendSet("/n", 3)
	r, err := c.PatchItem(ctx, key(pk), "1", p, nil)
	return r.RawResponse, err
}

// deleteKey deletes an item that is not there: 404 is its success.
func deleteKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	r, err := c.DeleteItem(ctx, key(pk), "gone", nil)
	if outcomeOf(r.RawResponse, err) == "404" {
		return &http.Response{StatusCode: http.StatusNoContent}, nil
	}
	return r.RawResponse, err
}

func batchKey(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
	b := c.NewTransactionalBatch(key(pk))
	b.UpsertItem(item("1", pk, 4), nil)
	b.UpsertItem(item("2", pk, 4), nil)
	r, err := c.ExecuteTransactionalBatch(ctx, b, nil)
	return r.RawResponse, err
}

// namedKeyed is an operation with its name, made for a world.
type namedKeyed struct {
	name string
	make func(w *circuitWorld) keyed
}

// always is an operation that needs nothing of its world.
func always(op keyed) func(*circuitWorld) keyed { return func(*circuitWorld) keyed { return op } }

// The reads that name a partition in one way or another, and the writes.
var (
	keyedReads = []namedKeyed{
		{"read", always(readKey)},
		{"query", always(queryKey)},
		{"readMany", always(readManyKey)},
		{"changeFeed", func(w *circuitWorld) keyed { return w.changeFeedKey }},
	}
	keyedWrites = []namedKeyed{
		{"create", always(createKey)},
		{"upsert", always(upsertKey)},
		{"replace", always(replaceKey)},
		{"patch", always(patchKey)},
		{"delete", always(deleteKey)},
		{"batch", always(batchKey)},
	}
)
