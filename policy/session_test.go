package policy_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// behind is a region that has not seen the session of any read, except one
// under the hub header if it is the hub.
func behind(region string) gateway.Rule {
	return gateway.Rule{Region: region, Operations: []string{"readop"}, Status: 404, SubStatus: 1002}
}

// asHub is which of the requests carried the hub header: "- h h".
func (w *world) asHub() string {
	text := ""
	for _, h := range w.headers(hubHeader) {
		text += map[string]string{"": "- ", "true": "h "}[h]
	}
	return text
}

// sessionTests are single-write accounts unless they say otherwise.
var sessionTests = []struct {
	name      string
	multi     bool
	failover  bool
	preferred []string
	excluded  []string
	moved     string // the partition's write region
	known     bool   // and a write has found it
	limit     int
	rules     []gateway.Rule
	outcome   string
	asked     string
	asHub     string
}{
	{name: "multi-write: the next region", multi: true, rules: []gateway.Rule{behind(A)}, outcome: "200", asked: "A B", asHub: "- - "},
	{name: "multi-write: all regions", multi: true, rules: []gateway.Rule{behind("")}, outcome: "404/1002", asked: "A B C", asHub: "- - - "},
	{name: "multi-write: not the excluded ones", multi: true, excluded: []string{B}, rules: []gateway.Rule{behind(A)}, outcome: "200", asked: "A C", asHub: "- - "},
	{name: "multi-write: MaxAttempts", multi: true, limit: 2, rules: []gateway.Rule{behind("")}, outcome: "404/1002", asked: "A B", asHub: "- - "},
	{name: "the write region", preferred: []string{B, C, A}, rules: []gateway.Rule{behind(B)}, outcome: "200", asked: "B A", asHub: "- h "},
	{name: "though it is not preferred", preferred: []string{B, C}, rules: []gateway.Rule{behind(B)}, outcome: "200", asked: "B A", asHub: "- h "},
	{name: "though it is excluded", preferred: []string{B, C}, excluded: []string{A}, rules: []gateway.Rule{behind(B)}, outcome: "200", asked: "B A", asHub: "- h "},
	{name: "once", preferred: []string{B, C}, rules: []gateway.Rule{behind("")}, outcome: "404/1002", asked: "B A", asHub: "- h "},
	{name: "in the write region already", rules: []gateway.Rule{behind(A)}, outcome: "404/1002", asked: "A", asHub: "- "},
	{name: "in the write region already, failover on", failover: true, rules: []gateway.Rule{behind(A)}, outcome: "404/1002", asked: "A B C", asHub: "- h h "},
	{name: "and the hub is elsewhere", failover: true, moved: C, rules: []gateway.Rule{behind(A)}, outcome: "200", asked: "A B C", asHub: "- h h "},
	{name: "not the hub: the next candidate", preferred: []string{B}, moved: C, rules: []gateway.Rule{behind(B)}, outcome: "200", asked: "B A C", asHub: "- h h "},
	{name: "excluded candidates last", failover: true, excluded: []string{B}, moved: C, rules: []gateway.Rule{behind(A)}, outcome: "200", asked: "A C", asHub: "- h "},
	{name: "the override", failover: true, preferred: []string{B}, moved: C, known: true, rules: []gateway.Rule{behind(B)}, outcome: "200", asked: "B C", asHub: "- h "},
	{name: "the override, excluded", failover: true, preferred: []string{B}, excluded: []string{C}, moved: C, known: true, rules: []gateway.Rule{behind(B)}, outcome: "200", asked: "B C", asHub: "- h "},
	{name: "in the override already", failover: true, moved: C, known: true, rules: []gateway.Rule{behind(C)}, outcome: "404/1002", asked: "C A B", asHub: "- h h "},
	{name: "the hub is down: the next candidate", preferred: []string{B}, rules: []gateway.Rule{behind(B), fault(A, gateway.Refuse)}, outcome: "403/3", asked: "B A C", asHub: "- h h "},
	{name: "nobody is the hub", preferred: []string{B}, moved: "nowhere", rules: []gateway.Rule{behind(B)}, outcome: "404/1002", asked: "B A C", asHub: "- h h "},
	{name: "MaxAttempts 1", limit: 1, preferred: []string{B}, rules: []gateway.Rule{behind(B)}, outcome: "404/1002", asked: "B", asHub: "- "},
	{name: "MaxAttempts 2", limit: 2, preferred: []string{B}, moved: C, rules: []gateway.Rule{behind(B)}, outcome: "404/1002", asked: "B A", asHub: "- h "},
	{name: "after another failure", preferred: []string{B, C, A}, rules: []gateway.Rule{status(B, 503, 0), behind(C)}, outcome: "200", asked: "B C A", asHub: "- - h "},
	{name: "the write region has failed before", preferred: []string{A, B, C}, rules: []gateway.Rule{once(status(A, 503, 0)), behind(B)}, outcome: "200", asked: "A B A", asHub: "- - h "},
	{name: "and fails again", preferred: []string{A, B, C}, rules: []gateway.Rule{status(A, 503, 0), behind(B)}, outcome: "403/3", asked: "A B A C", asHub: "- - h h "},
}

