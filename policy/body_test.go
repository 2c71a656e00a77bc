package policy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	azlog "github.com/Azure/azure-sdk-for-go/sdk/azcore/log"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// tape is a transport that reads the body of every request on items, keeps it,
// and passes a copy on.
type tape struct {
	mutex  sync.Mutex // guards bodies
	bodies []string
}

func (p *tape) change(o *azcosmos.ClientOptions) {
	next := o.Transport
	o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.Body == nil || !strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/1"), "/docs") {
			return next.Do(r)
		}
		again, err := r.GetBody() // net/http asks for it when it sends again by itself
		if err != nil {
			return nil, err
		}
		for _, body := range []io.Reader{r.Body, again} {
			content, err := io.ReadAll(body)
			if err != nil {
				return nil, err
			}
			if int64(len(content)) != r.ContentLength {
				return nil, fmt.Errorf("a body of %d bytes, Content-Length %d", len(content), r.ContentLength)
			}
			p.mutex.Lock()
			p.bodies = append(p.bodies, r.Header.Get("Content-Type")+" "+string(content))
			p.mutex.Unlock()
		}
		r = r.Clone(r.Context())
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
		return next.Do(r)
	})
}

// TestBodiesOfEveryAttempt: each attempt has the whole body, and the same type
// and length, whatever the reason for the attempt.
func TestBodiesOfEveryAttempt(t *testing.T) {
	down := gateway.Rule{Status: 503}
	throttled := gateway.Rule{Status: 429, SubStatus: 3200, Header: map[string]string{"x-ms-retry-after-ms": "10"}}
	forbidden := gateway.Rule{Status: 403, SubStatus: 3}
	tests := []struct {
		name     string
		account  gateway.Options
		rule     gateway.Rule
		calls    []named
		attempts int
	}{
		{"503 on all regions", multi, down, append([]named{{"query", query}}, itemWrites[:5]...), 3},
		{"503 on all regions, single-write", single, down, []named{{"query", query}}, 3},
		{"429", single, throttled, append([]named{{"query", query}}, itemWrites[:5]...), 4},
		{"403/3", single, forbidden, itemWrites[:5], 5},
		{"refused", single, gateway.Rule{Kind: gateway.Refuse}, itemWrites[:5], 2},
	}
	for _, test := range tests {
		for _, o := range test.calls {
			t.Run(test.name+"/"+o.name, func(t *testing.T) {
				var sent tape
				inWorld(t, setup{gateway: test.account, policy: noBreaker, change: sent.change}, func(w *world) {
					sent.bodies = nil
					w.Inject(test.rule)
					_, err := o.call(w.Context(), w.container)
					require.Error(w, err)
					require.Len(w, sent.bodies, 2*test.attempts)
					for _, body := range sent.bodies {
						require.Equal(w, sent.bodies[0], body)
					}
					require.Contains(w, sent.bodies[0], map[bool]string{true: "SELECT * FROM c", false: `"`}[o.name == "query"])
				})
			})
		}
	}
}

// TestBodiesWithLogging: azcore reads a body to log it, on every attempt.
func TestBodiesWithLogging(t *testing.T) {
	var mutex sync.Mutex
	var requests []string
	azlog.SetListener(func(event azlog.Event, text string) {
		if event == azlog.EventRequest && strings.Contains(text, "OUTGOING REQUEST") && strings.Contains(text, "POST") {
			mutex.Lock()
			defer mutex.Unlock()
			requests = append(requests, text)
		}
	})
	t.Cleanup(func() { azlog.SetListener(nil) })
	for name, want := range map[string]struct {
		call call
		text string
	}{"upsert": {upsert, `{"id":"1","pk":"a","n":1}`}, "query": {query, "SELECT * FROM c"}, "batch": {batch, "resourceBody"}} {
		t.Run(name, func(t *testing.T) {
			var sent tape
			s := setup{gateway: multi, policy: noBreaker, change: func(o *azcosmos.ClientOptions) {
				o.Logging.IncludeBody = true
				sent.change(o)
			}}
			inWorld(t, s, func(w *world) {
				sent.bodies, requests = nil, nil
				w.Inject(status(A, 503, 0))
				w.Inject(fault(B, gateway.Refuse))
				w.expect(want.call, "200", "A B C", 0)
				require.Len(w, sent.bodies, 2*3)
				for _, body := range sent.bodies {
					require.Equal(w, sent.bodies[0], body)
				}
				require.Len(w, requests, 3)
				for _, text := range requests {
					require.Contains(w, text, want.text)
				}
			})
		})
	}
}

