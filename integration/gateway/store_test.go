package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/require"
)

// status is the status of an azcosmos error, 0 for success.
func status(err error) int {
	if r, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return r.StatusCode
	}
	return 0
}

// TestItems: the life of an item through azcosmos, with every refusal.
func TestItems(t *testing.T) { eachUpstream(t, gateway.Options{}, testItems) }

func testItems(t *testing.T, g *gateway.Gateway, s *gateway.Store) {
	items, ctx := client(t, g.Endpoint(), g.Transport()), t.Context()
	echo := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

	created, err := items.CreateItem(ctx, pk("a"), doc("1", "a", 1), nil)
	require.NoError(t, err)
	require.Equal(t, 201, created.RawResponse.StatusCode)
	require.Empty(t, created.Value, "the client has not asked for the item")
	require.Equal(t, "0:-1#2", *created.SessionToken)
	require.Equal(t, "0", created.RawResponse.Header.Get("x-ms-documentdb-partitionkeyrangeid"))
	require.NotEmpty(t, created.ActivityID)
	require.InEpsilon(t, float32(1), created.RequestCharge, 0)

	_, err = items.CreateItem(ctx, pk("a"), doc("1", "a", 1), nil)
	require.Equal(t, 409, status(err))
	_, err = items.CreateItem(ctx, pk("b"), doc("1", "b", 10), nil)
	require.NoError(t, err, "the same id under another key is another item")
	_, err = items.CreateItem(ctx, pk("b"), doc("2", "a", 1), nil)
	require.Equal(t, 400, status(err), "the header contradicts the item")
	_, err = items.ReadItem(ctx, pk("a"), "2", nil)
	require.Equal(t, 404, status(err))

	replaced, err := items.ReplaceItem(ctx, pk("a"), "1", doc("1", "a", 2), &azcosmos.ItemOptions{IfMatchEtag: &created.ETag, EnableContentResponseOnWrite: true})
	require.NoError(t, err)
	require.InEpsilon(t, 2.0, field(t, replaced.Value, "n"), 0)
	require.Equal(t, string(replaced.ETag), field(t, replaced.Value, "_etag"))
	_, err = items.ReplaceItem(ctx, pk("a"), "1", doc("1", "a", 3), &azcosmos.ItemOptions{IfMatchEtag: &created.ETag})
	require.Equal(t, 412, status(err))
	_, err = items.ReplaceItem(ctx, pk("a"), "9", doc("9", "a", 3), nil)
	require.Equal(t, 404, status(err))

	upserted, err := items.UpsertItem(ctx, pk("a"), doc("1", "a", 4), echo)
	require.NoError(t, err)
	require.Equal(t, 200, upserted.RawResponse.StatusCode)
	upserted, err = items.UpsertItem(ctx, pk("a"), doc("3", "a", 4), echo)
	require.NoError(t, err)
	require.Equal(t, 201, upserted.RawResponse.StatusCode)

	_, err = items.DeleteItem(ctx, pk("a"), "3", nil)
	require.NoError(t, err)
	_, err = items.DeleteItem(ctx, pk("a"), "3", nil)
	require.Equal(t, 404, status(err))

	var done []string
	for _, e := range s.Executions("items", "1") {
		done = append(done, e.Operation+" "+e.Key)
	}
	require.Equal(t, []string{`create ["a"]`, `create ["b"]`, `replace ["a"]`, `upsert ["a"]`}, done)
	require.Empty(t, s.Repeated())
}

// TestPatch: every patch operation, the condition, and what a patch must not change.
func TestPatch(t *testing.T) { eachUpstream(t, gateway.Options{}, testPatch) }

