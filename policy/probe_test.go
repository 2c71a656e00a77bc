package policy_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// due opens A for p1's reads, makes A well again and lets the probe become due.
func (w *circuitWorld) due(op keyed) {
	w.Helper()
	w.times(1, op, w.container, w.p1)
	fault := w.sick(A)
	w.open(op, 10)
	fault.Remove()
	time.Sleep(openAtMost)
	w.changes.take()
}

// together makes n calls of p1 at once, requires that each succeeds and takes no
// time, and returns how many requests went to A.
func (w *circuitWorld) together(n int, op keyed) int {
	w.Helper()
	w.ResetLog()
	var callers sync.WaitGroup
	for range n {
		callers.Go(func() { w.one(w.Context(), op, w.container, w.p1) })
	}
	callers.Wait()
	synctest.Wait()
	return strings.Count(w.data(), "A")
}

// TestOneProbe: however many reads arrive when a probe is due, one probe goes,
// and no further one while it is in flight.
func TestOneProbe(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		w.Inject(gateway.Rule{Region: A, Container: "items", Delay: 4 * time.Second})
		require.Equal(w, 1, w.together(100, readKey))
		time.Sleep(2 * time.Second)
		require.Zero(w, w.together(100, readKey))
		require.Equal(w, 1, w.inFlight())
		time.Sleep(3 * time.Second)
		require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
	})
}

// TestOneWriteProbe: the same for writes, where the probe is a write.
func TestOneWriteProbe(t *testing.T) {
	inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
		w.times(1, upsertKey, w.container, w.p1)
		w.sick(A)
		w.open(upsertKey, 5)
		time.Sleep(openAtMost)
		require.Equal(w, 1, w.together(100, upsertKey))
		require.Equal(w, []string{"A write Unavailable"}, w.unwell())
	})
}

// TestProbeThatHangs is over after five seconds, and is a failure.
func TestProbeThatHangs(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		hang := w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
		require.Equal(w, 1, w.together(10, readKey))
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		require.Equal(w, 1, w.inFlight())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Zero(w, w.inFlight())
		require.Equal(w, []string{"A read Unavailable>Unavailable probe failed 1"}, w.changes.take())
		hang.Remove()
		w.awaitProbe(readKey)
		require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
	})
}

// TestProbeAnswers: what the answers to a probe make of the region.
func TestProbeAnswers(t *testing.T) {
	tests := []struct {
		name string
		rule gateway.Rule
		want string
	}{
		{"200", gateway.Rule{Region: C, Status: 503}, "HealthyTentative"},
		{"404", gateway.Rule{Status: 404}, "HealthyTentative"},
		{"401", gateway.Rule{Status: 401}, "HealthyTentative"},
		{"500", gateway.Rule{Status: 500}, "again"},
		{"503", gateway.Rule{Status: 503}, "again"},
		{"408", gateway.Rule{Status: 408}, "again"},
		{"403/1008", gateway.Rule{Status: 403, SubStatus: 1008}, "again"},
		{"429/3092", gateway.Rule{Status: 429, SubStatus: 3092}, "again"},
		{"refused", gateway.Rule{Kind: gateway.Refuse}, "again"},
		{"reset", gateway.Rule{Kind: gateway.Reset}, "again"},
		{"429", gateway.Rule{Status: 429, SubStatus: 3200}, "free"},
		{"410/1002", gateway.Rule{Status: 410, SubStatus: 1002}, "free"},
		{"404/1002", gateway.Rule{Status: 404, SubStatus: 1002}, "free"},
		{"449", gateway.Rule{Status: 449}, "free"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				w.due(readKey)
				if test.rule.Region == "" {
					test.rule.Region = A
				}
				test.rule.Container = "items"
				fault := w.Inject(test.rule)
				require.Equal(w, 1, w.together(1, readKey), "one try: a probe is not repeated")
				switch test.want {
				case "HealthyTentative":
					require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
				case "again":
					require.Equal(w, []string{"A read Unavailable>Unavailable probe failed 1"}, w.changes.take())
					require.Zero(w, w.together(1, readKey))
				case "free":
					require.Empty(w, w.changes.take())
					require.Zero(w, w.together(10, readKey), "a region that only throttles is not probed by every read")
					time.Sleep(time.Second + time.Millisecond)
					fault.Remove()
					require.Equal(w, 1, w.together(1, readKey), "the place is free")
					require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
				}
				require.Empty(w, w.ha.State().Accounts[0].Regions[0].UnwellReads, "its answer is the breaker's only")
			})
		})
	}
}

// TestProbeEndsWithClose: Close ends a probe in flight, without a verdict, and
// none goes out after it. Requests go on.
func TestProbeEndsWithClose(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
		require.Equal(w, 1, w.together(1, readKey))
		require.Equal(w, 1, w.inFlight())
		w.ha.Close()
		synctest.Wait()
		require.Zero(w, w.inFlight())
		require.Empty(w, w.changes.take())
		require.False(w, w.ha.State().Accounts[0].Unwell[0].Probing)
		require.Zero(w, w.together(10, readKey))
		time.Sleep(time.Minute)
		require.Zero(w, w.together(10, readKey))
	})
}

