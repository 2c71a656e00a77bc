package request_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

var update = flag.Bool("update", false, "rewrite testdata/azcosmos.golden")

var pk = azcosmos.NewPartitionKeyString("a")

// call is one use of the public API of azcosmos. The part of the name before a
// space is the method that it covers.
type call struct {
	name string
	run  func(t *testing.T, ctx context.Context, w *world) error
}

func pages[T any](ctx context.Context, p *runtime.Pager[T]) error {
	for p.More() {
		if _, err := p.NextPage(ctx); err != nil {
			return err
		}
	}
	return nil
}

func calls() []call {
	return slices.Concat(clientCalls(), databaseCalls(), containerCalls(), itemCalls(), manyItemCalls())
}

func clientCalls() []call {
	return []call{
		{"Client.Endpoint", func(_ *testing.T, _ context.Context, w *world) error { _ = w.client.Endpoint(); return nil }},
		{"Client.Close", func(_ *testing.T, _ context.Context, w *world) error { w.client.Close(); return nil }},
		{"Client.NewDatabase", func(_ *testing.T, _ context.Context, w *world) error { _, err := w.client.NewDatabase("d"); return err }},
		{"Client.NewContainer", func(_ *testing.T, _ context.Context, w *world) error {
			_, err := w.client.NewContainer("d", "c")
			return err
		}},
		{"Client.CreateDatabase", func(_ *testing.T, ctx context.Context, w *world) error {
			throughput := azcosmos.NewManualThroughputProperties(400)
			_, err := w.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "d 1"},
				&azcosmos.CreateDatabaseOptions{ThroughputProperties: &throughput})
			return err
		}},
		{"Client.NewQueryDatabasesPager", func(_ *testing.T, ctx context.Context, w *world) error {
			return pages(ctx, w.client.NewQueryDatabasesPager("select * from c", nil))
		}},
	}
}

func databaseCalls() []call {
	return []call{
		{"DatabaseClient.ID", func(_ *testing.T, _ context.Context, w *world) error { _ = w.database.ID(); return nil }},
		{"DatabaseClient.NewContainer", func(_ *testing.T, _ context.Context, w *world) error {
			_, err := w.database.NewContainer("c")
			return err
		}},
		{"DatabaseClient.CreateContainer", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.database.CreateContainer(ctx, azcosmos.ContainerProperties{
				ID: "c/ü", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
			}, nil)
			return err
		}},
		{"DatabaseClient.NewQueryContainersPager", func(_ *testing.T, ctx context.Context, w *world) error {
			return pages(ctx, w.database.NewQueryContainersPager("select * from c", nil))
		}},
		{"DatabaseClient.Read", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.database.Read(ctx, nil)
			return err
		}},
		{"DatabaseClient.ReadThroughput", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.database.ReadThroughput(ctx, nil)
			return err
		}},
		{"DatabaseClient.ReplaceThroughput", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.database.ReplaceThroughput(ctx, azcosmos.NewAutoscaleThroughputProperties(4000), nil)
			return err
		}},
		{"DatabaseClient.Delete", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.database.Delete(ctx, nil)
			return err
		}},
	}
}

func containerCalls() []call {
	return []call{
		{"ContainerClient.ID", func(_ *testing.T, _ context.Context, w *world) error { _ = w.container.ID(); return nil }},
		{"ContainerClient.Read", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.Read(ctx, nil)
			return err
		}},
		{"ContainerClient.Replace", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.Replace(ctx, azcosmos.ContainerProperties{ID: "c/ü"}, nil)
			return err
		}},
		{"ContainerClient.Delete", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.Delete(ctx, nil)
			return err
		}},
		{"ContainerClient.ReadThroughput", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReadThroughput(ctx, nil)
			return err
		}},
		{"ContainerClient.ReplaceThroughput", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(500), nil)
			return err
		}},
		{"ContainerClient.ReadFeedRanges", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReadFeedRanges(ctx, nil)
			return err
		}},
	}
}

