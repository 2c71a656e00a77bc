package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// stocked is a gateway over a store with a few items in two partitions, of every type that a query may meet.
func stocked(t *testing.T) (*gateway.Gateway, *gateway.Store) {
	t.Helper()
	s := gateway.NewStore()
	s.CreateContainer("db", "items", "/pk")
	g := gateway.New(gateway.Options{Upstream: s, Ranges: 2})
	for i, content := range []string{
		`"n":1,"s":"a","l":[1,"x",{"y":2}]`, `"n":2.5,"s":"ä€","o":{"p":{"q":null}}`, `"n":null,"s":"","b":true`, `"s":"\"'\\"`,
	} {
		pk := string("ab"[i%2])
		body := fmt.Sprintf(`{"id":"%d","pk":%q,%s}`, i, pk, content)
		status, answer := ask(t, g, http.MethodPost, "/dbs/db/colls/items/docs", fmt.Sprintf("x-ms-documentdb-partitionkey: [%q]", pk), body)
		require.Equal(t, http.StatusCreated, status, "%s", answer)
	}
	return g, s
}

// ask sends a request with one header a line and returns the answer; 0 is none at all.
func ask(t *testing.T, g *gateway.Gateway, method, path, header, body string) (status int, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(g.Endpoint(), "/")+path, strings.NewReader(body))
	if err != nil {
		return 0, nil // net/http sends no such thing
	}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(line, ":")
		r.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	response, err := g.RoundTripper().RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, answer
}

// FuzzQuery: any text at all is a query with an answer in JSON, or a 400. A condition and its opposite have no item in common,
// and none that the query without a condition lacks; a window shows no more than it says.
func FuzzQuery(f *testing.F) {
	for _, condition := range []string{
		`c.n = 1`, `c.n > 1 AND NOT (c.s = 'a' OR c.b)`, `c.s IN ("a", @p)`, `c.o.p["q"] = null`, `c.l[0] = 1`, `STARTSWITH(c.s, 'ä')`,
		`ARRAY_CONTAINS(c.l, "x")`, `IS_DEFINED(c.n)`, `c.s = '\''`, `c.n = - 2e-1`, `((c.n))`, `c.l = c.l`, `€`, `c.n != undefined`,
		`c.l[1e300] = 1`, `1e300 LIMIT 1e300`, "\xff",
	} {
		f.Add(condition)
	}
	f.Fuzz(func(t *testing.T, condition string) {
		g, _ := stocked(t)
		query := func(text string) (list []json.RawMessage, ok bool) {
			body, err := json.Marshal(map[string]any{
				"query": text, "parameters": []any{map[string]any{"name": "@p", "value": 1}},
			})
			require.NoError(t, err)
			status, answer := ask(t, g, http.MethodPost, "/dbs/db/colls/items/docs", "x-ms-documentdb-query: true", string(body))
			require.True(t, json.Valid(answer), "%s", answer)
			if status == http.StatusBadRequest {
				return nil, false
			}
			require.Equal(t, http.StatusOK, status, "%s", answer)
			var page struct{ Documents []json.RawMessage }
			require.NoError(t, json.Unmarshal(answer, &page))
			return page.Documents, true
		}
		_, _ = query(condition)
		_, _ = query("SELECT " + condition + " FROM c")
		if window, ok := query("SELECT * FROM c OFFSET " + condition); ok {
			require.LessOrEqual(t, len(window), 4)
		}
		met, ok := query("SELECT VALUE c.id FROM c WHERE (" + condition + "\n)")
		if !ok {
			return
		}
		missed, ok := query("SELECT VALUE c.id FROM c WHERE NOT (" + condition + "\n)")
		require.True(t, ok)
		require.LessOrEqual(t, len(met)+len(missed), 4)
		for _, id := range met {
			require.NotContains(t, missed, id)
		}
	})
}

// FuzzRequest: any request at all has an answer of a status that HTTP knows, with a body that is JSON or empty. What was
// refused, and what only reads, has no effect, and the account can still be read.
func FuzzRequest(f *testing.F) {
	const item, docs, key = "/dbs/db/colls/items/docs/0", "/dbs/db/colls/items/docs", `x-ms-documentdb-partitionkey: ["a"]`
	for _, seed := range [][4]string{
		{"GET", item, key, ""},
		{"GET", docs, "a-im: Incremental Feed\nif-none-match: \"1\"\nx-ms-max-item-count: 1", ""},
		{"POST", docs, key + "\nx-ms-documentdb-is-upsert: true", `{"id":"0","pk":"a"}`},
		{"POST", docs, key + "\nx-ms-cosmos-is-batch-request: true", `[{"operationType":"Create","resourceBody":{"id":"0","pk":"a"}}]`},
		{"POST", docs, key + "\nx-ms-cosmos-is-batch-request: true", `[{"operationType":"Upsert","resourceBody":{"id":"7","pk":"a"}},{"operationType":"Read","id":"8"}]`},
		{"PATCH", item, key, `{"condition":"from c where c.n = 1","operations":[{"op":"incr","path":"/n","value":1},{"op":"add","path":"/l/-","value":1}]}`},
		{"PUT", item, key + "\nif-match: x", `{"id":"0","pk":"a"}`},
		{"DELETE", item, "x-ms-documentdb-partitionkey: [\"\\xff\"]", ""},
		{"GET", "/dbs/db/colls/items/pkranges", "if-none-match: \"1\"", ""},
		{"POST", "/dbs", "", `{"id":"d"}`},
		{"POST", "/dbs/db/colls", "", `{"id":"c","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}`},
		{"GET", "/dbs/%2F/colls/%zz/docs//", "x-ms-continuation: -1\nx-ms-documentdb-partitionkeyrangeid: 9", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, path, header, body string) {
		g, s := stocked(t)
		before := len(s.Executions("", ""))
		status, answer := ask(t, g, method, "/"+strings.TrimLeft(path, "/"), header, body)
		if status == 0 {
			return
		}
		require.True(t, status >= 200 && status < 600, status)
		require.True(t, len(bytes.TrimSpace(answer)) == 0 || json.Valid(answer), "%s", answer)
		if status >= 400 || method == http.MethodGet || method == http.MethodHead {
			require.Len(t, s.Executions("", ""), before, "%d has had an effect", status)
		}
		status, _ = ask(t, g, http.MethodGet, "/", "", "")
		require.Equal(t, http.StatusOK, status)
	})
}