// TestSession: which regions a read asks after a 404/1002, and which of them as
// the hub. Every read's token stays as it is.
func TestSession(t *testing.T) {
	for _, test := range sessionTests {
		for _, o := range itemReads[:2] { // azcosmos keeps the token of a read-many and of a change feed to itself
			t.Run(test.name+"/"+o.name, func(t *testing.T) {
				s := setup{preferred: test.preferred, gateway: gateway.Options{MultiWrite: test.multi, PartitionFailover: &test.failover}}
				s.policy = policy.Options{Retry: policy.RetryOptions{MaxAttempts: test.limit}, ExcludedRegions: test.excluded}
				inWorld(t, s, func(w *world) {
					if test.moved != "" {
						w.MoveRange("items", "0", test.moved)
					}
					if test.known {
						_, _ = w.do(w.Context(), upsert)
					}
					for _, r := range test.rules {
						w.Inject(r)
					}
					token := "0:-1#12345"
					w.expect(withToken(o.name, token), test.outcome, test.asked, 0)
					require.Equal(w, test.asHub, w.asHub())
					for _, sent := range w.headers("x-ms-session-token") {
						require.Equal(w, token, sent)
					}
				})
			})
		}
	}
}

// once is a rule that hits one request.
func once(r gateway.Rule) gateway.Rule {
	r.Hits = 1
	return r
}

// withToken is a read or a query with a session token.
func withToken(name, token string) call {
	if name == "read" {
		return readWith(token)
	}
	return func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		o := azcosmos.QueryOptions{SessionToken: &token}
		r, err := c.NewQueryItemsPager("SELECT * FROM c", key("a"), &o).NextPage(ctx)
		return r.RawResponse, err
	}
}

// TestSessionWrites: a write is never sent on after 404/1002 on a single-write
// account, with failover or without; on a multi-write account it is.
func TestSessionWrites(t *testing.T) {
	for _, s := range []setup{{}, ppafAccount(1)} {
		for _, o := range itemWrites {
			inWorld(t, s, func(w *world) {
				w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 404, SubStatus: 1002})
				w.expect(o.call, "404/1002", "A", 0)
				require.Equal(w, "- ", w.asHub())
				require.Empty(w, w.overrides())
			})
		}
	}
	for _, o := range itemWrites {
		inWorld(t, setup{gateway: multi}, func(w *world) {
			w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 404, SubStatus: 1002})
			got, _ := w.do(w.Context(), o.call)
			require.True(w, succeeded(got), got)
			require.Equal(w, "A B", w.contacted())
			require.Equal(w, "- - ", w.asHub())
		})
	}
}

// TestHubIsRemembered: with failover on the hub that a read has found is asked
// first by the next one that needs it; it moves no write and no other read; a
// write's confirmation overrules it, and so does a hub that has moved on.
func TestHubIsRemembered(t *testing.T) {
	s := ppafAccount(1)
	s.preferred = []string{B, A, C}
	inWorld(t, s, func(w *world) {
		w.MoveRange("items", "0", C)
		lags := w.Inject(behind(B))
		w.expect(read, "200", "B A C", 0)
		require.Equal(w, []string{"hub C"}, w.overrides())
		w.expect(read, "200", "B C", 0)
		w.expect(query, "200", "B C", 0)
		lags.Remove()
		w.expect(read, "200", "B", 0) // as before
		require.Equal(w, "- ", w.asHub(), "the header is the operation's, not the client's")

		lags = w.Inject(behind(B))
		w.MoveRange("items", "0", "") // back
		w.expect(read, "200", "B C A", 0)
		require.Empty(w, w.overrides())
		w.expect(read, "200", "B A", 0)

		w.MoveRange("items", "0", C)
		w.expect(upsert, "200", "A B C", 0)
		require.Equal(w, []string{"C"}, w.overrides())
		w.expect(read, "200", "B C", 0)
		w.MoveRange("items", "0", B)
		lags.Remove()
		w.Inject(behind(C))
		w.expect(excluding(read, B), "200", "A", 0)
		w.expect(excluding(read, B, A), "200", "C A B", 0)
		require.Equal(w, []string{"C, hub B"}, w.overrides())
		w.expect(upsert, "200", "C A B", 0)
		require.Equal(w, []string{"B"}, w.overrides())
	})
}

