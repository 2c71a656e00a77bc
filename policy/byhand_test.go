package policy_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// byHand gives the world a client that is wired by hand: the application
// appends the two policies itself. Options.Transport is whatever o says; the
// ClientOptions have the gateway's, behind the wrapper if there is one.
func (w *world) byHand(o policy.Options, wrap func(azpolicy.Transporter) azpolicy.Transporter) {
	w.Helper()
	ha := newMiddleware(w.T, o)
	w.client, w.container = w.newClient(setup{plain: true, change: func(c *azcosmos.ClientOptions) {
		if wrap != nil {
			c.Transport = wrap(c.Transport)
		}
		c.PerCallPolicies = append(c.PerCallPolicies, ha.PerCall())
		c.PerRetryPolicies = append(c.PerRetryPolicies, ha.PerRetry())
	}})
	w.ha = ha
}

// inHandmade runs a test in a circuitWorld whose client is wired by hand and
// whose Middleware has no transport. The client has read the item of p1.
func inHandmade(t *testing.T, s setup, test func(w *circuitWorld)) {
	t.Helper()
	s.plain = true
	inCircuit(t, s, func(w *circuitWorld) {
		s.policy.Telemetry.Logger = slog.New(w.changes)
		w.byHand(s.policy, nil)
		w.times(1, readKey, w.container, w.p1)
		test(w)
	})
}

// TestByHandHedges: with Options.Transport a slow request is hedged; without it
// nothing is, however hedging is asked for, and the caller gets the first
// region's answer when it comes, without a goroutine beside its own.
func TestByHandHedges(t *testing.T) {
	const slow = 3 * time.Second
	tests := []struct {
		name       string
		call       call
		multiWrite bool
		ctx        func(context.Context) context.Context
	}{
		{name: "read", call: read},
		{name: "query", call: query},
		{name: "write", call: upsert, multiWrite: true},
		{name: "of the request", call: read, ctx: func(ctx context.Context) context.Context {
			return hedge.With(ctx, hedge.Options{Threshold: ms, Step: ms})
		}},
	}
	for _, test := range tests {
		for _, with := range []bool{true, false} {
			t.Run(test.name+"/"+strconv.FormatBool(with), func(t *testing.T) {
				inWorld(t, setup{plain: true, gateway: gateway.Options{MultiWrite: test.multiWrite}}, func(w *world) {
					o := hedgedAt(100 * ms)
					o.Hedge.Writes = true
					if with {
						o.Transport = w.Transport()
					}
					var most atomic.Int64
					w.byHand(o, func(next azpolicy.Transporter) azpolicy.Transporter {
						return transportFunc(func(r *http.Request) (*http.Response, error) {
							most.Store(max(most.Load(), started()))
							return next.Do(r)
						})
					})
					w.do(w.Context(), test.call) // everything that is made once is made
					w.Inject(gateway.Rule{Region: A, Container: "items", Delay: slow})
					w.ResetLog()
					synctest.Wait()
					before := started()
					most.Store(0)
					ctx := w.Context()
					if test.ctx != nil {
						ctx = test.ctx(ctx)
					}
					outcome, took := w.do(ctx, test.call)
					require.Equal(w, "200", outcome)
					synctest.Wait()
					require.LessOrEqual(w, started(), before, "a goroutine is left")
					if with {
						require.Equal(w, "A B", w.contacted())
						require.Less(w, took, slow)
						return
					}
					require.Equal(w, "A", w.contacted())
					require.Equal(w, slow, took)
					require.LessOrEqual(w, most.Load(), before, "a goroutine beside the caller's")
					require.Zero(w, w.ha.State().Hedging.Sent)
				})
			})
		}
	}
}

// started counts the goroutines that our policies have started and that are there.
func started() int64 {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return int64(bytes.Count(stacks, []byte("created by github.com/azcosmos-ha/azcosmos-ha/policy.")))
}

// TestByHandWalks: what needs no request of our own is as with Apply: the walk,
// the refresh of the topology, ranges through Bind.
func TestByHandWalks(t *testing.T) {
	inHandmade(t, setup{}, func(w *circuitWorld) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
		w.RemoveAll()
		w.SetWriteRegion(C)
		w.expect(upsert, "200", "A C", 0)
		w.ha.Bind(w.client)
		w.times(1, readKey, w.container, w.p1)
		w.sick(A)
		w.times(10, readKey, w.container, w.p1)
		require.Contains(w, w.unwell(), "A read Unavailable")
		require.Contains(w, w.ha.State().Accounts[0].Unwell[0].Partition, "range ")
	})
}

// TestByHandProbe: the read is its own probe. Of a hundred that arrive when the
// probe is due one goes to the opened region, and its caller waits for it; there
// are a hundred requests and no copy.
func TestByHandProbe(t *testing.T) {
	inHandmade(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		w.Inject(gateway.Rule{Region: A, Container: "items", Delay: 4 * time.Second})
		w.ResetLog()
		synctest.Wait()
		before := started()
		var waited atomic.Int64
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				start := time.Now()
				if got := outcomeOf(readKey(w.Context(), w.container, w.p1)); got != "200" {
					w.Error(got)
				}
				waited.Add(int64(time.Since(start)))
			})
		}
		pass(time.Second)
		synctest.Wait()
		require.Equal(w, 1, w.inFlight(), "the probe")
		require.LessOrEqual(w, started(), before, "its caller waits itself")
		callers.Wait()
		require.Equal(w, repeat("A", 1)+" "+repeat("B", 99), sorted(w.data()))
		require.Equal(w, 4*time.Second, time.Duration(waited.Load()), "of all callers")
		require.Equal(w, []string{"A read Unavailable>HealthyTentative probe succeeded 0"}, w.changes.take())
		require.LessOrEqual(w, started(), before, "a goroutine is left")
	})
}

