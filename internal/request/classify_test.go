package request

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// head builds a header as azcosmos does, through http.Header.
func head(pairs ...string) map[string][]string {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

const link = "dbs/d/colls/c"

func TestClassifyTable(t *testing.T) {
	docs, doc := "/"+link+"/docs", "/"+link+"/docs/i"
	query := []string{"x-ms-documentdb-query", "True"}
	for _, c := range []struct {
		method, path string
		header       []string
		res          Resource
		op           Operation
		write, meta  bool
		name         string
	}{
		{"GET", "", nil, ResDatabaseAccount, OpRead, false, false, "read_account"},
		{"GET", "/", nil, ResDatabaseAccount, OpRead, false, false, "read_account"},
		{"", "/", nil, ResDatabaseAccount, OpRead, false, false, "read_account"},
		{"GET", "/dbs", nil, ResDatabase, OpReadFeed, false, true, "read_all_databases"},
		{"POST", "/dbs", nil, ResDatabase, OpCreate, true, true, "create_database"},
		{"POST", "/dbs", query, ResDatabase, OpQuery, false, true, "query_databases"},
		{"GET", "/dbs/d", nil, ResDatabase, OpRead, false, true, "read_database"},
		{"DELETE", "/dbs/d", nil, ResDatabase, OpDelete, true, true, "delete_database"},
		{"GET", "/dbs/d/colls", nil, ResCollection, OpReadFeed, false, true, "read_all_containers"},
		{"POST", "/dbs/d/colls", nil, ResCollection, OpCreate, true, true, "create_container"},
		{"POST", "/dbs/d/colls", query, ResCollection, OpQuery, false, true, "query_containers"},
		{"GET", "/" + link, nil, ResCollection, OpRead, false, true, "read_container"},
		{"PUT", "/" + link, nil, ResCollection, OpReplace, true, true, "replace_container"},
		{"DELETE", "/" + link, nil, ResCollection, OpDelete, true, true, "delete_container"},
		{"GET", docs, nil, ResDocument, OpReadFeed, false, false, "read_all_items"},
		{"GET", docs, []string{"A-IM", "Incremental Feed"}, ResDocument, OpReadFeed, false, false, "query_change_feed"},
		{"POST", docs, nil, ResDocument, OpCreate, true, false, "create_item"},
		{"POST", docs, query, ResDocument, OpQuery, false, false, "query_items"},
		{"POST", docs, []string{"x-ms-documentdb-query", "true"}, ResDocument, OpQuery, false, false, "query_items"},
		{"POST", docs, []string{"x-ms-documentdb-query", "false"}, ResDocument, OpCreate, true, false, "create_item"},
		{"POST", docs, []string{"x-ms-documentdb-is-upsert", "True"}, ResDocument, OpUpsert, true, false, "upsert_item"},
		{"POST", docs, []string{"x-ms-cosmos-is-batch-request", "true"}, ResDocument, OpBatch, true, false, "execute_batch"},
		{"POST", docs, append([]string{"x-ms-cosmos-is-batch-request", "True"}, query...), ResDocument, OpBatch, true, false, "execute_batch"},
		{"POST", docs, append([]string{"x-ms-documentdb-is-upsert", "True"}, query...), ResDocument, OpQuery, false, false, "query_items"},
		{"GET", doc, nil, ResDocument, OpRead, false, false, "read_item"},
		{"PUT", doc, nil, ResDocument, OpReplace, true, false, "replace_item"},
		{"PUT", doc, query, ResDocument, OpReplace, true, false, "replace_item"},
		{"PATCH", doc, nil, ResDocument, OpPatch, true, false, "patch_item"},
		{"DELETE", doc, nil, ResDocument, OpDelete, true, false, "delete_item"},
		{"GET", "/" + link + "/pkranges", []string{"A-IM", "Incremental Feed"}, ResPartitionKeyRange, OpReadFeed, false, true, "read_partition_key_ranges"},
		{"GET", "/offers", nil, ResOffer, OpReadFeed, false, true, "read_all_throughput"},
		{"POST", "/offers", query, ResOffer, OpQuery, false, true, "query_throughput"},
		{"GET", "/offers/o/", nil, ResOffer, OpRead, false, true, "read_throughput"},
		{"PUT", "/offers/o/", nil, ResOffer, OpReplace, true, true, "replace_throughput"},
	} {
		t.Run(c.method+" "+c.path+" "+strings.Join(c.header, ":"), func(t *testing.T) {
			i := Classify(c.method, c.path, head(c.header...))
			assert.Equal(t, c.res, i.Resource)
			assert.Equal(t, c.op, i.Operation)
			assert.Equal(t, c.write, i.Write(), "write")
			assert.Equal(t, c.meta, i.Metadata(), "metadata")
			assert.Equal(t, c.name, i.Name())
			assert.True(t, i.Known())
			assert.Equal(t, c.res == ResDatabaseAccount, IsAccountRead(c.method, c.path))
		})
	}
}

func TestClassifyUnknown(t *testing.T) {
	for _, c := range []struct {
		method, path string
		write        bool
	}{
		{"HEAD", "/", false},
		{"POST", "/", true},
		{"get", "/dbs/d", false}, // methods are case-sensitive
		{"GET", "//", false},
		{"GET", "///", false},
		{"GET", "//dbs/d", false},
		{"GET", "/dbs//", false},
		{"GET", "/dbs//colls/c", false},
		{"GET", "/dbs/d//colls/c", false},
		{"GET", "/dbs/d/colls//docs", false},
		{"GET", "/" + link + "//docs", false},
		{"GET", "/" + link + "/docs//", false},
		{"GET", "/" + link + "/docs//i", false},
		{"GET", "/" + link + "/docs/i/j", false},
		{"GET", "/" + link + "/docs/i/attachments", false},
		{"GET", "/" + link + "/pkranges/0", false},
		{"POST", "/" + link + "/sprocs/s", true},
		{"GET", "/" + link + "/conflicts", false},
		{"GET", "/dbs/d/users", false},
		{"PATCH", "/" + link, true},
		{"PUT", "/dbs/d", true},
		{"POST", "/offers", true}, // without the query mark
		{"DELETE", "/offers/o", true},
		{"GET", "/offers/o/p", false},
		{"GET", "/offers//o", false},
		{"GET", "/Dbs/d", false},
		{"GET", "/prefix/dbs/d", false},
		{"DELETE", "/" + link + "/docs/", true}, // azcosmos sends it for an empty item id
		{"GET", strings.Repeat("/", 1<<16), false},
		{"GET", strings.Repeat("/dbs", 1<<16), false},
	} {
		i := Classify(c.method, c.path, nil)
		assert.Equal(t, Info{mutating: c.write}, i, "%s %.60s", c.method, c.path)
		assert.False(t, i.Known())
		assert.False(t, i.Metadata())
		assert.Equal(t, c.write, i.Write())
		assert.Empty(t, i.Name())
		assert.False(t, IsAccountRead(c.method, c.path))
	}
	assert.False(t, Classify("POST", "/x", head("x-ms-documentdb-query", "True")).Write(), "an unknown query")
}

func TestClassifyFields(t *testing.T) {
	escaped := (&url.URL{Path: "/dbs/d 1/colls/c/ü/docs/1/ü", RawPath: "/dbs/d%201/colls/c%2F%C3%BC/docs/1%2F%C3%BC"}).EscapedPath()
	i := Classify("GET", escaped, head("x-ms-documentdb-partitionkey", `["a"]`, "x-ms-session-token", "0:1#2"))
	assert.Equal(t, Info{
		Resource: ResDocument, Operation: OpRead, Database: "d%201", Container: "c%2F%C3%BC",
		ContainerLink: "dbs/d%201/colls/c%2F%C3%BC", PartitionKey: `["a"]`, SessionToken: true,
	}, i)
	assert.Equal(t, "d 1", i.DatabaseName())
	assert.Equal(t, "c/ü", i.ContainerName())

	i = Classify("GET", "/dbs/%zz/colls/%", nil)
	assert.Equal(t, "%zz", i.DatabaseName(), "broken escapes stay")
	assert.Equal(t, "%", i.ContainerName())

	i = Classify("POST", "/dbs/d/colls", nil)
	assert.Equal(t, "d", i.Database)
	assert.Empty(t, i.ContainerLink)
	i = Classify("GET", "/"+link+"/", nil)
	assert.Equal(t, link, i.ContainerLink, "without the trailing slash")

	i = Classify("GET", "/"+link+"/docs", head("x-ms-documentdb-partitionkeyrangeid", "7"))
	assert.Equal(t, "7", i.RangeID)
	assert.Empty(t, i.PartitionKey)
}

func TestClassifyContinuation(t *testing.T) {
	docs, ranges := "/"+link+"/docs", "/"+link+"/pkranges"
	feed := []string{"A-IM", "Incremental Feed"}
	etag := []string{"If-None-Match", `"5"`}
	for _, c := range []struct {
		name, method, path string
		header             []string
		want               bool
	}{
		{"query, first page", "POST", docs, []string{"x-ms-documentdb-query", "True"}, false},
		{"query, next page", "POST", docs, []string{"x-ms-documentdb-query", "True", "x-ms-continuation", "t"}, true},
		{"query, empty token", "POST", docs, []string{"x-ms-documentdb-query", "True", "x-ms-continuation", ""}, false},
		{"query, condition", "POST", docs, append([]string{"x-ms-documentdb-query", "True"}, etag...), false},
		{"change feed, start", "GET", docs, feed, false},
		{"change feed, from now", "GET", docs, append([]string{"If-None-Match", "*"}, feed...), false},
		{"change feed, next", "GET", docs, append(etag, feed...), true},
		{"list, condition", "GET", docs, etag, false},
		{"list, next page", "GET", docs, []string{"x-ms-continuation", "t"}, true},
		{"ranges, start", "GET", ranges, feed, false},
		{"ranges, next", "GET", ranges, append(etag, feed...), true},
		{"read, condition", "GET", docs + "/i", etag, false},
		{"create, stray token", "POST", docs, []string{"x-ms-continuation", "t"}, false},
	} {
		assert.Equal(t, c.want, Classify(c.method, c.path, head(c.header...)).Continuation, c.name)
	}
}

func TestClassifyHeaders(t *testing.T) {
	docs := "/" + link + "/docs"
	wire := map[string][]string{"x-ms-documentdb-query": {"true"}, "x-ms-documentdb-partitionkey": {`["w"]`}, "x-ms-session-token": {"s"}}
	i := Classify("POST", docs, wire)
	assert.Equal(t, OpQuery, i.Operation)
	assert.Equal(t, `["w"]`, i.PartitionKey)
	assert.True(t, i.SessionToken)

	both := map[string][]string{HeaderPartitionKey: {`["c"]`, `["second"]`}, "x-ms-documentdb-partitionkey": {`["w"]`}}
	assert.Equal(t, `["c"]`, Classify("POST", docs, both).PartitionKey)

	empty := map[string][]string{HeaderPartitionKey: {}, HeaderSessionToken: nil, HeaderQuery: {""}, HeaderIsUpsert: {"", "true"}}
	assert.Equal(t, Info{Resource: ResDocument, Operation: OpCreate, Database: "d", Container: "c", ContainerLink: link}, Classify("POST", docs, empty))
	assert.Equal(t, Classify("POST", docs, nil), Classify("POST", docs, empty))

	assert.Equal(t, "a", Get(map[string][]string{"K": {"a", "b"}}, "K"))
	assert.Empty(t, Get(map[string][]string{"K": {"a"}}, "k"), "Get does not canonicalise")
	assert.Empty(t, Get(nil, "K"))
}

func TestHeaderKeys(t *testing.T) {
	for _, key := range []string{
		HeaderActivityID, HeaderAllowTentativeWrites, HeaderAuthorization, HeaderChangeFeed, HeaderConsistencyLevel, HeaderContentType,
		HeaderContinuation, HeaderDate, HeaderETag, HeaderHubRegionOnly, HeaderIfMatch, HeaderIfNoneMatch, HeaderIsBatch, HeaderIsUpsert,
		HeaderMaxItemCount, HeaderPartitionKey, HeaderPartitionKeyRangeID, HeaderQuery, HeaderRequestCharge, HeaderRequestDuration,
		HeaderRetryAfter, HeaderRetryAfterMS, HeaderSessionToken, HeaderSubStatus, HeaderVersion,
	} {
		assert.Equal(t, textproto.CanonicalMIMEHeaderKey(key), key)
	}
	for canonical, wire := range map[string]string{
		HeaderChangeFeed: wireChangeFeed, HeaderContinuation: wireContinuation, HeaderIfNoneMatch: wireIfNoneMatch, HeaderIsBatch: wireIsBatch,
		HeaderIsUpsert: wireIsUpsert, HeaderPartitionKey: wirePartitionKey, HeaderPartitionKeyRangeID: wirePartitionKeyRangeID,
		HeaderQuery: wireQuery, HeaderSessionToken: wireSessionToken,
	} {
		assert.Equal(t, strings.ToLower(canonical), wire)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, "PartitionKeyRange", ResPartitionKeyRange.String())
	assert.Equal(t, "Unknown", Resource(200).String())
	assert.Equal(t, "ReadFeed", OpReadFeed.String())
	assert.Equal(t, "Unknown", Operation(200).String())
	assert.Equal(t, "Infinity", KindInfinity.String())
	assert.Equal(t, "Invalid", Kind(200).String())
	assert.Empty(t, Info{Resource: 200, Operation: OpRead}.Name())
	assert.Empty(t, Info{Resource: ResDocument, Operation: 200}.Name())

	// Every row of the table has a name, and no two rows share one.
	seen := map[string]bool{}
	for _, r := range rules {
		for _, op := range append(r.operations[:], OpQuery, OpUpsert, OpBatch) {
			i := Info{Resource: r.resource, Operation: op}
			if special := op == OpUpsert || op == OpBatch; op == OpUnknown || special && r.resource != ResDocument || op == OpQuery && !r.query {
				continue
			}
			require.NotEmpty(t, i.Name(), "%v %v", r.resource, op)
			seen[i.Name()] = true
		}
	}
	assert.Len(t, seen, 26, "the entries of the table")
}

func TestClassifyAllocations(t *testing.T) {
	h := head(
		"x-ms-documentdb-partitionkey", `["a"]`, "x-ms-session-token", "s", "x-ms-continuation", "t", "A-IM", "Incremental Feed",
		"If-None-Match", "e", "x-ms-documentdb-partitionkeyrangeid", "0",
	)
	query := head("x-ms-documentdb-query", "True")
	var sink Info
	for _, path := range []string{
		"", "/", "/dbs", "/dbs/d", "/dbs/d/colls", "/" + link, "/" + link + "/docs", "/" + link + "/docs/a%2Fb",
		"/" + link + "/pkranges", "/offers", "/offers/o/", "/unknown", "//",
	} {
		for _, method := range []string{"", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"} {
			for _, header := range []map[string][]string{nil, h, query} {
				n := testing.AllocsPerRun(10, func() {
					sink = Classify(method, path, header)
					_, _, _ = sink.Name(), sink.Write(), sink.Metadata()
					_, _ = sink.DatabaseName(), sink.ContainerName()
				})
				assert.Zero(t, n, "%s %s", method, path)
			}
		}
	}
}

// pointRead is the header of ReadItem as azcosmos sends it.
func pointRead() map[string][]string {
	return head("x-ms-date", "Mon, 01 Jan 2024 00:00:00 GMT", "x-ms-version", "2020-11-05", "x-ms-cosmos-sdk-supportedcapabilities", "1",
		"x-ms-activity-id", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "x-ms-documentdb-partitionkey", `["tenant-1"]`,
		"Authorization", "type%3dmaster", "User-Agent", "azsdk-go-azcosmos/v1.5.0", "Accept", "application/json")
}

func BenchmarkClassifyPointRead(b *testing.B) {
	h := pointRead()
	b.ReportAllocs()
	for b.Loop() {
		Classify("GET", "/dbs/database/colls/container/docs/item-0001", h)
	}
}

func BenchmarkClassifyQuery(b *testing.B) {
	h := pointRead()
	http.Header(h).Set("x-ms-documentdb-query", "True")
	http.Header(h).Set("x-ms-continuation", "token")
	b.ReportAllocs()
	for b.Loop() {
		Classify("POST", "/dbs/database/colls/container/docs", h)
	}
}
