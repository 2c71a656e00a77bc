package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// call is one request on its way through the gateway.
type call struct {
	Request
	host   string // without the port
	region string // or Global
	hub    string // the region that serves the request: the hub for Global
	proto  string
	scheme string
	key    string // partition key header as it was sent
	rangeH string // partition key range id header
	rng    string // the range the request is about, "" if none or many
	rid    string // of the container, "" if it is not known
	gone   bool   // rangeH names a range that does not exist
	token  string // what the answer's session token says of each region's writes; "" without replication lag
}

// Headers that say what a request is.
const (
	headerQuery    = "x-ms-documentdb-query"
	headerUpsert   = "x-ms-documentdb-is-upsert"
	headerBatch    = "x-ms-cosmos-is-batch-request"
	headerKey      = "x-ms-documentdb-partitionkey"
	headerRange    = "x-ms-documentdb-partitionkeyrangeid"
	headerHub      = "x-ms-cosmos-hub-region-processing-only"
	headerSession  = "x-ms-session-token"
	headerActivity = "x-ms-activity-id"
	headerMore     = "x-ms-continuation"
	headerMaxItems = "x-ms-max-item-count"
)

// newCall understands a request: which operation, on what.
func newCall(r *http.Request, body []byte) *call {
	c := &call{host: r.URL.Hostname(), scheme: r.URL.Scheme}
	c.Method, c.Header, c.Body = r.Method, r.Header, body
	c.Path = "/" + strings.Trim(r.URL.EscapedPath(), "/")
	c.key, c.rangeH = r.Header.Get(headerKey), r.Header.Get(headerRange)
	c.Key = canonical(c.key)
	c.classify()
	return c
}

// classify splits the path into resource types and names. Names are path-escaped, so the escaped path is split.
func (c *call) classify() {
	parts := strings.Split(strings.Trim(c.Path, "/"), "/")
	name := func(i int) string {
		if i >= len(parts) {
			return ""
		}
		s, err := url.PathUnescape(parts[i])
		if err != nil {
			return parts[i]
		}
		return s
	}
	c.Database, c.Container, c.ID = name(1), name(3), name(5)
	switch {
	case c.Path == "/":
		c.Operation = "account"
	case parts[0] == "offers":
		c.Operation, c.Database, c.Container = "offer", "", ""
	case len(parts) <= 2:
		c.Operation = "database/" + c.verb(len(parts) == 1)
	case len(parts) <= 4:
		c.Operation = "container/" + c.verb(len(parts) == 3)
	case parts[4] == "pkranges":
		c.Operation = "pkranges"
	case parts[4] == "docs":
		c.Operation = c.document(len(parts) == 5)
	default:
		c.Operation = parts[4]
	}
	c.Write = c.Method != http.MethodGet && !c.isQuery() && c.Operation != "offer"
}

// verb is the operation on a metadata resource; feed means that the path ends in a resource type.
func (c *call) verb(feed bool) string {
	switch {
	case c.isQuery():
		return "query"
	case feed && c.Method == http.MethodGet:
		return "readfeed"
	default:
		return map[string]string{"GET": "read", "POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}[c.Method]
	}
}

// document is the operation on items.
func (c *call) document(feed bool) string {
	switch {
	case feed && c.Header.Get("A-IM") != "":
		return "changefeed"
	case c.Method == http.MethodPost && truth(c.Header, headerBatch):
		return "batch"
	case c.Method == http.MethodPost && truth(c.Header, headerUpsert):
		return "upsert"
	}
	return c.verb(feed)
}

// isQuery tells a query from a creation, which goes to the same path.
func (c *call) isQuery() bool { return c.Method == http.MethodPost && truth(c.Header, headerQuery) }

// activity is the id that the client gave the operation; every answer has it too.
func (c *call) activity() string { return c.Header.Get(headerActivity) }

// truth reads a flag; azcosmos writes both "True" and "true".
func truth(h http.Header, name string) bool { return strings.EqualFold(h.Get(name), "true") }

var (
	writes = []string{"create", "upsert", "replace", "patch", "delete", "batch"}
	reads  = []string{"read", "query", "changefeed", "readfeed"}
)

// isData tells whether an operation is about items.
func isData(operation string) bool {
	return slices.Contains(writes, operation) || slices.Contains(reads, operation)
}

// inClass tells whether an operation is what a rule's word means: its own name or a class.
func inClass(operation, word string) bool {
	switch word {
	case "write":
		return slices.Contains(writes, operation)
	case "readop":
		return slices.Contains(reads, operation)
	case "data":
		return isData(operation)
	case "meta":
		return !isData(operation) && operation != "account"
	}
	return operation == word
}