func testPatch(t *testing.T, g *gateway.Gateway, _ *gateway.Store) {
	items, ctx := client(t, g.Endpoint(), g.Transport()), t.Context()
	_, err := items.CreateItem(ctx, pk("a"), []byte(`{"id":"1","pk":"a","n":1,"o":{"x":1},"l":[1,2],"gone":true}`), nil)
	require.NoError(t, err)
	var p azcosmos.PatchOperations
	p.AppendSet("/s", "new")
	p.AppendAdd("/l/-", 3)
	p.AppendAdd("/l/0", 0)
	p.AppendReplace("/o/x", 2)
	p.AppendRemove("/gone")
	p.AppendIncrement("/n", 41)
	p.SetCondition("from c where c.n = 1")
	r, err := items.PatchItem(ctx, pk("a"), "1", p, &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
	require.NoError(t, err)
	require.Equal(t, "new", field(t, r.Value, "s"))
	require.Equal(t, []any{0.0, 1.0, 2.0, 3.0}, field(t, r.Value, "l"))
	require.Equal(t, map[string]any{"x": 2.0}, field(t, r.Value, "o"))
	require.NotContains(t, string(r.Value), "gone")
	require.InEpsilon(t, 42.0, field(t, r.Value, "n"), 0)

	_, err = items.PatchItem(ctx, pk("a"), "1", p, nil)
	require.Equal(t, 412, status(err), "the condition does not hold any more")
	for path, want := range map[string]int{"/nowhere": 400, "/pk": 400, "/id": 400, "/n": 0} {
		var p azcosmos.PatchOperations
		p.AppendReplace(path, "z")
		_, err = items.PatchItem(ctx, pk("a"), "1", p, nil)
		require.Equal(t, want, status(err), path)
	}
}

// TestBatch: a batch is carried out as a whole or not at all.
func TestBatch(t *testing.T) { eachUpstream(t, gateway.Options{}, testBatch) }

func testBatch(t *testing.T, g *gateway.Gateway, s *gateway.Store) {
	items, ctx := client(t, g.Endpoint(), g.Transport()), t.Context()
	b := items.NewTransactionalBatch(pk("a"))
	b.CreateItem(doc("1", "a", 1), nil)
	b.UpsertItem(doc("2", "a", 2), nil)
	b.ReadItem("1", nil)
	r, err := items.ExecuteTransactionalBatch(ctx, b, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: true})
	require.NoError(t, err)
	require.True(t, r.Success)
	require.Equal(t, []int32{201, 201, 200}, statuses(r))
	require.InEpsilon(t, 1.0, field(t, r.OperationResults[2].ResourceBody, "n"), 0)

	b = items.NewTransactionalBatch(pk("a"))
	b.DeleteItem("1", nil)
	b.ReplaceItem("2", doc("2", "a", 3), nil)
	b.CreateItem(doc("3", "a", 3), nil)
	b.CreateItem(doc("2", "a", 3), nil)
	r, err = items.ExecuteTransactionalBatch(ctx, b, nil)
	require.NoError(t, err)
	require.False(t, r.Success)
	require.Equal(t, []int32{424, 424, 424, 409}, statuses(r))
	one, err := items.ReadItem(ctx, pk("a"), "1", nil)
	require.NoError(t, err)
	require.InEpsilon(t, 1.0, field(t, one.Value, "n"), 0)
	two, err := items.ReadItem(ctx, pk("a"), "2", nil)
	require.NoError(t, err)
	require.InEpsilon(t, 2.0, field(t, two.Value, "n"), 0)
	_, err = items.ReadItem(ctx, pk("a"), "3", nil)
	require.Equal(t, 404, status(err))
	require.Len(t, s.Executions("", ""), 2, "what was rolled back has not happened")
	require.Empty(t, s.Repeated())
}

func statuses(r azcosmos.TransactionalBatchResponse) []int32 {
	list := make([]int32, len(r.OperationResults))
	for i, o := range r.OperationResults {
		list[i] = o.StatusCode
	}
	return list
}

// TestQueries: the subset of the query language, by rows of query and ids found.
func TestQueries(t *testing.T) { eachUpstream(t, gateway.Options{Ranges: 4}, testQueries) }

