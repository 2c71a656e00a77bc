package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/require"
)

// do sends a raw request in memory and returns status/sub-status and body.
func do(t *testing.T, g *gateway.Gateway, method, url string, headers map[string]string, body string) (string, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	resp, err := g.Transport().Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return fmt.Sprintf("%d/%s", resp.StatusCode, resp.Header.Get("x-ms-substatus")), string(b), resp.Header
}

// upsert writes an item with key p to a region and returns status/sub-status.
func upsert(t *testing.T, g *gateway.Gateway, region, p string) string {
	t.Helper()
	headers := map[string]string{"x-ms-documentdb-partitionkey": fmt.Sprintf("[%q]", p), "x-ms-documentdb-is-upsert": "true"}
	s, _, _ := do(t, g, http.MethodPost, g.RegionEndpoint(region)+"dbs/db/colls/items/docs", headers, string(doc("1", p, 1)))
	return s
}

// read reads the item with key p in a region, with the hub header or without.
func read(t *testing.T, g *gateway.Gateway, region, p string, hub bool) string {
	t.Helper()
	headers := map[string]string{"x-ms-documentdb-partitionkey": fmt.Sprintf("[%q]", p)}
	if hub {
		headers["x-ms-cosmos-hub-region-processing-only"] = "true"
	}
	s, _, _ := do(t, g, http.MethodGet, g.RegionEndpoint(region)+"dbs/db/colls/items/docs/1", headers, "")
	return s
}

// TestAccount: the account as each endpoint states it, and how it follows every change.
func TestAccount(t *testing.T) {
	g, _ := account(t, gateway.Options{Regions: []string{"East US", "West US 3"}})
	get := func(region string) map[string]any {
		s, body, header := do(t, g, http.MethodGet, g.RegionEndpoint(region), nil, "")
		require.Equal(t, "200/", s)
		require.Empty(t, header.Get("etag"))
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &m))
		return m
	}
	names := func(list any) (names []string) {
		for _, e := range list.([]any) {
			names = append(names, e.(map[string]any)["name"].(string))
		}
		return names
	}
	a := get(gateway.Global)
	require.Equal(t, "acct", a["id"])
	require.Equal(t, "acct-westus3", get("west-us-3")["id"])
	require.Equal(t, []any{
		map[string]any{"name": "East US", "databaseAccountEndpoint": "https://acct-eastus.documents.azure.test:443/"},
		map[string]any{"name": "West US 3", "databaseAccountEndpoint": "https://acct-westus3.documents.azure.test:443/"},
	}, a["readableLocations"])
	require.Equal(t, []string{"East US"}, names(a["writableLocations"]))
	require.Equal(t, false, a["enableMultipleWriteLocations"])
	require.NotContains(t, a, "enablePerPartitionFailoverBehavior")
	require.NotContains(t, a, "disableCrossRegionalHedging")
	require.Equal(t, map[string]any{"defaultConsistencyLevel": "Session"}, a["userConsistencyPolicy"])

	yes, no := true, false
	g.SetFlags(&yes, &no)
	g.SetMultiWrite(true)
	g.SetWriteRegion("west us 3")
	a = get("East US")
	require.Equal(t, true, a["enablePerPartitionFailoverBehavior"])
	require.Equal(t, false, a["disableCrossRegionalHedging"])
	require.Equal(t, []string{"West US 3", "East US"}, names(a["writableLocations"]))
	require.Equal(t, []string{"East US", "West US 3"}, names(a["readableLocations"]))

	g.SetRegions("East US", "Central US")
	a = get("Central US")
	require.Equal(t, []string{"East US", "Central US"}, names(a["readableLocations"]))
	require.Equal(t, []string{"East US", "Central US"}, names(a["writableLocations"]), "the write region left, the first takes its place")
	s, _, _ := do(t, g, http.MethodGet, g.RegionEndpoint("West US 3"), nil, "")
	require.Equal(t, "403/1008", s)
	require.Equal(t, "403/1008", read(t, g, "West US 3", "a", false))
}

