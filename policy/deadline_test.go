package policy_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// attemptTimeout is options with a timeout for each attempt and no breaker.
func attemptTimeout(d time.Duration) policy.Options {
	o := noBreaker
	o.Retry.AttemptTimeout = d
	return o
}

// TestDeadlinePast: nothing is sent after the deadline, or after a cancel.
func TestDeadlinePast(t *testing.T) {
	for _, account := range []gateway.Options{single, multi} {
		inWorld(t, setup{gateway: account}, func(w *world) {
			past, cancel := context.WithDeadline(w.Context(), time.Now().Add(-time.Second))
			defer cancel()
			over, stop := context.WithCancel(w.Context())
			stop()
			for _, o := range []call{read, query, upsert, batch, readContainer} {
				w.expectWith(past, o, "deadline", "", 0)
				w.expectWith(over, o, "cancelled", "", 0)
			}
			require.Len(w, w.store.Executions("", ""), 1) // the item itself
		})
	}
}

// TestDeadlineDuringAnAttempt: the caller gets its own error at its own time,
// and no other region is asked.
func TestDeadlineDuringAnAttempt(t *testing.T) {
	for _, o := range []call{read, query, upsert, batch, readContainer} {
		inWorld(t, setup{gateway: multi, policy: noBreaker}, func(w *world) {
			w.Inject(gateway.Rule{Region: A, Operations: []string{"data", "meta"}, Kind: gateway.Hang})
			ctx, cancel := context.WithTimeout(w.Context(), 700*time.Millisecond)
			defer cancel()
			w.expectWith(ctx, alone(o), "deadline", "A", 700*time.Millisecond)

			ctx, stop := context.WithCancel(w.Context())
			time.AfterFunc(300*time.Millisecond, stop)
			w.expectWith(ctx, alone(o), "cancelled", "A", 300*time.Millisecond)
		})
	}
	// In the second region too.
	inWorld(t, setup{}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.Inject(fault(B, gateway.Hang))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		w.expectWith(ctx, alone(read), "deadline", "A B", time.Second)
	})
}

// TestDeadlineBetweenAttempts: an answer that would lead on comes with the end
// of the deadline: the next region is not asked.
func TestDeadlineBetweenAttempts(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Inject(status(A, 503, 0))
		ctx, cancel := context.WithCancel(w.Context())
		w.container = tapped(w, func(r *http.Response) { cancel() })
		w.expectWith(ctx, read, "cancelled", "A", 0)
	})
}

// tapped is a further client that shows every answer to see.
func tapped(w *world, see func(*http.Response)) *azcosmos.ContainerClient {
	_, container := w.newClient(setup{change: func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			if err == nil && len(r.URL.Path) > 1 {
				see(response)
			}
			return response, err
		})
	}})
	return container
}

// TestAttemptTimeout: it ends one attempt. A read goes on to the next region, a
// write is returned, for it may have been carried out; with the caller's leave
// a write on a multi-write account goes on.
func TestAttemptTimeout(t *testing.T) {
	leave := attemptTimeout(time.Second)
	leave.Retry.RepeatWrites = true
	tests := []struct {
		name    string
		account gateway.Options
		options policy.Options
		call    call
		outcome string
		regions string
		took    time.Duration
	}{
		{"read", single, attemptTimeout(time.Second), read, "200", "A B", time.Second},
		{"read multi", multi, attemptTimeout(time.Second), query, "200", "A B", time.Second},
		{"write", single, attemptTimeout(time.Second), upsert, "deadline", "A", time.Second},
		{"write multi", multi, attemptTimeout(time.Second), upsert, "deadline", "A", time.Second},
		{"write with leave", multi, leave, upsert, "200", "A B", time.Second},
		{"write with leave, one write region", single, leave, upsert, "deadline", "A", time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, setup{gateway: test.account, policy: test.options}, func(w *world) {
				w.Inject(fault(A, gateway.Hang))
				w.expect(alone(test.call), test.outcome, test.regions, test.took)
				require.Empty(w, w.store.Repeated())
			})
		})
	}
	inWorld(t, setup{policy: attemptTimeout(time.Second)}, func(w *world) {
		w.Inject(gateway.Rule{Kind: gateway.Hang})
		w.expect(alone(read), "deadline", "A B C", 3*time.Second)
		ctx, cancel := context.WithTimeout(w.Context(), 1500*time.Millisecond)
		defer cancel()
		w.expectWith(ctx, alone(read), "deadline", "A B", 1500*time.Millisecond)
	})
	// A timeout that is long enough does nothing.
	inWorld(t, setup{gateway: slowly(single), policy: attemptTimeout(6 * time.Millisecond)}, func(w *world) {
		w.expect(read, "200", "A", 5*time.Millisecond)
		w.expect(upsert, "200", "A", 5*time.Millisecond)
	})
}

