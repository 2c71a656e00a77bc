package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// TestPeersFailoverFaults is the matrix of the Java SDK's tests: each write, and
// each fault of the write region while another one takes the partition's writes.
// Before the move: two regions and one retry. After it: one region, no retry. A
// timeout is never repeated here, so what moves the partition is the tenth.
func TestPeersFailoverFaults(t *testing.T) {
	faults := []struct {
		name    string
		rule    gateway.Rule
		tenth   bool // moves by the tenth only
		outcome string
		took    time.Duration // until the outcome
	}{
		{name: "503", rule: status(A, 503, 0)},
		{name: "503 10001", rule: status(A, 503, 10001)},
		{name: "403 3", rule: status(A, 403, 3)},
		{name: "408 0", rule: status(A, 408, 0), tenth: true, outcome: "408"},
		{name: "408 10002", rule: status(A, 408, 10002), tenth: true, outcome: "408/10002"},
		{name: "timeouts", rule: fault(A, gateway.Hang), tenth: true, outcome: "deadline", took: 200 * ms},
	}
	for _, f := range faults {
		for name, write := range writes {
			t.Run(f.name+"/"+name, func(t *testing.T) {
				inWorld(t, ppafAccount(1), func(w *world) {
					// The client learns the range of the key from an answer: one that hangs tells none.
					w.Inject(once(status(A, 408, 0)))
					w.expect(upsert, "408", "A", 0)
					w.expect(upsert, "200", "A", 0)
					w.MoveRange("items", "0", B)
					f.rule.Operations = []string{"write"}
					w.Inject(f.rule)
					before := (&circuitWorld{world: w}).effects()
					first := "A B"
					if f.tenth {
						for range 10 {
							ctx, cancel := context.WithTimeout(w.Context(), 200*ms)
							w.expectWith(ctx, write, f.outcome, "A", f.took)
							cancel()
						}
						require.Equal(w, []string{"slow A"}, w.overrides())
						first = "B"
					}
					w.succeeds(write, first)
					require.Equal(w, []string{"B"}, w.overrides())
					_, _ = w.do(w.Context(), upsert) // a deleted item is there again
					w.succeeds(write, "B")
					require.Equal(w, before+3, (&circuitWorld{world: w}).effects())
					require.Empty(w, w.store.Repeated())
				})
			})
		}
	}
}

// succeeds makes a call and requires a 2xx at once, and the regions contacted.
func (w *world) succeeds(c call, asked string) {
	w.Helper()
	w.ResetLog()
	got, took := w.do(w.Context(), c)
	require.True(w, succeeded(got), got)
	require.Equal(w, asked, w.contacted())
	require.Zero(w, took)
}

// TestPeersFailoverConfirms: any answer but those that refuse confirms the region
// that gives it, so the partition has moved: the service's own 409 and 412 as
// well as its 2xx. The caller sees the answer.
func TestPeersFailoverConfirms(t *testing.T) {
	exists := func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		r, err := c.CreateItem(ctx, key("a"), item("1", "a", 1), nil)
		return r.RawResponse, err
	}
	changed := func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		etag := azcore.ETag(`"another"`)
		r, err := c.ReplaceItem(ctx, key("a"), "1", item("1", "a", 1), &azcosmos.ItemOptions{IfMatchEtag: &etag})
		return r.RawResponse, err
	}
	for _, refusal := range []gateway.Rule{status(A, 403, 3), status(A, 503, 0), fault(A, gateway.Refuse)} {
		for outcome, c := range map[string]call{"200": upsert, "201": create, "409": exists, "412": changed} {
			t.Run(fmt.Sprintf("%s %d/%s", refusal.Kind, refusal.Status, outcome), func(t *testing.T) {
				inWorld(t, ppafAccount(1), func(w *world) {
					w.MoveRange("items", "0", B)
					refusal.Operations = []string{"write"}
					w.Inject(refusal)
					w.expect(c, outcome, "A B", 0)
					require.Equal(w, []string{"B"}, w.overrides())
					w.expect(upsert, "200", "B", 0)
					require.Empty(w, w.store.Repeated())
				})
			})
		}
	}
}