// TestWriteRegions: who accepts writes on each kind of account.
func TestWriteRegions(t *testing.T) {
	g, _ := account(t, gateway.Options{})
	require.Equal(t, "201/", upsert(t, g, "North Central US", "a"))
	require.Equal(t, "403/3", upsert(t, g, "West US", "a"))
	require.Equal(t, "200/", upsert(t, g, gateway.Global, "a"), "the global endpoint is the hub")
	require.Equal(t, "200/", read(t, g, "West US", "a", false))
	create := func(region string) string {
		s, _, _ := do(t, g, http.MethodPost, g.RegionEndpoint(region)+"dbs", nil, `{"id":"`+region+`"}`)
		return s
	}
	require.Equal(t, "403/3", create("West US"))
	g.SetWriteRegion("West US")
	require.Equal(t, "403/3", upsert(t, g, "North Central US", "a"))
	require.Equal(t, "200/", upsert(t, g, "West US", "a"))
	require.Equal(t, "200/", upsert(t, g, gateway.Global, "a"))
	g.SetMultiWrite(true)
	require.Equal(t, "200/", upsert(t, g, "Central US", "a"))
	require.Equal(t, "403/3", create("Central US"), "metadata is written in the hub, on a multi-write account too")
	require.Equal(t, "201/", create("West US"))
	e := g.Log()[2]
	require.Equal(t, []string{gateway.Global, "North Central US"}, []string{e.Region, e.Hub})
}

// twoKeys are keys that lie in different ranges.
func twoKeys(g *gateway.Gateway) (a, b string) {
	a = "k0"
	for i := range 100 {
		b = fmt.Sprintf("k%d", i)
		if g.RangeOf("items", `["k0"]`) != g.RangeOf("items", fmt.Sprintf("[%q]", b)) {
			break
		}
	}
	return a, b
}

// TestMoveRange: the write region of one range moves, moves again, is elected, and comes back; other ranges stay.
func TestMoveRange(t *testing.T) {
	g, _ := account(t, gateway.Options{Ranges: 2})
	a, b := twoKeys(g)
	id := g.RangeOf("items", fmt.Sprintf("[%q]", a))
	regions := []string{"North Central US", "West US", "Central US", gateway.Global}
	check := func(p string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range regions {
			s := upsert(t, g, r, p)
			require.Equal(t, s[:3] == "403", read(t, g, r, p, true)[:3] == "403", "the hub header sees what writes see in %s", r)
			require.NotEqual(t, "403/3", read(t, g, r, p, false))
			if s != "403/3" {
				got = append(got, r)
			}
		}
		require.Equal(t, want, got)
	}
	check(a, "North Central US", gateway.Global)
	g.MoveRange("items", id, "westus")
	check(a, "West US")
	check(b, "North Central US", gateway.Global)
	g.MoveRange("items", id, "Central US")
	check(a, "Central US")
	g.Elect("items", id)
	check(a)
	check(b, "North Central US", gateway.Global)
	g.SetWriteRegion("West US")
	check(a)
	g.MoveRange("items", id, "")
	check(a, "West US", gateway.Global)
	g.MoveRange("", "", "Central US")
	check(a, "Central US")
	check(b, "Central US")
	g.MoveRange("items", "", "West US")
	check(b, "West US", gateway.Global)
	g.SetMultiWrite(true)
	check(b, regions...)
}

