package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Upstream executes requests that the gateway has let through. [Store] is the one in process; [NewHTTPUpstream] makes one of
// an emulator. Implementations are safe for concurrent use.
type Upstream interface {
	// Do executes one request. A write that has begun is finished even if ctx ends. An error means that there is no answer.
	Do(ctx context.Context, r *Request) (*Answer, error)
	// Lookup finds a container. An empty database means any database that the upstream has seen.
	Lookup(ctx context.Context, database, container string) (Container, bool)
}

// Request is one request as an [Upstream] gets it.
type Request struct {
	Method string
	Path   string // escaped, with a leading slash and without a trailing one
	Header http.Header
	Body   []byte

	Operation               string // as in [Rule.Operations]
	Write                   bool
	Database, Container, ID string // names, unescaped

	Definition Definition // of the container, for document operations
	Key        string     // partition key header in canonical JSON; "" without one
	Span       Span       // the effective partition keys that queries and feeds are about

	// Origin is the region that serves the request, and Sees tells whether it has a write that was made in another region at
	// that time. Both are empty while there is no replication lag, and then every region sees everything.
	Origin string
	Sees   func(origin string, at time.Time) bool
}

// Answer is a complete response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Container is what the gateway has to know of a container.
type Container struct {
	Database, ID, RID string
	Definition        Definition
}

// Definition is a container's partition key definition as its JSON has it.
type Definition struct {
	Paths   []string `json:"paths"`
	Kind    string   `json:"kind,omitempty"`
	Version int      `json:"version,omitempty"`
}

// set sets a header.
func (a *Answer) set(name, value string) {
	if a.Header == nil {
		a.Header = http.Header{}
	}
	a.Header.Set(name, value)
}

// setDefault sets a header that the upstream has not set.
func (a *Answer) setDefault(name, value string) {
	if a.Header.Get(name) == "" {
		a.set(name, value)
	}
}

// codes are the service's names for the statuses it answers with.
var codes = map[int]string{
	400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 408: "RequestTimeout", 409: "Conflict",
	410: "Gone", 412: "PreconditionFailed", 413: "RequestEntityTooLarge", 424: "FailedDependency", 429: "TooManyRequests",
	449: "RetryWith", 500: "InternalServerError", 503: "ServiceUnavailable",
}

// failure is an error in the service's form.
func failure(status, sub int, message, activity string) *Answer {
	code := codes[status]
	if code == "" {
		code = strings.ReplaceAll(http.StatusText(status), " ", "")
	}
	a := &Answer{Status: status, Body: encode(map[string]string{
		"code": code, "message": message + "\r\nActivityId: " + activity + ", Microsoft.Azure.Documents.Common/2.14.0",
	})}
	if sub != 0 {
		a.set("x-ms-substatus", strconv.Itoa(sub))
	}
	return a
}

// encode marshals a value of this package's own making, which cannot fail; HTML escapes would only make logs unreadable.
func encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
