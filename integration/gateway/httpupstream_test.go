package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/require"
)

// accounts gives every test's account a name of its own: azcosmos keeps ranges per endpoint, process-wide.
var accounts atomic.Int64

// eachUpstream runs a test over the store, and over the same store behind HTTP.
func eachUpstream(t *testing.T, o gateway.Options, f func(t *testing.T, g *gateway.Gateway, s *gateway.Store)) {
	t.Helper()
	t.Run("store", func(t *testing.T) {
		o.Account = fmt.Sprintf("acct%d", accounts.Add(1))
		g, s := account(t, o)
		f(t, g, s)
	})
	t.Run("http", func(t *testing.T) {
		inner, s := account(t, gateway.Options{Regions: []string{"South Central US"}})
		l, err := inner.Listen(gateway.HTTP1)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		o.Account = fmt.Sprintf("acct%d", accounts.Add(1))
		o.Upstream, err = gateway.NewHTTPUpstream("http://"+l.Address(gateway.Global)+"/", gateway.Adapters{})
		require.NoError(t, err)
		f(t, gateway.New(o), s)
	})
}

// lookalike is a server that answers as vercel's does, and keeps the last request.
type lookalike struct {
	header http.Header
	path   string
	body   string
	status int
	answer string
}

func (e *lookalike) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/dbs/db/colls/items" {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `{"id":"items","_rid":"rid","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`)
		return
	}
	b, _ := io.ReadAll(r.Body)
	e.header, e.path, e.body = r.Header, r.URL.EscapedPath(), string(b)
	w.Header().Set("x-ms-documentdb-partitionkeyrangeid", "upstream's")
	w.WriteHeader(e.status)
	_, _ = io.WriteString(w, e.answer)
}

// TestVercelAdapters: what is added to requests and taken from answers.
func TestVercelAdapters(t *testing.T) {
	e := &lookalike{status: 404, answer: `{}`}
	server := httptest.NewServer(e)
	defer server.Close()
	up, err := gateway.NewHTTPUpstream(server.URL, gateway.VercelAdapters())
	require.NoError(t, err)
	g := gateway.New(gateway.Options{Upstream: up, Ranges: 2})
	docs := g.RegionEndpoint("North Central US") + "dbs/db/colls/items/docs"
	key := map[string]string{"x-ms-documentdb-partitionkey": `["a"]`}

	s, _, header := do(t, g, http.MethodGet, docs+"/1%2F%C3%BC", key, "")
	require.Equal(t, "404/", s)
	require.Equal(t, "/dbs/db/colls/items/docs/1%2F%C3%BC", e.path)
	require.Equal(t, "True", e.header.Get("x-ms-documentdb-query-enablecrosspartition"))
	id := g.RangeOf("items", `["a"]`)
	require.Equal(t, id, header.Get("x-ms-documentdb-partitionkeyrangeid"))
	require.Equal(t, id+":-1#1", header.Get("x-ms-session-token"))

	e.status, e.answer = 200, `[{"statusCode":200},{"statusCode":409}]`
	key["x-ms-cosmos-is-batch-request"] = "True"
	s, _, _ = do(t, g, http.MethodPost, docs, key, `[{"operationType":"Read","id":"1"}]`)
	require.Equal(t, "207/", s)
	require.JSONEq(t, `[{"operationType":"Read","id":"1","partitionKey":"[\"a\"]"}]`, e.body)
	delete(key, "x-ms-cosmos-is-batch-request")

	_, b := twoKeys(g)
	other := fmt.Sprintf(`{"id":"2","pk":%q,"_rid":"x"}`, b)
	e.answer = `{"_rid":"rid","Documents":[{"id":"1","pk":"a","_rid":"x"},` + other + `,7,{"n":1}],"_count":4}`
	count := func(headers map[string]string) int {
		headers["x-ms-documentdb-query"] = "True"
		s, body, header := do(t, g, http.MethodPost, docs, headers, `{"query":"SELECT * FROM c"}`)
		require.Equal(t, "200/", s)
		var page struct {
			Documents []any
			Count     int `json:"_count"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		require.Len(t, page.Documents, page.Count)
		if page.Count != 4 {
			require.Equal(t, strconv.Itoa(page.Count), header.Get("x-ms-item-count"))
		}
		return page.Count
	}
	require.Equal(t, 3, count(key), "values and projections stay, the other partition's item goes")
	require.Equal(t, 4, count(map[string]string{}))
	sum := count(map[string]string{"x-ms-documentdb-partitionkeyrangeid": "0"}) + count(map[string]string{"x-ms-documentdb-partitionkeyrangeid": "1"})
	require.Equal(t, 6, sum, "each item in one range, values in both")
	require.Empty(t, e.header.Get("x-ms-documentdb-partitionkeyrangeid"), "the gateway's ranges are unknown to the upstream")
	s, _, _ = do(t, g, http.MethodGet, g.RegionEndpoint("West US")+"dbs/db/colls/items/pkranges", nil, "")
	require.Equal(t, "200/", s, "the gateway answers for its ranges itself")
}

// TestUpstreamRefusal: what the upstream says of a wrong key reaches the client, on the account read too.
func TestUpstreamRefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"Unauthorized"}`)
	}))
	up, err := gateway.NewHTTPUpstream(server.URL, gateway.Adapters{})
	require.NoError(t, err)
	g := gateway.New(gateway.Options{Upstream: up})
	for _, path := range []string{"", "dbs/d/colls/c"} {
		s, body, _ := do(t, g, http.MethodGet, g.Endpoint()+path, nil, "")
		require.Equal(t, "401/", s)
		require.JSONEq(t, `{"code":"Unauthorized"}`, body)
	}
	server.Close()
	s, body, _ := do(t, g, http.MethodGet, g.Endpoint(), nil, "")
	require.Equal(t, "502/", s)
	require.Contains(t, body, "upstream: ")
	for _, bad := range []string{"", "127.0.0.1", "http://[", "://"} {
		_, err := gateway.NewHTTPUpstream(bad, gateway.Adapters{})
		require.Error(t, err, bad)
	}
}

// TestWriteOutlivesItsClient: a client that goes away does not undo a write that has reached the upstream.
func TestWriteOutlivesItsClient(t *testing.T) {
	arrived, finish, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/docs") {
			_, _ = io.Copy(io.Discard, r.Body)
			close(arrived)
			<-finish
			finished <- r.Context().Err()
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	up, err := gateway.NewHTTPUpstream(server.URL, gateway.Adapters{})
	require.NoError(t, err)
	g := gateway.New(gateway.Options{Upstream: up})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RegionEndpoint("North Central US")+"dbs/db/colls/items/docs", strings.NewReader(`{"id":"1"}`))
	require.NoError(t, err)
	start := time.Now()
	err = fail(g.Transport().Do(r))
	require.ErrorIs(t, err, ctx.Err())
	require.Less(t, time.Since(start), 5*time.Second)
	close(finish)
	require.NoError(t, <-finished, "the upstream's request is not cancelled")
	require.True(t, g.Log()[0].Cancelled)
}
