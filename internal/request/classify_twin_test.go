package request

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twin says the same as Classify in the plainest way: it splits the path, writes
// the table of the package comment as one list of patterns, and canonicalises.
func twin(method, path string, header map[string][]string) Info {
	value := func(name string) string {
		for _, key := range []string{http.CanonicalHeaderKey(name), strings.ToLower(name)} {
			if v := header[key]; len(v) > 0 && v[0] != "" {
				return v[0]
			}
		}
		return ""
	}
	isTrue := func(name string) bool { return strings.ToLower(value(name)) == "true" }
	if method == "" {
		method = "GET"
	}
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	if path == "" || path == "/" {
		segments = nil
	} else if slices.Contains(segments, "") {
		segments = []string{"unknown"}
	}
	row, ok := twinRows[method+" "+twinPattern(segments)]
	if method == "POST" && ok && isTrue("x-ms-documentdb-query") && row.res != ResUnknown {
		row.op = OpQuery
	} else if row.op == OpCreate && row.res == ResDocument && isTrue("x-ms-documentdb-is-upsert") {
		row.op = OpUpsert
	}
	if method == "POST" && row.res == ResDocument && isTrue("x-ms-cosmos-is-batch-request") {
		row.op = OpBatch
	}
	if row.op == OpUnknown {
		writes := slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method)
		query := method == "POST" && isTrue("x-ms-documentdb-query")
		return Info{mutating: writes && !query}
	}
	i := Info{Resource: row.res, Operation: row.op, SessionToken: value("x-ms-session-token") != ""}
	if len(segments) > 1 && segments[0] == "dbs" {
		i.Database = segments[1]
	}
	if len(segments) > 3 {
		i.Container = segments[3]
		i.ContainerLink = strings.Join(segments[:4], "/")
	}
	if row.res == ResDocument {
		i.PartitionKey = value("x-ms-documentdb-partitionkey")
	}
	page := row.op == OpQuery || row.op == OpReadFeed
	if page && row.res == ResDocument {
		i.RangeID = value("x-ms-documentdb-partitionkeyrangeid")
	}
	changes := row.op == OpReadFeed && value("A-IM") != ""
	i.ChangeFeed = changes && row.res == ResDocument
	i.Continuation = page && value("x-ms-continuation") != "" ||
		changes && value("If-None-Match") != "" && value("If-None-Match") != "*"
	return i
}

type twinRow struct {
	res Resource
	op  Operation
}

// twinRows is the table. POST /offers is there for the query only.
var twinRows = map[string]twinRow{
	"GET ":                        {ResDatabaseAccount, OpRead},
	"GET dbs":                     {ResDatabase, OpReadFeed},
	"POST dbs":                    {ResDatabase, OpCreate},
	"GET dbs/*":                   {ResDatabase, OpRead},
	"DELETE dbs/*":                {ResDatabase, OpDelete},
	"GET dbs/*/colls":             {ResCollection, OpReadFeed},
	"POST dbs/*/colls":            {ResCollection, OpCreate},
	"GET dbs/*/colls/*":           {ResCollection, OpRead},
	"PUT dbs/*/colls/*":           {ResCollection, OpReplace},
	"DELETE dbs/*/colls/*":        {ResCollection, OpDelete},
	"GET dbs/*/colls/*/docs":      {ResDocument, OpReadFeed},
	"POST dbs/*/colls/*/docs":     {ResDocument, OpCreate},
	"GET dbs/*/colls/*/docs/*":    {ResDocument, OpRead},
	"PUT dbs/*/colls/*/docs/*":    {ResDocument, OpReplace},
	"PATCH dbs/*/colls/*/docs/*":  {ResDocument, OpPatch},
	"DELETE dbs/*/colls/*/docs/*": {ResDocument, OpDelete},
	"GET dbs/*/colls/*/pkranges":  {ResPartitionKeyRange, OpReadFeed},
	"GET offers":                  {ResOffer, OpReadFeed},
	"POST offers":                 {ResOffer, OpUnknown},
	"GET offers/*":                {ResOffer, OpRead},
	"PUT offers/*":                {ResOffer, OpReplace},
}