// TestSplit: the parent is gone, the children name it and share its keys, its write region and its items; tokens never go back.
func TestSplit(t *testing.T) {
	g, _ := account(t, gateway.Options{Ranges: 2})
	url := g.RegionEndpoint("North Central US") + "dbs/db/colls/items/"
	feed := func(etag string) (string, []map[string]any, string) {
		s, body, header := do(t, g, http.MethodGet, url+"pkranges", map[string]string{"A-IM": "Incremental feed", "If-None-Match": etag}, "")
		var page struct{ PartitionKeyRanges []map[string]any }
		if body != "" {
			require.NoError(t, json.Unmarshal([]byte(body), &page))
		}
		return s, page.PartitionKeyRanges, header.Get("etag")
	}
	s, all, etag := feed("")
	require.Equal(t, "200/", s)
	require.Len(t, all, 2)
	s, _, _ = feed(etag)
	require.Equal(t, "304/", s)
	a, _ := twoKeys(g)
	id := g.RangeOf("items", fmt.Sprintf("[%q]", a))
	g.MoveRange("items", id, "West US")
	require.Equal(t, "201/", upsert(t, g, "West US", a))
	left, right := g.Split("items", id)
	require.Equal(t, []string{"2", "3"}, []string{left, right})
	s, children, _ := feed(etag)
	require.Equal(t, "200/", s)
	require.Len(t, children, 2, "only what is new")
	for _, c := range children {
		require.Equal(t, []any{id}, c["parents"])
	}
	s, _, _ = do(t, g, http.MethodPost, url+"docs", map[string]string{"x-ms-documentdb-query": "True", "x-ms-documentdb-partitionkeyrangeid": id}, `{"query":"SELECT * FROM c"}`)
	require.Equal(t, "410/1002", s)
	require.Equal(t, "200/", upsert(t, g, "West US", a))
	require.Equal(t, "403/3", upsert(t, g, "North Central US", a))
	e := g.Log()[len(g.Log())-2]
	require.Contains(t, []string{left, right}, e.Range)
	require.Len(t, g.Ranges("items"), 3)
	l, r := g.Split("items", "nowhere")
	require.Empty(t, l+r)
}

// TestRangesShareTheKeys: in each kind of container the ranges have about the same number of keys, and every key has one range.
func TestRangesShareTheKeys(t *testing.T) {
	for name, definition := range map[string]string{
		"v1":        `{"paths":["/pk"],"kind":"Hash"}`,
		"v2":        `{"paths":["/pk"],"kind":"Hash","version":2}`,
		"multihash": `{"paths":["/pk","/x"],"kind":"MultiHash","version":2}`,
	} {
		g := gateway.New(gateway.Options{Ranges: 4})
		url := g.RegionEndpoint("North Central US") + "dbs"
		s, _, _ := do(t, g, http.MethodPost, url, nil, `{"id":"db"}`)
		require.Equal(t, "201/", s)
		s, _, _ = do(t, g, http.MethodPost, url+"/db/colls", nil, `{"id":"`+name+`","partitionKey":`+definition+`}`)
		require.Equal(t, "201/", s)
		count := map[string]int{}
		for i := range 400 {
			if name == "multihash" {
				count[g.RangeOf(name, fmt.Sprintf(`["k%d",%d]`, i, i))]++
			} else {
				count[g.RangeOf(name, fmt.Sprintf(`["k%d"]`, i))]++
			}
		}
		for _, id := range g.Ranges(name) {
			require.InDelta(t, 100, count[id], 40, "%s: %v", name, count)
		}
		require.Len(t, count, 4, name)
	}
}

// TestReadManyAndChangeFeed: azcosmos' read-many and change feed over several ranges, before and after a split, in one pass each.
func TestReadManyAndChangeFeed(t *testing.T) {
	for name, paths := range map[string][]string{"hash": {"/pk"}, "hierarchical": {"/pk", "/id"}} {
		t.Run(name, func(t *testing.T) {
			eachUpstream(t, gateway.Options{Ranges: 4}, func(t *testing.T, g *gateway.Gateway, s *gateway.Store) {
				s.CreateContainer("db", name, paths...)
				credential, err := azcosmos.NewKeyCredential(key)
				require.NoError(t, err)
				c, err := azcosmos.NewClientWithKey(g.Endpoint(), credential, &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: g.Transport()}})
				require.NoError(t, err)
				items, err := c.NewContainer("db", name)
				require.NoError(t, err)
				testFeeds(t, g, items, len(paths) > 1)
			})
		})
	}
}