func itemCalls() []call {
	body, token := []byte(itemBody), "0:1#7"
	none := azcosmos.NewPartitionKey()
	return []call{
		{"ContainerClient.CreateItem", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.CreateItem(ctx, pk, body, nil)
			return err
		}},
		{"ContainerClient.CreateItem without a key", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.CreateItem(ctx, none, body, nil)
			return err
		}},
		{"ContainerClient.UpsertItem", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.UpsertItem(ctx, pk, body, &azcosmos.ItemOptions{SessionToken: &token})
			return err
		}},
		{"ContainerClient.ReplaceItem", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReplaceItem(ctx, pk, "i/1", body, nil)
			return err
		}},
		{"ContainerClient.PatchItem", func(_ *testing.T, ctx context.Context, w *world) error {
			var ops azcosmos.PatchOperations
			ops.AppendSet("/x", 1)
			_, err := w.container.PatchItem(ctx, pk, "i/1", ops, nil)
			return err
		}},
		{"ContainerClient.DeleteItem", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.DeleteItem(ctx, pk, "i/1", nil)
			return err
		}},
		{"ContainerClient.ReadItem", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReadItem(ctx, pk, "i/1", nil)
			return err
		}},
		{"ContainerClient.ReadItem with a session", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReadItem(ctx, pk, "i/1", &azcosmos.ItemOptions{SessionToken: &token})
			return err
		}},
		{"ContainerClient.ReadItem with an empty id", func(_ *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReadItem(ctx, pk, "", nil)
			return err
		}},
		{"ContainerClient.NewTransactionalBatch", func(_ *testing.T, _ context.Context, w *world) error {
			_ = w.container.NewTransactionalBatch(pk)
			return nil
		}},
		{"ContainerClient.ExecuteTransactionalBatch", func(_ *testing.T, ctx context.Context, w *world) error {
			b := w.container.NewTransactionalBatch(pk)
			b.CreateItem(body, nil)
			b.UpsertItem(body, nil)
			b.ReplaceItem("i", body, nil)
			b.PatchItem("i", azcosmos.PatchOperations{}, nil)
			b.DeleteItem("i", nil)
			_, err := w.container.ExecuteTransactionalBatch(ctx, b, nil)
			return err
		}},
		{"ContainerClient.ExecuteTransactionalBatch of reads", func(_ *testing.T, ctx context.Context, w *world) error {
			b := w.container.NewTransactionalBatch(pk)
			b.ReadItem("i", nil)
			_, err := w.container.ExecuteTransactionalBatch(ctx, b, nil)
			return err
		}},
	}
}

func manyItemCalls() []call {
	whole, nowhere := azcosmos.FeedRange{MaxExclusive: "FF"}, azcosmos.FeedRange{MinInclusive: "FF", MaxExclusive: "FF"}
	sequential := int32(1) // keeps the record in order
	start := time.Unix(0, 0)
	return []call{
		{"ContainerClient.NewQueryItemsPager", func(_ *testing.T, ctx context.Context, w *world) error {
			return pages(ctx, w.container.NewQueryItemsPager("select * from c", pk, nil))
		}},
		{"ContainerClient.NewQueryItemsPager over partitions", func(_ *testing.T, ctx context.Context, w *world) error {
			return pages(ctx, w.container.NewQueryItemsPager("select * from c", azcosmos.NewPartitionKey(), nil))
		}},
		{"ContainerClient.ReadManyItems", func(t *testing.T, ctx context.Context, w *world) error {
			// The effective partition keys start with 01 and 1E: one in each range.
			got, err := w.container.ReadManyItems(ctx, []azcosmos.ItemIdentity{
				{ID: "i", PartitionKey: azcosmos.NewPartitionKeyString("partitionKey")},
				{ID: "j", PartitionKey: azcosmos.NewPartitionKeyString("pk1")},
			}, &azcosmos.ReadManyItemsOptions{MaxConcurrency: &sequential})
			assert.Len(t, got.Items, 4)
			return err
		}},
		{"ContainerClient.ReadChangeFeed", func(_ *testing.T, ctx context.Context, w *world) error {
			o := &azcosmos.ChangeFeedOptions{FeedRange: &whole, StartFrom: &start}
			for range 3 { // range 0, range 1, then both again, unchanged
				got, err := w.container.ReadChangeFeed(ctx, o)
				if err != nil {
					return err
				}
				o = &azcosmos.ChangeFeedOptions{Continuation: &got.ContinuationToken}
			}
			return nil
		}},
		{"ContainerClient.ReadChangeFeed of one key", func(_ *testing.T, ctx context.Context, w *world) error {
			key := azcosmos.NewPartitionKeyString("a")
			_, err := w.container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &whole, PartitionKey: &key})
			return err
		}},
		{"ContainerClient.ReadChangeFeed of no range", func(t *testing.T, ctx context.Context, w *world) error {
			_, err := w.container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &nowhere})
			assert.ErrorIs(t, err, azcosmos.ErrFeedRangeUnresolved)
			return nil
		}},
	}
}