// TestMaxAttempts: how many times a request is sent in all. The default is the
// number of applicable regions plus one, so each can be asked once.
func TestMaxAttempts(t *testing.T) {
	for limit, want := range map[int]struct{ read, write, refused string }{
		0: {"A B C", "A B C", "A A"},
		1: {"A", "A", "A"},
		2: {"A B", "A B", "A A"},
		3: {"A B C", "A B C", "A A"},
		9: {"A B C", "A B C", "A A"},
	} {
		options := noBreaker
		options.Retry.MaxAttempts = limit
		inWorld(t, setup{gateway: multi, policy: options}, func(w *world) {
			w.Inject(gateway.Rule{Status: 503})
			w.expect(read, "503", want.read, 0)
			w.expect(upsert, "503", want.write, 0)
		})
		inWorld(t, setup{policy: options}, func(w *world) {
			w.Down(A)
			w.expect(upsert, "error", want.refused, 0)
		})
		// The retries of 403/3 have a budget of time instead.
		inWorld(t, setup{policy: options}, func(w *world) {
			w.Elect("items", "0")
			w.expect(upsert, "403/3", "A A A A A", 5*time.Second)
		})
	}
}

// TestBackOffEndsWithTheDeadline: no pause of ours, and no wait for a refresh,
// outlives the caller's deadline or its cancel.
func TestBackOffEndsWithTheDeadline(t *testing.T) {
	for wait, sent := range map[time.Duration]string{
		time.Millisecond: "A A", 999 * time.Millisecond: "A A", 2 * time.Second: "A A A",
		2999 * time.Millisecond: "A A A", 4 * time.Second: "A A A A",
	} {
		inWorld(t, setup{}, func(w *world) {
			w.Elect("items", "0")
			ctx, cancel := context.WithTimeout(w.Context(), wait)
			defer cancel()
			w.expectWith(ctx, upsert, "deadline", sent, wait)
			stopped, stop := context.WithCancel(w.Context())
			time.AfterFunc(wait, stop)
			got, took := w.do(stopped, upsert)
			require.Equal(w, "cancelled", got)
			require.Equal(w, wait, took)
		})
	}
	inWorld(t, setup{}, func(w *world) { // a refresh that hangs
		w.Inject(gateway.Rule{Operations: []string{"account"}, Kind: gateway.Hang})
		w.Elect("items", "0")
		ctx, cancel := context.WithTimeout(w.Context(), 500*time.Millisecond)
		defer cancel()
		w.expectWith(ctx, upsert, "deadline", "A", 500*time.Millisecond)
	})
}

// seen is all that a caller can see of an error, but for what differs from one
// request to the next, and but for the outermost type, which azcosmos does not
// export and does not keep to: errors.As is its contract.
type seen struct {
	Outcome              string
	Text                 string
	Deadline, Cancelled  bool
	Refused, Reset, EOF  bool
	Op                   string // of a *net.OpError
	URL                  string // of a *url.Error
	Diagnostics          bool
	Status               int
	ErrorCode            string
	Header               http.Header
	Body                 string
	Method, Host, Target string // of the request
}

func look(t *testing.T, response *http.Response, err error) seen {
	s := seen{Outcome: outcomeOf(response, err)}
	if err == nil {
		return s
	}
	s.Text = err.Error()
	s.Deadline, s.Cancelled = errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled)
	s.Refused, s.Reset = errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET)
	s.EOF = errors.Is(err, io.EOF)
	_, s.Diagnostics = azcosmos.DiagnosticsFromError(err)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		s.Op = op.Op
	}
	if address, ok := errors.AsType[*url.Error](err); ok {
		s.URL = address.URL
	}
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok {
		s.Status, s.ErrorCode = answer.StatusCode, answer.ErrorCode
		s.Header = maps.Clone(answer.RawResponse.Header)
		s.Header.Del("X-Ms-Activity-Id")
		body, err := io.ReadAll(answer.RawResponse.Body)
		require.NoError(t, err)
		s.Body = string(body)
		r := answer.RawResponse.Request
		s.Method, s.Host, s.Target = r.Method, r.URL.Host, r.URL.EscapedPath()
	}
	return s
}