func testFeeds(t *testing.T, g *gateway.Gateway, items *azcosmos.ContainerClient, hierarchical bool) {
	t.Helper()
	var all []azcosmos.ItemIdentity
	var ids []string
	for i := range 40 {
		id := fmt.Sprintf("%02d", i)
		p := pk(fmt.Sprintf("p%d", i%20))
		body := doc(id, fmt.Sprintf("p%d", i%20), i)
		if hierarchical {
			p = p.AppendString(id)
		}
		_, err := items.CreateItem(t.Context(), p, body, nil)
		require.NoError(t, err)
		all, ids = append(all, azcosmos.ItemIdentity{ID: id, PartitionKey: p}), append(ids, id)
	}
	used := map[string]bool{}
	for _, e := range g.Log() {
		used[e.Range] = true
	}
	delete(used, "")
	require.Len(t, used, 4, "the keys are spread over all ranges")

	readAll := func() (got []string) {
		r, err := items.ReadManyItems(t.Context(), all, nil)
		require.NoError(t, err)
		for _, item := range r.Items {
			got = append(got, field(t, item, "id").(string))
		}
		sort.Strings(got)
		return got
	}
	require.Equal(t, ids, readAll())
	seen := changes(t, items)
	require.Equal(t, ids, slices.Sorted(maps.Keys(seen)))
	if hierarchical {
		require.Equal(t, []string{"03", "23"}, found(t, items, "SELECT * FROM c", pk("p3"), nil), "a prefix of the key")
	}
	g.Split(items.ID(), "1")
	g.Split(items.ID(), "3")
	require.Equal(t, ids, readAll())
	require.Equal(t, seen, changes(t, items))
	require.NotContains(t, g.Regions(nil), gateway.Global)
}

// changes drains the change feed of all feed ranges and counts how often each item came.
func changes(t *testing.T, items *azcosmos.ContainerClient) map[string]int {
	t.Helper()
	ranges, err := items.ReadFeedRanges(t.Context(), nil)
	require.NoError(t, err)
	seen := map[string]int{}
	for i := range ranges {
		o := &azcosmos.ChangeFeedOptions{FeedRange: &ranges[i], MaxItemCount: 7}
		for {
			r, err := items.ReadChangeFeed(t.Context(), o)
			require.NoError(t, err)
			if len(r.Items) == 0 {
				break
			}
			for _, item := range r.Items {
				seen[field(t, item, "id").(string)]++
			}
			o = &azcosmos.ChangeFeedOptions{Continuation: &r.ContinuationToken, MaxItemCount: 7}
		}
	}
	for id, n := range seen {
		require.Equal(t, 1, n, id)
	}
	return seen
}

// TestRules: skip, hits, probability, delay and each condition decide which requests are hit.
func TestRules(t *testing.T) {
	g, _ := account(t, gateway.Options{Ranges: 2, Seed: 7})
	a, b := twoKeys(g)
	try := func(n int, p string) string {
		var got strings.Builder
		for range n {
			got.WriteString(strings.TrimSuffix(read(t, g, "West US", p, false), "/") + " ")
		}
		return got.String()
	}
	f := g.Inject(gateway.Rule{Status: 503, Skip: 1, Hits: 2})
	require.Equal(t, "404 503 503 404 ", try(4, a))
	require.Equal(t, 2, f.Hits())
	f.Remove()
	f.Remove()
	for _, r := range []gateway.Rule{
		{Region: "westus", Operations: []string{"read"}, Container: "items", Key: fmt.Sprintf("[ %q ]", a), Path: "docs/1"},
		{Range: g.RangeOf("items", fmt.Sprintf("[%q]", a)), Operations: []string{"query", "readop"}},
	} {
		r.Status, r.SubStatus = 410, 1022
		f := g.Inject(r)
		require.Equal(t, "410/1022 ", try(1, a))
		require.Equal(t, "404 ", try(1, b))
		f.Remove()
	}
	for _, r := range []gateway.Rule{{Region: gateway.Global}, {Operations: []string{"write", "meta", "account"}}, {Container: "other"}, {Path: "other"}, {Range: "9"}} {
		r.Status = 503
		f := g.Inject(r)
		require.Equal(t, "404 ", try(1, a), "%+v", r)
		f.Remove()
	}
	f = g.Inject(gateway.Rule{Status: 503, Probability: 0.5})
	try(200, a)
	require.InDelta(t, 100, f.Hits(), 30)
	g.RemoveAll()
	require.Equal(t, "404 ", try(1, a))
}

// TestUnknownHost: a name that is no endpoint does not resolve.
func TestUnknownHost(t *testing.T) {
	g := gateway.New(gateway.Options{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.RegionEndpoint("Mars"), nil)
	require.NoError(t, err)
	err = fail(g.RoundTripper().RoundTrip(r))
	require.ErrorContains(t, err, "dial tcp: lookup acct-mars.documents.azure.test: no such host")
	require.Empty(t, g.Log())
}