// lingering is a transport that goes on reading the body of an attempt in
// region A after it has failed, as net/http may over HTTP/2.
type lingering struct {
	fail   func(*http.Request) error // how the attempt ends
	answer *http.Response            // or that, once

	reading sync.WaitGroup
	mutex   sync.Mutex // guards what follows
	late    []string   // what it read
}

func (p *lingering) change(o *azcosmos.ClientOptions) {
	next := o.Transport
	o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if letterOfHost(r.URL.Host) != "A" || r.Body == nil || p.fail == nil && p.answer == nil {
			return next.Do(r)
		}
		body := r.Body
		p.reading.Go(func() {
			var content []byte
			for one := make([]byte, 1); ; time.Sleep(100 * time.Millisecond) {
				n, err := body.Read(one)
				content = append(content, one[:n]...)
				if err != nil {
					break
				}
			}
			p.mutex.Lock()
			defer p.mutex.Unlock()
			p.late = append(p.late, string(content))
		})
		if answer := p.answer; answer != nil {
			p.answer = nil
			answer.Request = r
			return answer, nil
		}
		return nil, p.fail(r)
	})
}

// TestBodyOfAnAbandonedAttempt: what still reads the body of an attempt that
// has failed, or timed out, does not disturb the next one. The race detector
// sees it if they share anything.
func TestBodyOfAnAbandonedAttempt(t *testing.T) {
	options := attemptTimeout(time.Second)
	options.Retry.RepeatWrites = true
	tests := []struct {
		name string
		fail func(*http.Request) error
		took time.Duration
	}{
		{"reset", func(*http.Request) error { return syscall.ECONNRESET }, 0},
		{"timeout", func(r *http.Request) error { <-r.Context().Done(); return r.Context().Err() }, time.Second},
	}
	for _, test := range tests {
		for _, o := range []named{{"query", query}, {"upsert", upsert}, {"batch", batch}} {
			for _, bounded := range []policy.Options{options, repeating} {
				if test.took > 0 && bounded.Retry.AttemptTimeout == 0 {
					continue // it would hang
				}
				t.Run(test.name+"/"+o.name, func(t *testing.T) {
					var late lingering
					var sent tape
					change := func(o *azcosmos.ClientOptions) { sent.change(o); late.change(o) }
					inWorld(t, setup{gateway: multi, policy: bounded, change: change}, func(w *world) {
						late.fail, sent.bodies = test.fail, nil
						got, took := w.do(w.Context(), o.call)
						require.Equal(w, "200", got)
						require.Equal(w, test.took, took)
						late.reading.Wait()
						require.Len(w, sent.bodies, 2)
						require.Len(w, late.late, 1)
						require.Equal(w, sent.bodies[0], strings.SplitAfter(sent.bodies[0], " ")[0]+late.late[0])
					})
				})
			}
		}
	}
}

// TestBodyOfARepeatedAttempt: azcore repeats a 429, and rewinds its own reader for
// that, while the attempt that had this answer is still read over HTTP/2.
func TestBodyOfARepeatedAttempt(t *testing.T) {
	for _, hedged := range []bool{false, true} {
		for _, o := range []named{{"query", query}, {"upsert", upsert}, {"batch", batch}} {
			t.Run(o.name, func(t *testing.T) {
				var late lingering
				var sent tape
				change := func(o *azcosmos.ClientOptions) { sent.change(o); late.change(o) }
				inWorld(t, setup{gateway: multi, hedged: hedged, change: change}, func(w *world) {
					late.answer, sent.bodies = &http.Response{
						StatusCode: http.StatusTooManyRequests, Body: http.NoBody,
						Header: http.Header{"X-Ms-Substatus": {"3200"}, "X-Ms-Retry-After-Ms": {"150"}},
					}, nil
					got, _ := w.do(w.Context(), o.call)
					require.Equal(w, "200", got)
					late.reading.Wait()
					require.NotEmpty(w, sent.bodies)
					require.Equal(w, sent.bodies[0], strings.SplitAfter(sent.bodies[0], " ")[0]+late.late[0])
				})
			})
		}
	}
}