// TestPeersFailoverDiscards: a search that ends before a region has confirmed
// moves nothing: the next write begins at the primary.
func TestPeersFailoverDiscards(t *testing.T) {
	tests := []struct {
		name    string
		b       gateway.Rule // what B does; A answers 503
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		outcome string
		asked   string
		took    time.Duration
		left    []string
	}{
		{"cancelled", fault(B, gateway.Hang), cancelledAfter(50 * ms), "cancelled", "A B", 50 * ms, []string{}},
		{"deadline", fault(B, gateway.Hang), within(50 * ms), "deadline", "A B", 50 * ms, []string{}},
		{"deadline that counts", fault(B, gateway.Hang), within(200 * ms), "deadline", "A B", 200 * ms, []string{"1 timeouts"}},
		{"500", status(B, 500, 0), context.WithCancel, "500", "A B", 0, []string{}},
		{"404 1002", status(B, 404, 1002), context.WithCancel, "404/1002", "A B", 0, []string{}},
		{"408", status(B, 408, 0), context.WithCancel, "408", "A B", 0, []string{"1 timeouts"}},
		{"reset", fault(B, gateway.Reset), context.WithCancel, "error", "A B", 0, []string{"1 timeouts"}},
		{"refused everywhere", gateway.Rule{Status: 503}, context.WithCancel, "503", "A B C", 0, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				before := (&circuitWorld{world: w}).effects()
				for _, rule := range []gateway.Rule{status(A, 503, 0), test.b} {
					rule.Operations = []string{"write"}
					w.Inject(rule)
				}
				ctx, cancel := test.ctx(w.Context())
				defer cancel()
				w.expectWith(ctx, upsert, test.outcome, test.asked, test.took)
				synctest.Wait()
				require.Equal(w, test.left, w.overrides())
				require.Equal(w, before, (&circuitWorld{world: w}).effects())
				w.RemoveAll()
				w.expect(upsert, "200", "A", 0)
			})
		})
	}
}

// cancelledAfter is a caller that gives up after a while.
func cancelledAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(d, cancel)
		return ctx, cancel
	}
}

// TestPeersLateRefusalKeepsTheHub: a 403/3 that was asked for before a region
// was confirmed, and comes after it, overwrites nothing: neither the hub that a
// read has found, nor the override that a write has.
func TestPeersLateRefusalKeepsTheHub(t *testing.T) {
	s := ppafAccount(1)
	s.preferred = []string{B, A, C}
	for name, o := range map[string]struct {
		call  call
		word  string
		asked string // by the operation whose answer comes late, and by the one that finds the region meanwhile
		known string
		then  string
		rest  string // what the late one sees
		took  time.Duration
	}{
		"read":  {read, "read", "B A C", "hub C", "B C", "404/1002", time.Second},
		"write": {upsert, "upsert", "A B C", "C", "C", "200", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, s, func(w *world) {
				w.MoveRange("items", "0", C)
				w.Inject(gateway.Rule{Region: B, Operations: []string{"read"}, Status: 404, SubStatus: 1002})
				w.Inject(gateway.Rule{Region: C, Operations: []string{o.word}, Status: 403, SubStatus: 3, Delay: time.Second, Hits: 1})
				var late sync.WaitGroup
				late.Go(func() {
					got, took := w.do(w.Context(), o.call)
					assert.Equal(w, o.rest, got)
					assert.Equal(w, o.took, took)
				})
				defer late.Wait()
				pass(500 * ms)
				require.Equal(w, o.asked, w.contacted())
				w.expect(o.call, "200", o.asked, 0)
				require.Equal(w, []string{o.known}, w.overrides())
				pass(600 * ms)
				require.Equal(w, []string{o.known}, w.overrides(), "the late refusal")
				late.Wait()
				w.expect(o.call, "200", o.then, 0)
				require.Equal(w, []string{o.known}, w.overrides())
				require.Empty(w, w.store.Repeated())
			})
		})
	}
}