// twinPattern replaces the ids, which are the segments at odd places.
func twinPattern(segments []string) string {
	pattern := slices.Clone(segments)
	for i := 1; i < len(pattern); i += 2 {
		pattern[i] = "*"
	}
	return strings.Join(pattern, "/")
}

// headerFromBits picks headers and spellings, so that a fuzzer's one number
// reaches every combination of marks.
func headerFromBits(bits uint32, value string) map[string][]string {
	if bits == 0 {
		return nil
	}
	names := []string{
		"x-ms-documentdb-query", "x-ms-documentdb-is-upsert", "x-ms-cosmos-is-batch-request", "x-ms-documentdb-partitionkey",
		"x-ms-documentdb-partitionkeyrangeid", "x-ms-session-token", "x-ms-continuation", "A-IM", "If-None-Match",
	}
	values := []string{"True", "true", value, ""}
	h := map[string][]string{}
	for n, name := range names {
		choice := bits >> (3 * n) & 7
		key := http.CanonicalHeaderKey(name)
		if choice&4 != 0 {
			key = strings.ToLower(name)
		}
		if choice != 0 {
			h[key] = []string{values[choice&3]}
		}
	}
	return h
}

func checkAgainstTwin(t *testing.T, method, path string, header map[string][]string) {
	t.Helper()
	got, want := Classify(method, path, header), twin(method, path, header)
	require.Equal(t, want, got, "%q %q %v", method, path, header)
	require.Equal(t, got.Resource == ResDatabaseAccount, IsAccountRead(method, path))
	require.Equal(t, got.Resource == ResUnknown, got.Operation == OpUnknown)
	require.Equal(t, got.Known(), got.Name() != "")
	require.Contains(t, path, got.ContainerLink)
	require.False(t, got.Metadata() && (got.Resource == ResDocument || !got.Known()))
	if query := got.Operation == OpQuery; got.Known() {
		require.Equal(t, method != "" && method != "GET" && !query, got.Write())
	}
}

func TestClassifyAgainstTwin(t *testing.T) {
	parts := []string{"", "dbs", "colls", "docs", "pkranges", "offers", "id", "a%2Fb"}
	var paths func(depth int, prefix string) []string
	paths = func(depth int, prefix string) []string {
		all := []string{prefix}
		if depth > 0 {
			for _, p := range parts {
				all = append(all, paths(depth-1, prefix+"/"+p)...)
			}
		}
		return all
	}
	tails := []string{"", "/docs", "/docs/", "/docs/i", "/docs/i/", "/docs/i/j", "/docs//", "/pkranges", "/pkranges/0", "/docsx", "/sprocs"}
	all := paths(4, "")
	for _, tail := range tails {
		all = append(all, "/dbs/d/colls/c"+tail, "dbs/d/colls/c"+tail, "//dbs/d/colls/c"+tail, "/dbs/d/colls"+tail)
	}
	n := uint32(1)
	for _, path := range all {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "", "get"} {
			n = n*1664525 + 1013904223
			checkAgainstTwin(t, method, path, headerFromBits(n>>4, "v"))
			checkAgainstTwin(t, method, path, nil)
		}
	}
	for n := range uint32(8 * 8 * 8) { // all marks, in all spellings
		checkAgainstTwin(t, "POST", "/dbs/d/colls/c/docs", headerFromBits(n, "TRUE"))
	}
	assert.Greater(t, len(all), 4000)
}