// onWire is a world whose client reaches the gateway over loopback connections.
// Its time is real.
func onWire(t *testing.T, p gateway.Protocol, s setup) *world {
	t.Helper()
	w := newWorld(t, s)
	l, err := w.Listen(p)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	change := s.change
	s.endpoint, s.change = l.Endpoint(), func(o *azcosmos.ClientOptions) {
		o.Transport = l.Client()
		o.Retry.RetryDelay = time.Millisecond
		if change != nil {
			change(o)
		}
	}
	w.client, w.container = w.newClient(s)
	w.warm()
	got, _ := w.do(t.Context(), read)
	require.Equal(t, "200", got)
	require.Equal(t, map[gateway.Protocol]string{gateway.HTTP1: "HTTP/1.1", gateway.TLSHTTP2: "HTTP/2.0"}[p], w.Log()[0].Proto)
	w.ResetLog()
	return w
}

// collapsed is the regions contacted without repeats in a row: net/http sends a
// GET again by itself when a reused connection dies.
func (w *world) collapsed() string {
	var list []string
	for r := range strings.FieldsSeq(w.contacted()) {
		if len(list) == 0 || list[len(list)-1] != r {
			list = append(list, r)
		}
	}
	return strings.Join(list, " ")
}

var protocols = map[string]gateway.Protocol{"HTTP/1.1": gateway.HTTP1, "HTTP/2": gateway.TLSHTTP2}

// TestWire: over real connections every fault of the first region leads on as
// it does in memory.
func TestWire(t *testing.T) {
	tests := []struct {
		name        string
		rule        gateway.Rule
		write       string // regions of a write on a multi-write account
		writeFailed bool
	}{
		{"503", status(A, 503, 0), "A B", false},
		{"refused", fault(A, gateway.Refuse), "A B", false},
		{"reset", fault(A, gateway.Reset), "A", true},
		{"closed", fault(A, gateway.Close), "A", true},
		{"stream reset", fault(A, gateway.StreamReset), "A", true},
		{"lost", fault(A, gateway.Lost), "A", true},
		{"stream lost", fault(A, gateway.LostStream), "A", true},
	}
	for name, protocol := range protocols {
		for _, test := range tests {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				for _, o := range []call{read, query} {
					w := onWire(t, protocol, setup{})
					w.Inject(test.rule)
					got, _ := w.do(t.Context(), o)
					require.Equal(t, "200", got)
					require.Equal(t, "A B", w.collapsed())
				}
				for _, o := range []call{upsert, batch} {
					w := onWire(t, protocol, setup{gateway: multi})
					w.Inject(test.rule)
					got, _ := w.do(t.Context(), o)
					require.Equal(t, map[bool]string{false: "200", true: "error"}[test.writeFailed], got)
					require.Equal(t, test.write, w.contacted())
					require.Empty(t, w.store.Repeated())
				}
			})
		}
		t.Run(name+"/region taken away", func(t *testing.T) {
			w := onWire(t, protocol, setup{gateway: multi})
			w.Down(A)
			for _, o := range []call{read, upsert} {
				w.ResetLog()
				got, _ := w.do(t.Context(), o)
				require.Equal(t, "200", got)
				require.Equal(t, "A B", w.collapsed())
			}
			w.ResetLog()
			got, _ := w.do(t.Context(), read)
			require.Equal(t, "200", got)
			require.Equal(t, "B", w.contacted())
		})
	}
}