// excluding is a call that excludes regions.
func excluding(c call, names ...string) call {
	return func(ctx context.Context, container *azcosmos.ContainerClient) (*http.Response, error) {
		return c(regions.WithExcluded(ctx, names...), container)
	}
}

// TestHubIsNotRemembered: not without failover, not after an edge of the flag,
// and not for reads that are about no partition.
func TestHubIsNotRemembered(t *testing.T) {
	inWorld(t, setup{preferred: []string{B}}, func(w *world) {
		w.MoveRange("items", "0", C)
		w.Inject(behind(B))
		for range 3 {
			w.expect(read, "200", "B A C", 0)
			require.Empty(w, w.overrides())
		}
	})
	s := ppafAccount(1)
	s.preferred = []string{B}
	inWorld(t, s, func(w *world) {
		w.MoveRange("items", "0", C)
		w.Inject(behind(B))
		w.expect(read, "200", "B A C", 0)
		refreshed := func(on bool) {
			w.flag(on)
			pass(6 * time.Minute)
			_, _ = w.do(w.Context(), readContainer) // sets azcosmos's own refresh off, and finds no hub
			synctest.Wait()
		}
		refreshed(false)
		require.Empty(w, w.overrides())
		refreshed(true)
		require.Empty(w, w.overrides())
		w.expect(read, "200", "B A C", 0)
		w.expect(read, "200", "B C", 0)
	})
	all := func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		return queryAll(ctx, c, "")
	}
	for name, c := range map[string]call{"metadata": readContainer, "query of all partitions": all} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, s, func(w *world) {
				words := []string{"meta", "readop"}
				w.Inject(gateway.Rule{Region: B, Operations: words, Status: 404, SubStatus: 1002})
				w.Inject(gateway.Rule{Region: A, Operations: words, Status: 503})
				w.Inject(gateway.Rule{Region: C, Operations: []string{"readop"}, Status: 200, Body: `{"Documents":[],"_count":0}`})
				w.expect(c, "200", "B A C", 0)
				require.Empty(w, w.overrides())
			})
		})
	}
}

// TestHubForEveryRead: reads that name their partition in another way find and
// remember its hub as well.
func TestHubForEveryRead(t *testing.T) {
	for _, k := range knowledges {
		for _, o := range keyedReads {
			t.Run(k.name+"/"+o.name, func(t *testing.T) {
				s := ppafAccount(2)
				s.preferred = []string{B}
				inCircuit(t, s, func(w *circuitWorld) {
					op := o.make(w)
					w.prepare(k, op)
					w.MoveRange("items", w.rangeOf(w.p1), C)
					w.Inject(gateway.Rule{Region: B, Container: "items", Operations: []string{"readop"}, Status: 404, SubStatus: 1002})
					require.Equal(w, "B A C", w.times(1, op, w.container, w.p1))
					require.Equal(w, []string{"hub C"}, w.overrides())
					require.Equal(w, "B C B C", w.times(2, op, w.container, w.p1))
					require.Equal(w, "B A", w.times(1, op, w.container, w.p2), "another partition")
				})
			})
		}
	}
}

// TestHubHeaderEndsWithThePage: the pages of a query are operations of their own.
func TestHubHeaderEndsWithThePage(t *testing.T) {
	inWorld(t, setup{preferred: []string{B}}, func(w *world) {
		_, err := w.container.CreateItem(w.Context(), key("a"), item("2", "a", 0), nil)
		require.NoError(w, err)
		w.Inject(once(behind(B)))
		w.ResetLog()
		pages := w.container.NewQueryItemsPager("SELECT * FROM c", key("a"), &azcosmos.QueryOptions{PageSizeHint: 1})
		n := 0
		for ; pages.More(); n++ {
			_, err := pages.NextPage(w.Context())
			require.NoError(w, err)
		}
		require.Equal(w, 2, n)
		require.Equal(w, "B A B", w.contacted())
		require.Equal(w, "- h - ", w.asHub())
	})
}