// TestByHandProbeThatFails: the read goes on to the next region, like any other.
func TestByHandProbeThatFails(t *testing.T) {
	inHandmade(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		w.sick(A)
		require.Equal(w, "A B B", w.times(2, readKey, w.container, w.p1))
		require.Equal(w, []string{"A read Unavailable>Unavailable probe failed 1"}, w.changes.take())
	})
}

// TestByHandProbeGivenUp: a caller that goes away gives the place of the probe
// back, and nothing is left of it.
func TestByHandProbeGivenUp(t *testing.T) {
	inHandmade(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		hang := w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		outcome, contacted := w.ask(ctx, 1, readKey)
		require.Equal(w, "cancelled A", outcome+" "+contacted)
		require.Zero(w, w.inFlight())
		require.False(w, w.ha.State().Accounts[0].Unwell[0].Probing)
		hang.Remove()
		require.Equal(w, "A", w.times(1, readKey, w.container, w.p1))
		require.Equal(w, []string{"A read Unavailable>HealthyTentative probe succeeded 0"}, w.changes.take())
	})
}

// TestByHandProbeInItsUsualPlace: a read probes a region only where it would
// have asked it first: not behind a region that is well, and not one that the
// request excludes. With a transport the first would be probed in the shadow.
func TestByHandProbeInItsUsualPlace(t *testing.T) {
	inHandmade(t, setup{policy: policy.Options{PreferredRegions: []string{A, B, C}}}, func(w *circuitWorld) {
		withoutA := regions.WithExcluded(w.Context(), A)
		fault := w.sick(B)
		_, contacted := w.ask(withoutA, 10, readKey)
		require.Equal(w, repeat("B C", 10), contacted)
		fault.Remove()
		pass(openAtMost)
		require.Equal(w, "A A", w.times(2, readKey, w.container, w.p1), "A is well and comes first")
		_, contacted = w.ask(regions.WithExcluded(w.Context(), A, B), 1, readKey)
		require.Equal(w, "C", contacted, "B is excluded")
		require.Equal(w, []string{"B read Unavailable"}, w.unwell())
		_, contacted = w.ask(withoutA, 1, readKey)
		require.Equal(w, "B", contacted)
		require.Equal(w, []string{"B read HealthyTentative"}, w.unwell())
	})
}

// TestByHandWithoutAnyTransport: neither Options nor ClientOptions have one.
// azcosmos then uses its own client, which nobody else can reach: requests are
// routed through it, over real connections, and nothing is sent beside them.
func TestByHandWithoutAnyTransport(t *testing.T) {
	var answers, contacted sync.Map // by host: a func(http.ResponseWriter); a *atomic.Int64
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, some := answers.Load(r.Host); some && strings.HasPrefix(r.URL.Path, "/dbs/") {
			count, _ := contacted.LoadOrStore(r.Host, &atomic.Int64{})
			count.(*atomic.Int64).Add(1)
			answer.(func(http.ResponseWriter, *http.Request))(w, r)
			return
		}
		account, _ := answers.Load("account")
		_, _ = w.Write([]byte(account.(string)))
	})
	var host [2]string
	for i := range host {
		server := httptest.NewServer(serve)
		t.Cleanup(server.Close)
		host[i] = strings.TrimPrefix(server.URL, "http://")
	}
	one := `{"name":"North Central US","databaseAccountEndpoint":"http://` + host[0] + `/"}`
	two := `{"name":"West US","databaseAccountEndpoint":"http://` + host[1] + `/"}`
	answers.Store("account", `{"id":"acct","writableLocations":[`+one+`],"readableLocations":[`+one+`,`+two+`]}`)
	well := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":"1","pk":"a"}`)) }
	answers.Store(host[0], well)
	answers.Store(host[1], well)
	global := httptest.NewServer(serve)
	t.Cleanup(global.Close)

	ha := newMiddleware(t, policy.Options{Hedge: hedge.Options{Threshold: ms, Step: ms}})
	credential, err := azcosmos.NewKeyCredential(accountKey)
	require.NoError(t, err)
	client, err := azcosmos.NewClientWithKey(global.URL, credential, &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		PerCallPolicies: []azpolicy.Policy{ha.PerCall()}, PerRetryPolicies: []azpolicy.Policy{ha.PerRetry()},
	}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	container, err := client.NewContainer("db", "items")
	require.NoError(t, err)

	requests := func() (list [2]int64) {
		for i := range host {
			if count, some := contacted.LoadAndDelete(host[i]); some {
				list[i] = count.(*atomic.Int64).Load()
			}
		}
		return list
	}
	require.Equal(t, "200", outcomeOf(read(t.Context(), container)))
	require.Equal(t, [2]int64{1, 0}, requests())

	answers.Store(host[0], func(w http.ResponseWriter, r *http.Request) {
		slow := time.NewTimer(50 * ms) // fifty times the threshold
		defer slow.Stop()
		<-slow.C
		well(w, r)
	})
	require.Equal(t, "200", outcomeOf(read(t.Context(), container)))
	require.Equal(t, [2]int64{1, 0}, requests(), "a hedge was sent")

	answers.Store(host[0], func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	for range 10 {
		require.Equal(t, "200", outcomeOf(read(t.Context(), container)))
	}
	require.Equal(t, [2]int64{10, 10}, requests(), "the walk")
	require.Equal(t, "200", outcomeOf(read(t.Context(), container)))
	require.Equal(t, [2]int64{0, 1}, requests(), "the breaker has opened the region")
	require.Zero(t, ha.State().Hedging.Sent)
}