func testQueries(t *testing.T, g *gateway.Gateway, _ *gateway.Store) {
	items, ctx := client(t, g.Endpoint(), g.Transport()), t.Context()
	for i := range 6 {
		body := fmt.Appendf(nil, `{"id":"%d","pk":"p%d","n":%d,"s":"it's %d","o":{"k-x":[%d]}%s}`, i, i%3, i, i, i, []string{"", `,"x":null`}[i%2])
		_, err := items.CreateItem(ctx, pk(fmt.Sprintf("p%d", i%3)), body, nil)
		require.NoError(t, err)
	}
	parameters := []azcosmos.QueryParameter{{Name: "@n", Value: 2}, {Name: "@s", Value: "it's 4"}}
	for _, row := range []struct {
		query string
		want  []string // ids, or values
	}{
		{`SELECT * FROM c`, []string{"0", "1", "2", "3", "4", "5"}},
		{`select * from c where c.pk = 'p1'`, []string{"1", "4"}},
		{`SELECT * FROM c WHERE c.n > @n AND NOT (c.n = 4 OR c.n >= 5)`, []string{"3"}},
		{`SELECT * FROM c WHERE c.s = @s`, []string{"4"}},
		{`SELECT * FROM c WHERE c.s = 'it\'s 5'`, []string{"5"}},
		{`SELECT * FROM c WHERE c.s = "it's 0"`, []string{"0"}},
		{`SELECT * FROM c WHERE c["o"]["k-x"][0] = 3`, []string{"3"}},
		{`SELECT * FROM c WHERE c.id IN ("1", "5", @s)`, []string{"1", "5"}},
		{`SELECT * FROM c WHERE IS_NULL(c.x)`, []string{"1", "3", "5"}},
		{`SELECT * FROM c WHERE IS_DEFINED(c.x) = false`, []string{"0", "2", "4"}},
		{`SELECT * FROM c WHERE c.x = null AND c.n != 3`, []string{"1", "5"}},
		{`SELECT * FROM c WHERE c.missing != 1`, nil},
		{`SELECT * FROM c WHERE c.n = "1" OR c.n <= -1`, nil},
		{`SELECT * FROM c WHERE STARTSWITH(c.s, 'it') AND CONTAINS(c.s, '2') AND ARRAY_CONTAINS(c.o["k-x"], 2)`, []string{"2"}},
		{`SELECT * FROM root r WHERE r.n <> 0 ORDER BY r.pk DESC, r.n`, []string{"2", "5", "1", "4", "3"}},
		{`SELECT TOP 2 * FROM c ORDER BY c.n DESC`, []string{"5", "4"}},
		{`SELECT * FROM c ORDER BY c.n OFFSET 1 LIMIT 2`, []string{"1", "2"}},
		{`SELECT c.id, c.n AS m FROM c WHERE c.n = 2`, []string{"2"}},
		{`SELECT VALUE c.n FROM c WHERE c.n < 2`, []string{"0", "1"}},
		{`SELECT VALUE COUNT(1) FROM c WHERE c.n < 4`, []string{"4"}},
	} {
		require.Equal(t, row.want, found(t, items, row.query, azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{QueryParameters: parameters}), row.query)
	}
	require.Equal(t, []string{"0", "3"}, found(t, items, "SELECT * FROM c", pk("p0"), nil), "one partition only")
	for _, bad := range []string{
		`SELECT`, `SELECT * FROM c WHERE`, `SELECT * FROM c JOIN d`, `SELECT * FROM c WHERE d.x = 1`, `SELECT * FROM c WHERE c.x = @none`,
		`SELECT * FROM c WHERE LOWER(c.x) = 'x'`, `SELECT * FROM c WHERE c.x = 'open`, `SELECT SUM(c.n) FROM c`, `SELECT * FROM c GROUP BY c.x`, `SELECT VALUE COUNT(1`,
	} {
		_, err := items.NewQueryItemsPager(bad, azcosmos.NewPartitionKey(), nil).NextPage(ctx)
		require.Equal(t, 400, status(err), bad)
	}
}