// TestWireExecutedAndLost: a write that was carried out and whose stream was
// then reset is not sent again; the caller hears of it. Plain azcosmos does not
// know the error of HTTP/2, lets azcore send the write again, and reports a
// success: it was carried out twice.
func TestWireExecutedAndLost(t *testing.T) {
	lost := gateway.Rule{Region: A, Kind: gateway.LostStream, Hits: 1}
	for name, protocol := range protocols {
		for _, account := range []gateway.Options{single, multi} {
			t.Run(name, func(t *testing.T) {
				w := onWire(t, protocol, setup{gateway: account})
				w.Inject(lost)
				got, _ := w.do(t.Context(), upsert)
				require.Equal(t, "error", got)
				require.Equal(t, "A", w.contacted())
				require.Len(t, w.store.Executions("items", "1"), 2) // the item, then this
				require.Empty(t, w.store.Repeated())
			})
		}
	}
	t.Run("plain", func(t *testing.T) {
		w := onWire(t, gateway.TLSHTTP2, setup{plain: true})
		w.Inject(lost)
		got, _ := w.do(t.Context(), upsert)
		require.Equal(t, "200", got)
		require.Equal(t, "A A", w.contacted())
		require.Len(t, w.store.Repeated(), 1)
	})
}

// TestWireLargeBody: a body of a megabyte arrives whole in the region that takes
// it, after the regions that did not.
func TestWireLargeBody(t *testing.T) {
	large := fmt.Appendf(nil, `{"id":"large","pk":"a","text":"%s"}`, strings.Repeat("0123456789abcdef", 1<<16))
	write := func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		r, err := c.UpsertItem(ctx, key("a"), large, nil)
		return r.RawResponse, err
	}
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			w := onWire(t, protocol, setup{gateway: multi})
			w.Inject(status(A, 503, 0))
			w.Inject(fault(B, gateway.Refuse))
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					got, _ := w.do(t.Context(), write)
					require.Contains(t, []string{"200", "201"}, got)
				})
			}
			clients.Wait()
			require.NotEmpty(t, w.regionsOf("upsert"))
			response, err := w.container.ReadItem(t.Context(), key("a"), "large", nil)
			require.NoError(t, err)
			require.True(t, bytes.Contains(response.Value, large[len(`{"id":"large","pk":"a",`):len(large)-1]), "the text is whole")
		})
	}
}

// TestStreamResetInMemory is the same as over the wire, with the times of azcore's
// repeats: ours fails at once, plain azcosmos repeats after 0.8 to 1.2 s.
func TestStreamResetInMemory(t *testing.T) {
	lost := gateway.Rule{Region: A, Kind: gateway.LostStream, Hits: 1}
	inWorld(t, setup{}, func(w *world) {
		w.Inject(lost)
		w.expect(upsert, "error", "A", 0)
		require.Empty(w, w.store.Repeated())
	})
	inWorld(t, setup{plain: true}, func(w *world) {
		w.Inject(lost)
		got, took := w.do(w.Context(), upsert)
		require.Equal(w, "200", got)
		require.Greater(w, took, 500*time.Millisecond)
		require.Len(w, w.store.Repeated(), 1)
		synctest.Wait()
	})
}

// TestResponsesWithoutHeaders: an answer with nothing but a status is judged by
// it; nothing panics, and nothing is lost that a healthy region could serve.
func TestResponsesWithoutHeaders(t *testing.T) {
	tests := map[int]struct{ read, write string }{ // outcome and regions on a multi-write account
		204: {"204 A", "204 A"}, 304: {"304 A", "304 A"}, 400: {"400 A", "400 A"}, 403: {"403 A", "403 A"},
		404: {"404 A", "404 A"}, 408: {"200 A B", "408 A"}, 410: {"200 A B", "200 A B"}, 449: {"449 A", "449 A"},
		500: {"200 A B", "500 A"}, 503: {"200 A B", "200 A B"},
	}
	for code, want := range tests {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bare := false
			change := func(o *azcosmos.ClientOptions) {
				next := o.Transport
				o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
					response, err := next.Do(r)
					if bare && err == nil && letterOfHost(r.URL.Host) == "A" {
						return &http.Response{StatusCode: code, Request: r, Body: http.NoBody}, nil // azcosmos needs these two
					}
					return response, err
				})
			}
			inWorld(t, setup{gateway: multi, change: change}, func(w *world) {
				bare = true
				for i, o := range []call{read, query, upsert} {
					w.ResetLog()
					got, took := w.do(w.Context(), o)
					require.Equal(w, []string{want.read, want.read, want.write}[i], got+" "+w.contacted())
					require.Zero(w, took)
				}
			})
		})
	}
}