// checkItems compares Items and IsItemQuery with Classify. Of canonical paths, as azcosmos writes them, Items must know
// every request for a document and every POST to the documents.
func checkItems(t *testing.T, method, path string, header map[string][]string, canonical bool) {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		return
	}
	i := Classify(method, u.EscapedPath(), header)
	items := i.Resource == ResDocument && i.Operation != OpUnknown && i.Operation != OpReadFeed
	link, ok := Items(method, u)
	assert.False(t, ok && !items, "%s %s", method, path)
	if ok && u.EscapedPath() == u.Path {
		assert.Equal(t, i.ContainerLink, link, "%s %s", method, path)
	}
	if canonical {
		assert.Equal(t, items, ok, "%s %s", method, path)
	}
	if ok && method == "POST" {
		assert.Equal(t, i.Write(), i.Operation != OpQuery, "%s %s %v", method, path, header)
		assert.False(t, i.Write() && IsItemQuery(header), "%s %s %v", method, path, header)
		if Get(header, wireQuery) == "" {
			assert.Equal(t, i.Write(), !IsItemQuery(header), "%s %s %v", method, path, header)
		}
	}
	if ok && method != "POST" {
		assert.Equal(t, i.Write(), method != "GET", "%s %s", method, path)
	}
}

func TestItems(t *testing.T) {
	for path, canonical := range map[string]bool{
		"https://h/dbs/d/colls/c/docs/i":         true,
		"https://h/dbs/d%20/colls/%C3%BC/docs/i": true,
		"/dbs/dbs/colls/docs/docs/colls":         true,
		"/dbs/colls/colls/docs/docs/docs":        true,
		"/dbs/d/colls/c/docs":                    true,
		"https://h/dbs/d%20/colls/%C3%BC/docs":   true,
		"/dbs/docs/colls/docs/docs":              true,
		"/dbs/d/colls/c/pkranges":                true,
		"/dbs/d/colls/c/docsi":                   true,
		"/dbs/d/colls/c":                         true,
		"/dbs/d/users/c/docs/i":                  true,
		"/dbs/d/colls/c/sprocs/i":                true,
		"/dbs//colls/c/docs/i":                   true,
		"/dbs//colls/c/docs":                     true,
		"/dbs/d/colls//docs/i":                   true,
		"/dbs/d/colls//docs":                     true,
		"/dbs/d/colls/docs/i":                    true,
		"/dbs/d/colls/docs":                      true,
		"/dbs/d/colls/docs/docs/":                false,
		"/offers/o/colls/c/docs/i":               true,
		"/":                                      true,
		"":                                       true,
		"/dbs/d/colls/c/docs/i%2Fj":              false,
		"/dbs/d/colls/c/docs/i/":                 false,
		"dbs/d/colls/c/docs/i":                   false,
		"dbs/d/colls/c/docs":                     false,
		"//dbs/d/colls/c/docs/i":                 false,
	} {
		for _, method := range []string{"", "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "get"} {
			checkItems(t, method, path, nil, canonical && method != "")
			checkItems(t, method, path, map[string][]string{HeaderQuery: {"True"}}, canonical && method != "")
		}
	}
	for n := range uint32(8 * 8 * 8) { // all marks, in all spellings
		checkItems(t, "POST", "/dbs/d/colls/c/docs", headerFromBits(n, "TRUE"), true)
	}
	u := &url.URL{Path: "/dbs/d/colls/c/docs/i"}
	assert.Zero(t, testing.AllocsPerRun(100, func() { Items("GET", u) }))
}

func FuzzClassify(f *testing.F) {
	f.Add("GET", "/dbs/d/colls/c/docs/i", uint32(0), "")
	f.Add("POST", "/dbs/d/colls/c/docs/", uint32(1), `["a"]`)
	f.Add("POST", "//dbs/d/colls/c%2F/docs", uint32(0o123456701), "\x00")
	f.Add("GET", "/dbs/%/colls/%zz/pkranges", uint32(0o110000000), "*")
	f.Add("PUT", "offers/o//", uint32(7), "TRUE")
	f.Fuzz(func(t *testing.T, method, path string, bits uint32, value string) {
		h := headerFromBits(bits, value)
		checkAgainstTwin(t, method, path, h)
		checkItems(t, method, path, h, false)
		i := Classify(method, path, h)
		_, _ = i.DatabaseName(), i.ContainerName()
	})
}
