package simulation

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"go.opentelemetry.io/otel/trace"
)

// spanHeader carries the span of an attempt to the gateway's log.
const spanHeader = "x-simulation-span"

// tap writes the span under which a request is sent into its headers, so that
// every line of the gateway's log has its span, and every span its line.
type tap struct{ next azpolicy.Transporter }

// Do implements azcore's Transporter.
func (t tap) Do(r *http.Request) (*http.Response, error) {
	span := trace.SpanContextFromContext(r.Context())
	marked := *r
	marked.Header = r.Header.Clone()
	marked.Header.Set(spanHeader, span.SpanID().String())
	if span.IsValid() && !span.IsSampled() {
		marked.Header.Set(legHeader, string(legOf(r.Context())))
	}
	response, err := t.next.Do(&marked)
	if response != nil {
		response.Request = r
	}
	return response, err
}

// Change is a line that the middleware wrote into its log: what changes rarely.
type Change struct {
	At      time.Time
	Message string
	Fields  map[string]string
}

// changeLog is a slog.Handler that keeps the lines.
type changeLog struct {
	mutex sync.Mutex // guards lines
	lines []Change
}

// Enabled implements slog.Handler.
func (*changeLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *changeLog) Handle(_ context.Context, r slog.Record) error {
	c := Change{At: time.Now(), Message: r.Message, Fields: map[string]string{}}
	r.Attrs(func(a slog.Attr) bool {
		c.Fields[a.Key] = a.Value.String()
		return true
	})
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, c)
	return nil
}

// WithAttrs implements slog.Handler; nobody uses it.
func (l *changeLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler; nobody uses it.
func (l *changeLog) WithGroup(string) slog.Handler { return l }

func (l *changeLog) all() []Change {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lines
}

// accounts counts the accounts of the process.
var accounts atomic.Int64

func accountName() string { return "world" + strconv.FormatInt(accounts.Add(1), 10) }

func itoa(n int) string { return strconv.Itoa(n) }
