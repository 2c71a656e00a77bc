package request

import (
	"net/url"
	"strings"
)

// shape is what the path looks like, before the method has been considered.
type shape uint8

const (
	shapeUnknown shape = iota
	shapeAccount
	shapeDatabases
	shapeDatabase
	shapeCollections
	shapeCollection
	shapeDocuments
	shapeDocument
	shapeRanges
	shapeOffers
	shapeOffer
	shapeCount
)

// verb is the method; an empty one is GET, as in net/http.
type verb uint8

const (
	verbOther verb = iota
	verbGet
	verbPost
	verbPut
	verbPatch
	verbDelete
	verbCount
)

// rule is one row of the table in the package comment. The operation of a POST
// is the one without a mark.
type rule struct {
	resource   Resource
	operations [verbCount]Operation
	query      bool // a POST with the query mark is a query
}

var rules = [shapeCount]rule{
	shapeAccount:     {ResDatabaseAccount, [verbCount]Operation{verbGet: OpRead}, false},
	shapeDatabases:   {ResDatabase, [verbCount]Operation{verbGet: OpReadFeed, verbPost: OpCreate}, true},
	shapeDatabase:    {ResDatabase, [verbCount]Operation{verbGet: OpRead, verbDelete: OpDelete}, false},
	shapeCollections: {ResCollection, [verbCount]Operation{verbGet: OpReadFeed, verbPost: OpCreate}, true},
	shapeCollection:  {ResCollection, [verbCount]Operation{verbGet: OpRead, verbPut: OpReplace, verbDelete: OpDelete}, false},
	shapeDocuments:   {ResDocument, [verbCount]Operation{verbGet: OpReadFeed, verbPost: OpCreate}, true},
	shapeDocument: {ResDocument, [verbCount]Operation{
		verbGet: OpRead, verbPut: OpReplace, verbPatch: OpPatch, verbDelete: OpDelete,
	}, false},
	shapeRanges: {ResPartitionKeyRange, [verbCount]Operation{verbGet: OpReadFeed}, false},
	shapeOffers: {ResOffer, [verbCount]Operation{verbGet: OpReadFeed}, true},
	shapeOffer:  {ResOffer, [verbCount]Operation{verbGet: OpRead, verbPut: OpReplace}, false},
}

// Classify says what a request means; the package comment has the table. The
// path must be the escaped one (url.URL.EscapedPath), since ids may contain
// escaped slashes. The header may be nil; http.Header converts. What is not in
// the table is unknown. It never fails and never allocates; what it returns
// shares memory with its arguments.
func Classify(method, escapedPath string, header map[string][]string) Info {
	var info Info
	s := info.parsePath(escapedPath)
	v := verbOf(method)
	op := operationOf(s, v, header)
	if op == OpUnknown {
		query := v == verbPost && marked(header, HeaderQuery, wireQuery)
		return Info{mutating: v.mutates() && !query}
	}
	info.Resource, info.Operation = rules[s].resource, op
	info.SessionToken = either(header, HeaderSessionToken, wireSessionToken) != ""
	if info.Resource == ResDocument {
		info.PartitionKey = either(header, HeaderPartitionKey, wirePartitionKey)
	}
	if op == OpQuery || op == OpReadFeed {
		info.feed(header)
	}
	return info
}

// IsAccountRead reports whether the request is the account read that azcosmos
// makes for itself: GET of "" or "/", depending on how the endpoint was written.
func IsAccountRead(method, escapedPath string) bool {
	return verbOf(method) == verbGet && (escapedPath == "" || escapedPath == "/")
}

// Items reports whether [Classify] would say that the request is about items, and
// of which container, for a small part of its price: a POST to the documents of a
// container, or any request for one document. It may say no for one that is: for an
// id with an escaped slash, for a path that is oddly written, and it does for what
// reads all documents, a feed.
func Items(method string, u *url.URL) (containerLink string, ok bool) {
	const database, container, items = "/dbs/", "/colls/", "/docs"
	path := u.Path // has the segments of the escaped path, where RawPath is empty
	if u.RawPath != "" || !strings.HasPrefix(path, database) {
		return "", false
	}
	a := len(database) // where the database's id begins, then where it ends
	if a += strings.IndexByte(path[a:], '/'); a <= len(database) || !strings.HasPrefix(path[a:], container) {
		return "", false
	}
	a += len(container)
	b := a + strings.IndexByte(path[a:], '/') // where the container's id ends
	if b <= a || !strings.HasPrefix(path[b:], items) {
		return "", false
	}
	switch id, one := strings.CutPrefix(path[b+len(items):], "/"); {
	case one:
		return path[1:b], id != "" && strings.IndexByte(id, '/') < 0 && OnItem(method)
	default:
		return path[1:b], id == "" && method == "POST"
	}
}