// TestCallerSeesWhatAzcosmosGives: the same fault, with our policies and
// without: the error, its chain, its text, the answer and its request are equal.
// The account has one region, so that both end with the same answer.
func TestCallerSeesWhatAzcosmosGives(t *testing.T) {
	const body = `{"code":"Injected","message":"as told, ActivityId: 1"}`
	header := map[string]string{"x-ms-retry-after-ms": "10", "x-ms-documentdb-partitionkeyrangeid": "0", "x-ms-activity-id": "1"}
	answer := func(status, sub int) gateway.Rule {
		return gateway.Rule{Status: status, SubStatus: sub, Body: body, Header: header}
	}
	rules := map[string]gateway.Rule{
		"400": answer(400, 0), "401": answer(401, 0), "403": answer(403, 0), "404": answer(404, 0), "404/1002": answer(404, 1002),
		"404/1003": answer(404, 1003), "405": answer(405, 0), "408": answer(408, 0), "408/21013": answer(408, 21013), "409": answer(409, 0),
		"410": answer(410, 0), "410/1002": answer(410, 1002), "410/1022": answer(410, 1022), "412": answer(412, 0),
		"413": answer(413, 0), "422": answer(422, 0), "429": answer(429, 3200), "429/3092": answer(429, 3092),
		"449": answer(449, 0), "500": answer(500, 0), "501": answer(501, 0), "502": answer(502, 0), "503": answer(503, 0),
		"504": answer(504, 0), "505": answer(505, 0), "507": answer(507, 0),
		"empty": {Status: 503, Body: " "}, "HTML": {Status: 503, Body: "<html>no JSON</html>"},
		"refused": fault(A, gateway.Refuse), "reset": fault(A, gateway.Reset), "closed": fault(A, gateway.Close),
		"stream reset": fault(A, gateway.StreamReset), "lost": fault(A, gateway.Lost),
		"hang": fault(A, gateway.Hang), "none": {Status: 503, Region: B},
	}
	for name, rule := range rules {
		for kind, o := range map[string]call{"read": read, "query": query, "write": upsert, "batch": batch} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var results [2]seen
				for i := range results {
					s := setup{gateway: gateway.Options{Regions: []string{A}}, plain: i == 1}
					inWorld(t, s, func(w *world) {
						w.Inject(rule)
						ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
						defer cancel()
						response, err := alone(o)(ctx, w.container)
						results[i] = look(w.T, response, err)
					})
				}
				ours, plain := results[0], results[1]
				require.Equal(t, plain, ours)
			})
		}
	}
}

// TestTransportErrorsKeepTheirChain: after a walk through several regions the
// caller finds the system's error in the chain, as a bare net/http gives it.
func TestTransportErrorsKeepTheirChain(t *testing.T) {
	inWorld(t, setup{policy: noBreaker}, func(w *world) {
		var op *net.OpError
		for _, r := range []string{A, B, C} {
			w.Down(r)
		}
		for _, o := range []call{read, query, upsert, batch} {
			_, err := o(w.Context(), w.container)
			require.ErrorIs(w, err, syscall.ECONNREFUSED)
			require.ErrorAs(w, err, &op)
			require.Equal(w, "dial", op.Op)
			require.NotContains(w, err.Error(), "azcosmos-ha", "our terminal error is opened")
			_, ok := azcosmos.DiagnosticsFromError(err)
			require.True(w, ok)
		}
	})
	inWorld(t, setup{policy: noBreaker}, func(w *world) {
		w.Inject(gateway.Rule{Kind: gateway.Reset})
		for _, o := range []call{read, upsert} {
			_, err := o(w.Context(), w.container)
			require.ErrorIs(w, err, syscall.ECONNRESET)
		}
	})
}

// TestAnswerNamesItsRequest: the request of an answer is the one that the
// answering region got, for a success and for an error.
func TestAnswerNamesItsRequest(t *testing.T) {
	inWorld(t, setup{policy: attemptTimeout(time.Second)}, func(w *world) {
		w.Inject(status(A, 503, 0))
		response, err := read(w.Context(), w.container)
		require.NoError(w, err)
		require.Equal(w, "acct-westus.documents.azure.test:443", response.Request.URL.Host)
		w.Inject(status(B, 409, 0))
		_, err = read(w.Context(), w.container)
		var answer *azcore.ResponseError
		require.ErrorAs(w, err, &answer)
		require.Equal(w, "acct-westus.documents.azure.test:443", answer.RawResponse.Request.URL.Host)
		require.Equal(w, "acct-westus.documents.azure.test:443", answer.RawResponse.Request.Host)
		synctest.Wait()
	})
}