// line writes down what the package makes of one request.
func line(r recorded) string {
	i := request.Classify(r.method, r.path, r.header)
	out := []string{fmt.Sprintf("  %-6s %-45s %s %s, %s", r.method, r.path, i.Resource, i.Operation, i.Name())}
	for _, flag := range []struct {
		on   bool
		text string
	}{
		{i.Write(), "write"},
		{i.Metadata(), "metadata"},
		{i.ContainerLink != "", "link " + i.ContainerLink},
		{i.PartitionKey != "", "key " + i.PartitionKey},
		{i.RangeID != "", "range " + i.RangeID},
		{i.Continuation, "continued"},
		{i.SessionToken, "session"},
	} {
		if flag.on {
			out = append(out, flag.text)
		}
	}
	return strings.Join(out, ", ") + "\n"
}

// TestEveryAPI is the proof of the table: each method of azcosmos that may send a
// request, the requests that it sends, and what they are taken for.
func TestEveryAPI(t *testing.T) {
	var got strings.Builder
	for _, c := range calls() {
		w := newWorld(t, &service{})
		require.NoError(t, c.run(t, t.Context(), w), c.name)
		fmt.Fprintf(&got, "%s\n", c.name)
		for _, r := range w.take() {
			got.WriteString(line(r))
			i := request.Classify(r.method, r.path, r.header)
			assert.True(t, i.Known(), "%s: %s %s", c.name, r.method, r.path)
			if i.Database != "" {
				assert.Equal(t, "d 1", i.DatabaseName(), c.name)
			}
			if i.Container != "" {
				assert.Equal(t, "c/ü", i.ContainerName(), c.name)
			}
			for key := range r.header {
				assert.Equal(t, http.CanonicalHeaderKey(key), key, "azcosmos writes canonical keys only")
			}
		}
	}
	const golden = "testdata/azcosmos.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

// TestEveryAPIIsCovered fails when azcosmos gains an exported method that could
// send a request and that no call above uses.
func TestEveryAPIIsCovered(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range calls() {
		method, _, _ := strings.Cut(c.name, " ")
		covered[method] = true
	}
	clients := 0
	for typ, whole := range reachable(reflect.TypeFor[*azcosmos.Client]()) {
		if whole {
			clients++
		}
		for method := range typ.Methods() {
			name := typ.Elem().Name() + "." + method.Name
			if whole || sends(method.Type) {
				assert.True(t, covered[name], "%s is not covered", name)
			}
			delete(covered, name)
		}
	}
	assert.Empty(t, covered, "calls of methods that are not there")
	assert.Equal(t, 3, clients, "Client, DatabaseClient, ContainerClient")
}

// reachable finds the types of azcosmos that the methods of a type lead to,
// through what they take and give. For the clients every method must be covered,
// for the rest those that send.
func reachable(root reflect.Type) map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		if typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		pointer := reflect.PointerTo(typ)
		if _, seen := found[pointer]; seen || typ.PkgPath() != root.Elem().PkgPath() {
			return
		}
		found[pointer] = strings.HasSuffix(typ.Name(), "Client")
		for method := range pointer.Methods() {
			signature := method.Type
			for in := range signature.Ins() {
				visit(in)
			}
			for out := range signature.Outs() {
				visit(out)
			}
		}
	}
	visit(root)
	return found
}

// sends reports whether a method could send a request: it takes a context, or it
// gives a pager.
func sends(signature reflect.Type) bool {
	for in := range signature.Ins() {
		if in == reflect.TypeFor[context.Context]() {
			return true
		}
	}
	for out := range signature.Outs() {
		if strings.Contains(out.String(), "Pager[") {
			return true
		}
	}
	return false
}

type fakeToken struct{}