// found runs a query over all pages and returns the ids, or the values that are no objects.
func found(t *testing.T, items *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey, o *azcosmos.QueryOptions) (ids []string) {
	t.Helper()
	pager := items.NewQueryItemsPager(query, key, o)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		require.NoError(t, err, query)
		for _, item := range page.Items {
			if item[0] == '{' {
				ids = append(ids, fmt.Sprint(field(t, item, "id")))
			} else {
				ids = append(ids, string(item))
			}
		}
	}
	return ids
}

// TestPaging: pages are of the size that was asked for, and together they are the result.
func TestPaging(t *testing.T) {
	g, _ := account(t, gateway.Options{})
	items, ctx := client(t, g.Endpoint(), g.Transport()), t.Context()
	for i := range 7 {
		_, err := items.CreateItem(ctx, pk("a"), doc(strconv.Itoa(i), "a", i), nil)
		require.NoError(t, err)
	}
	var sizes []int
	pager := items.NewQueryItemsPager("SELECT * FROM c ORDER BY c.n DESC", pk("a"), &azcosmos.QueryOptions{PageSizeHint: 3})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		require.NoError(t, err)
		sizes = append(sizes, len(page.Items))
	}
	require.Equal(t, []int{3, 3, 1}, sizes)
	require.Equal(t, []string{"6", "5", "4", "3", "2", "1", "0"},
		found(t, items, "SELECT * FROM c ORDER BY c.n DESC", pk("a"), &azcosmos.QueryOptions{PageSizeHint: 2}))
}

// TestMetadata: databases and containers, through azcosmos.
func TestMetadata(t *testing.T) {
	g := gateway.New(gateway.Options{Regions: []string{"East US"}})
	credential, err := azcosmos.NewKeyCredential(key)
	require.NoError(t, err)
	c, err := azcosmos.NewClientWithKey(g.Endpoint(), credential, &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: g.Transport()}})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = c.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "d"}, nil)
	require.NoError(t, err)
	_, err = c.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "d"}, nil)
	require.Equal(t, http.StatusConflict, status(err))
	db, err := c.NewDatabase("d")
	require.NoError(t, err)
	def := azcosmos.PartitionKeyDefinition{Paths: []string{"/a", "/b"}, Version: 2}
	made, err := db.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: def}, nil)
	require.NoError(t, err)
	require.NotEmpty(t, made.ContainerProperties.ResourceID)
	items, err := db.NewContainer("c")
	require.NoError(t, err)
	read, err := items.Read(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, azcosmos.PartitionKeyKindMultiHash, read.ContainerProperties.PartitionKeyDefinition.Kind)
	require.Equal(t, def.Paths, read.ContainerProperties.PartitionKeyDefinition.Paths)
	ttl := int32(60)
	read.ContainerProperties.DefaultTimeToLive = &ttl
	_, err = items.Replace(ctx, *read.ContainerProperties, nil)
	require.NoError(t, err)
	page, err := db.NewQueryContainersPager("SELECT * FROM c", nil).NextPage(ctx)
	require.NoError(t, err)
	require.Len(t, page.Containers, 1)
	require.Equal(t, ttl, *page.Containers[0].DefaultTimeToLive)
	bases, err := c.NewQueryDatabasesPager("SELECT * FROM c WHERE c.id = 'd'", nil).NextPage(ctx)
	require.NoError(t, err)
	require.Len(t, bases.Databases, 1)
	_, err = items.Delete(ctx, nil)
	require.NoError(t, err)
	_, err = items.Read(ctx, nil)
	require.Equal(t, 404, status(err))
	_, err = db.Delete(ctx, nil)
	require.NoError(t, err)
	_, err = db.Read(ctx, nil)
	require.Equal(t, 404, status(err))
	require.Empty(t, slices.DeleteFunc(g.Log(), func(e gateway.Entry) bool { return e.Region == "East US" || e.Operation == "account" }))
}
