package main

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// transporter is what azcore sends with.
type transporter interface {
	Do(*http.Request) (*http.Response, error)
}

// tap is a transport that notes each attempt with the operation that it belongs to. Account reads, and what clients do in the
// background, belong to none.
type tap struct {
	next  transporter
	names map[string]string // regions by host name, in lower case
}

// notes are the attempts of one operation. A client may make several at once.
type notes struct {
	mu        sync.Mutex // guards all below
	contacted []string
	answered  string
	perhaps   bool
}

type notesKey struct{}

func withNotes(ctx context.Context) (context.Context, *notes) {
	n := &notes{}
	return context.WithValue(ctx, notesKey{}, n), n
}

// Do sends a request.
func (t *tap) Do(r *http.Request) (*http.Response, error) {
	n, _ := r.Context().Value(notesKey{}).(*notes)
	if n == nil || !strings.Contains(r.URL.Path, "/docs") {
		return t.next.Do(r)
	}
	region := t.region(r.URL.Hostname())
	n.reach(region)
	// The connection tells, better than the error does, whether any of the request can have left.
	var left atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	response, err := t.next.Do(r.WithContext(ctx))
	if perhapsDone(left.Load(), response, err) {
		n.doubt()
	}
	if err == nil && response.StatusCode < http.StatusBadRequest {
		n.answer(region)
	}
	return response, err
}

// region is the name of the region behind a host, or the host when it is none of the account's.
func (t *tap) region(host string) string {
	if name, ok := t.names[strings.ToLower(host)]; ok {
		return name
	}
	return host
}

// perhapsDone reports whether a write whose attempt ended like that may have been carried out although it has failed. left
// tells that the request left, in part at least.
func perhapsDone(left bool, response *http.Response, err error) bool {
	if err != nil {
		return left
	}
	switch response.StatusCode {
	case http.StatusNotImplemented, http.StatusServiceUnavailable, http.StatusHTTPVersionNotSupported:
		return false
	case http.StatusRequestTimeout:
		return true
	default: // a success that failed all the same did not arrive whole
		return response.StatusCode >= http.StatusInternalServerError || response.StatusCode < http.StatusMultipleChoices
	}
}

func (n *notes) reach(region string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.contacted = append(n.contacted, region)
}

func (n *notes) answer(region string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answered == "" {
		n.answered = region
	}
}

func (n *notes) doubt() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.perhaps = true
}

// read returns what was noted so far; an attempt that lost a race may come to its end later.
func (n *notes) read() (contacted []string, answered string, perhaps bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.contacted), n.answered, n.perhaps
}