func (fakeToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "t", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// TestAccountRead checks the read of the account that every client makes first,
// for every constructor and both ways to write the endpoint.
func TestAccountRead(t *testing.T) {
	cred, err := azcosmos.NewKeyCredential("a2V5")
	require.NoError(t, err)
	for name, open := range map[string]func(string, *azcosmos.ClientOptions) (*azcosmos.Client, error){
		"NewClient": func(e string, o *azcosmos.ClientOptions) (*azcosmos.Client, error) {
			return azcosmos.NewClient(e, fakeToken{}, o)
		},
		"NewClientWithKey": func(e string, o *azcosmos.ClientOptions) (*azcosmos.Client, error) {
			return azcosmos.NewClientWithKey(e, cred, o)
		},
		"NewClientFromConnectionString": func(e string, o *azcosmos.ClientOptions) (*azcosmos.Client, error) {
			return azcosmos.NewClientFromConnectionString("AccountEndpoint="+e+";AccountKey=a2V5;", o)
		},
	} {
		for _, slash := range []string{"/", ""} {
			s := &service{multiWrite: true}
			client, err := open(strings.TrimSuffix(newEndpoint(), "/")+slash, s.options())
			require.NoError(t, err, name)
			t.Cleanup(client.Close)
			container, err := client.NewContainer("d", "c")
			require.NoError(t, err)
			_, err = container.ReadItem(t.Context(), pk, "i", nil)
			require.NoError(t, err, name)

			got := s.take()
			require.Len(t, got, 2, name)
			assert.Equal(t, slash, got[0].path)
			assert.True(t, request.IsAccountRead(got[0].method, got[0].path), name)
			assert.Equal(t, "read_account", request.Classify(got[0].method, got[0].path, got[0].header).Name())
			assert.False(t, request.IsAccountRead(got[1].method, got[1].path), name)
			assert.Equal(t, "read_item", request.Classify(got[1].method, got[1].path, got[1].header).Name())
			assert.Equal(t, "true", request.Get(got[1].header, request.HeaderAllowTentativeWrites), "on reads too")
		}
	}
}

// TestPartitionKeyOnTheWire sends keys through azcosmos and reads them back.
func TestPartitionKeyOnTheWire(t *testing.T) {
	w := newWorld(t, &service{})
	send := func(key azcosmos.PartitionKey) string {
		_, err := w.container.ReadItem(t.Context(), key, "i", nil)
		require.NoError(t, err)
		r := w.take()[0]
		return request.Classify(r.method, r.path, r.header).PartitionKey
	}
	for _, s := range []string{
		"", "a", "ü✓", "😀", "x\x01y", "\a\b\f\n\r\t\v\x7f\x00", "\xff\xed\xa0\x80", `"\/`, "Infinity", "\u2028\ufffd", strings.Repeat("😀", 500),
	} {
		got, err := request.ParsePartitionKey(send(azcosmos.NewPartitionKeyString(s)), nil)
		require.NoError(t, err, "%q", s)
		assert.Equal(t, []request.Component{{Kind: request.KindString, String: s}}, got)
	}
	for _, n := range []float64{0, math.Copysign(0, -1), 1, -1.5, 3.14, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53} {
		got, err := request.ParsePartitionKey(send(azcosmos.NewPartitionKeyNumber(n)), nil)
		require.NoError(t, err, "%g", n)
		require.Len(t, got, 1)
		assert.Equal(t, math.Float64bits(n), math.Float64bits(got[0].Number), "%g", n)
	}
	key := azcosmos.NewPartitionKeyString("t").AppendNumber(1).AppendBool(true).AppendBool(false).AppendNull()
	got, err := request.ParsePartitionKey(send(key), nil)
	require.NoError(t, err)
	assert.Equal(t, []request.Component{
		{Kind: request.KindString, String: "t"},
		{Kind: request.KindNumber, Number: 1},
		{Kind: request.KindTrue},
		{Kind: request.KindFalse},
		{Kind: request.KindNull},
	}, got)
	assert.Empty(t, send(azcosmos.NewPartitionKey()), "no header at all")

	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := w.container.ReadItem(t.Context(), azcosmos.NewPartitionKeyNumber(n), "i", nil)
		require.ErrorContains(t, err, "unsupported value", "%g", n)
		assert.Empty(t, w.take(), "azcosmos fails before it sends %g", n)
	}
}