// OnItem reports whether the method is one of those for a single document, and
// not the empty one, which net/http takes for GET.
func OnItem(method string) bool {
	switch method {
	case "GET", "PUT", "PATCH", "DELETE":
		return true
	default:
		return false
	}
}

// IsItemQuery reports whether a POST to the documents of a container is a query; it
// is a write if not. It looks for the canonical spelling of the query mark only,
// which is azcosmos's, and may say no for a query that has another one.
func IsItemQuery(header map[string][]string) bool {
	return strings.EqualFold(Get(header, HeaderQuery), "true") && !marked(header, HeaderIsBatch, wireIsBatch)
}

func verbOf(method string) verb {
	switch method {
	case "GET", "":
		return verbGet
	case "POST":
		return verbPost
	case "PUT":
		return verbPut
	case "PATCH":
		return verbPatch
	case "DELETE":
		return verbDelete
	default:
		return verbOther
	}
}

func (v verb) mutates() bool { return v >= verbPost }

// operationOf looks up the row and then, for a POST, the marks.
func operationOf(s shape, v verb, header map[string][]string) Operation {
	r := &rules[s]
	if v != verbPost || !r.query {
		return r.operations[v]
	}
	// The batch mark goes first: a request that carried both would be a write.
	if s == shapeDocuments && marked(header, HeaderIsBatch, wireIsBatch) {
		return OpBatch
	}
	if marked(header, HeaderQuery, wireQuery) {
		return OpQuery
	}
	if s == shapeDocuments && marked(header, HeaderIsUpsert, wireIsUpsert) {
		return OpUpsert
	}
	return r.operations[v]
}

// feed fills what only requests for a page have. "*" in If-None-Match starts a
// change feed at the present instead of continuing one.
func (i *Info) feed(header map[string][]string) {
	i.Continuation = either(header, HeaderContinuation, wireContinuation) != ""
	if i.Resource == ResDocument {
		i.RangeID = either(header, HeaderPartitionKeyRangeID, wirePartitionKeyRangeID)
	}
	if i.Operation != OpReadFeed || either(header, HeaderChangeFeed, wireChangeFeed) == "" {
		return
	}
	i.ChangeFeed = i.Resource == ResDocument
	if position := either(header, HeaderIfNoneMatch, wireIfNoneMatch); position != "" && position != "*" {
		i.Continuation = true
	}
}

// parsePath finds the shape of the path and fills the ids and the link.
func (i *Info) parsePath(path string) shape {
	if path == "" || path == "/" {
		return shapeAccount
	}
	path = strings.TrimPrefix(path, "/")
	path = strings.TrimSuffix(path, "/")
	if path == "" || path[0] == '/' || path[len(path)-1] == '/' {
		return shapeUnknown // an empty segment at either end
	}
	if rest, ok := after(path, "dbs"); ok {
		return i.parseDatabase(path, rest)
	}
	if id, ok := after(path, "offers"); ok {
		return parseOffer(id)
	}
	return shapeUnknown
}

// parseDatabase goes on after "dbs/". An empty rest is the end of the path, for
// the path does not end with a slash; an empty segment is a double slash.
func (i *Info) parseDatabase(path, rest string) shape {
	if rest == "" {
		return shapeDatabases
	}
	if i.Database, rest, _ = strings.Cut(rest, "/"); i.Database == "" {
		return shapeUnknown
	}
	if rest == "" {
		return shapeDatabase
	}
	rest, ok := after(rest, "colls")
	switch {
	case !ok:
		return shapeUnknown
	case rest == "":
		return shapeCollections
	}
	if i.Container, rest, _ = strings.Cut(rest, "/"); i.Container == "" {
		return shapeUnknown
	}
	i.ContainerLink = path[:len("dbs/")+len(i.Database)+len("/colls/")+len(i.Container)]
	if rest == "" {
		return shapeCollection
	}
	return parseContainer(rest)
}

// parseContainer goes on after "dbs/{d}/colls/{c}/".
func parseContainer(rest string) shape {
	if rest == "pkranges" {
		return shapeRanges
	}
	id, ok := after(rest, "docs")
	switch {
	case ok && id == "":
		return shapeDocuments
	case ok && strings.IndexByte(id, '/') < 0:
		return shapeDocument
	default:
		return shapeUnknown
	}
}

// parseOffer goes on after "offers/".
func parseOffer(id string) shape {
	switch {
	case id == "":
		return shapeOffers
	case strings.IndexByte(id, '/') < 0:
		return shapeOffer
	default:
		return shapeUnknown
	}
}

// after strips a first segment of known name.
func after(path, name string) (rest string, ok bool) {
	if !strings.HasPrefix(path, name) {
		return "", false
	}
	if rest = path[len(name):]; rest == "" {
		return "", true
	}
	return rest[1:], rest[0] == '/'
}