// TestProbeOfPanickingTransport: a transport that panics under a probe ends
// neither the process nor the probing.
func TestProbeOfPanickingTransport(t *testing.T) {
	var panics atomic.Bool
	change := func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if panics.Load() && letterOfHost(r.URL.Host) == "A" {
				panic("transport")
			}
			return next.Do(r)
		})
	}
	inCircuit(t, setup{change: change}, func(w *circuitWorld) {
		w.due(readKey)
		panics.Store(true)
		require.Zero(w, w.together(5, readKey))
		require.Empty(w, w.changes.take())
		require.False(w, w.ha.State().Accounts[0].Unwell[0].Probing, "the place is free")
		panics.Store(false)
		require.Equal(w, 1, w.together(1, readKey))
		require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
	})
}

// TestProbeOutlivesItsCaller: the end of the caller's context, or its deadline,
// is not the probe's; the caller's exclusions are.
func TestProbeOutlivesItsCaller(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.due(readKey)
		w.Inject(gateway.Rule{Region: A, Container: "items", Delay: 3 * time.Second})
		_, contacted := w.ask(regions.WithExcluded(w.Context(), A), 5, readKey)
		require.Equal(w, repeat("B", 5), contacted, "excluded: no probe")
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		w.one(ctx, readKey, w.container, w.p1)
		cancel()
		synctest.Wait()
		require.Equal(w, 1, w.inFlight())
		time.Sleep(4 * time.Second)
		require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
	})
}

// TestProbeOfALoneCallerThatGivesUp: a write that is the probe and is given up
// by its caller says nothing, and frees the place.
func TestProbeOfALoneCallerThatGivesUp(t *testing.T) {
	inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
		w.times(1, upsertKey, w.container, w.p1)
		fault := w.sick(A)
		w.open(upsertKey, 5)
		fault.Remove()
		time.Sleep(openAtMost)
		hang := w.Inject(gateway.Rule{Region: A, Container: "items", Kind: gateway.Hang})
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		outcome, contacted := w.ask(ctx, 1, upsertKey)
		require.Equal(w, "cancelled A", outcome+" "+contacted)
		require.False(w, w.ha.State().Accounts[0].Unwell[0].Probing)
		hang.Remove()
		require.Equal(w, "A", w.times(1, upsertKey, w.container, w.p1))
		require.Equal(w, []string{"A write HealthyTentative"}, w.unwell())
	})
}

// TestProbeIsACopy: a shadow probe carries what the request carries: its
// authorization, its session token, its body, the headers that the caller's
// context adds; and it leaves the caller's captured response alone.
func TestProbeIsACopy(t *testing.T) {
	token := "0:-1#1"
	reads := map[string]keyed{
		"read": func(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
			r, err := c.ReadItem(ctx, key(pk), "1", &azcosmos.ItemOptions{SessionToken: &token})
			return r.RawResponse, err
		},
		"query": func(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
			o := &azcosmos.QueryOptions{
				SessionToken:    &token,
				QueryParameters: []azcosmos.QueryParameter{{Name: "@n", Value: 0}},
			}
			r, err := c.NewQueryItemsPager("SELECT * FROM c WHERE c.n = @n", key(pk), o).NextPage(ctx)
			return r.RawResponse, err
		},
	}
	for name, op := range reads {
		t.Run(name, func(t *testing.T) {
			sent := &bodies{}
			inCircuit(t, setup{change: sent.change}, func(w *circuitWorld) {
				w.due(op)
				sent.take()
				w.Inject(gateway.Rule{Region: A, Container: "items", Delay: time.Second})
				var captured *http.Response
				ctx := azpolicy.WithCaptureResponse(w.Context(), &captured)
				ctx = azpolicy.WithHTTPHeader(ctx, http.Header{"X-Of-The-Caller": {"yes"}})
				ctx = azpolicy.WithRetryOptions(ctx, azpolicy.RetryOptions{MaxRetries: 5, RetryDelay: time.Millisecond})
				w.ResetLog()
				w.one(ctx, op, w.container, w.p1)
				require.Equal(w, "B", letterOfHost(captured.Request.URL.Host))
				time.Sleep(5 * time.Second)
				require.Equal(w, "B", letterOfHost(captured.Request.URL.Host), "the caller's own")
				w.sameRequests()
				contents := sent.take()
				require.Len(w, contents, 2)
				require.Equal(w, contents[0], contents[1])
				require.Equal(w, name == "query", contents[0] != "")
			})
		})
	}
}

// sameRequests requires that the log holds a request and its probe, with the
// same headers.
func (w *circuitWorld) sameRequests() {
	w.Helper()
	log := w.Log()
	require.Len(w, log, 2)
	require.Equal(w, "A B", sorted(w.data()))
	require.Equal(w, log[0].Header, log[1].Header)
	require.Equal(w, log[0].Path, log[1].Path)
	require.Equal(w, log[0].Method, log[1].Method)
	for _, e := range log {
		require.NotEmpty(w, e.Header.Get("Authorization"))
		require.NotEmpty(w, e.Header.Get("X-Ms-Date"))
		require.NotEmpty(w, e.Header.Get("User-Agent"))
		require.Equal(w, "0:-1#1", e.Header.Get("X-Ms-Session-Token"))
		require.Equal(w, "yes", e.Header.Get("X-Of-The-Caller"))
		require.Empty(w, e.Header.Get("X-Ms-Cosmos-Hub-Region-Processing-Only"))
	}
}