// TestHubUnderHedging: with hedging on the walk looks for the hub as without it;
// hedges never carry the header, and their 404/1002 is not final.
func TestHubUnderHedging(t *testing.T) {
	s := ppafAccount(1)
	s.hedged, s.preferred = true, []string{B, A, C}
	inWorld(t, s, func(w *world) {
		w.MoveRange("items", "0", C)
		w.Inject(behind(B))
		w.expect(read, "200", "B A C", 0)
		require.Equal(w, "- h h ", w.asHub())
		w.expect(read, "200", "B C", 0)
		w.expect(read, "200", "B C", 0)
	})
	inWorld(t, s, func(w *world) {
		w.Inject(gateway.Rule{Region: B, Operations: []string{"read"}, Delay: 3 * time.Second})
		w.Inject(behind(B)) // after 3 s
		w.Inject(behind(A)) // the hedge of 1 s: not final, so the next one starts at once
		w.expect(read, "200", "B A C", time.Second)
		require.Equal(w, "- - - ", w.asHub())
	})
	inWorld(t, s, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Operations: []string{"read"}, Delay: 5 * time.Second})
		w.Inject(behind(B))
		w.expect(read, "200", "B A C", time.Second) // the hub is slow: a hedge asks C
		require.Equal(w, "- h - ", w.asHub())
	})
}

// TestHubAndTheBreaker: a 404/1002 is nobody's failure; the write region is
// asked although the breaker has opened it for reads, and what it says then
// counts as every other answer.
func TestHubAndTheBreaker(t *testing.T) {
	s := ppafAccount(2)
	s.preferred = []string{A, B, C}
	inCircuit(t, s, func(w *circuitWorld) {
		w.Inject(gateway.Rule{Region: C, Container: "items", Operations: []string{"readop"}, Status: 404, SubStatus: 1002})
		for range 30 {
			w.one(excludedIn(w, A, B), readKey, w.container, w.p1)
		}
		require.Empty(w, w.unwell())
		fault := w.sick(A)
		w.open(readKey, 10)
		fault.Remove()
		require.Equal(w, []string{"A read Unavailable"}, w.unwell())
		w.ResetLog()
		w.one(excludedIn(w, B), readKey, w.container, w.p1)
		require.Equal(w, "C A", w.data())
		require.Equal(w, "- h ", w.asHub())
		require.Equal(w, []string{"A read Unavailable"}, w.unwell(), "only a probe brings it back")
	})
}

func excludedIn(w *circuitWorld, names ...string) context.Context {
	return regions.WithExcluded(w.Context(), names...)
}

// TestHubAfterThrottling: the hub answers 429 and azcore repeats the read: a new
// pass, which finds the hub again.
func TestHubAfterThrottling(t *testing.T) {
	s := ppafAccount(1)
	s.preferred = []string{B}
	inWorld(t, s, func(w *world) {
		w.Inject(behind(B))
		w.Inject(gateway.Rule{
			Region: A, Operations: []string{"read"}, Status: 429, SubStatus: 3200, Hits: 1,
			Header: map[string]string{"x-ms-retry-after-ms": "250"},
		})
		w.expect(readWith("0:-1#7"), "200", "B A B A", 250*time.Millisecond)
		require.Equal(w, "- h - h ", w.asHub())
		require.Equal(w, slices.Repeat([]string{"0:-1#7"}, 4), w.headers("x-ms-session-token"))
	})
}

// Azure/azure-sdk-for-rust HEDGING_SPEC 9.2: a hedge that completes after the
// winner changes neither the answer nor the token that the caller sees.
func TestReport75_LateLoserChangesNothing(t *testing.T) {
	s := setup{hedged: true, gateway: multi, change: deafTransport}
	inWorld(t, s, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Operations: []string{"read"}, Kind: gateway.Slow, Delay: 1500 * time.Millisecond})
		for n := range 3 {
			_, err := w.container.ReplaceItem(w.Context(), key("a"), "1", item("1", "a", n), nil)
			require.NoError(w, err)
		}
		w.ResetLog()
		r, err := w.container.ReadItem(w.Context(), key("a"), "1", nil)
		require.NoError(w, err)
		require.Equal(w, "A B", w.contacted())
		body, token := string(r.Value), *r.SessionToken
		require.Contains(w, body, `"n":2`)
		require.NotEmpty(w, token)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, e := range w.Log() {
			require.True(w, e.Done)
			require.False(w, e.Cancelled, "the loser answers, though nobody listens")
		}
		require.Equal(w, body, string(r.Value))
		require.Equal(w, token, *r.SessionToken)
		require.Equal(w, token, r.RawResponse.Header.Get("x-ms-session-token"))
	})
}

// deafTransport lets every request run to its end, cancelled or not.
func deafTransport(o *azcosmos.ClientOptions) {
	next := o.Transport
	o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		return next.Do(r.WithContext(context.WithoutCancel(r.Context())))
	})
}
