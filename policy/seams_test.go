package policy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// TestHedgedWritesLeaveAHangingRegion: a write that probes an opened region and
// loses to a hedge is a probe that failed: the region stays out for longer, and
// the next writes do not pay for it.
func TestHedgedWritesLeaveAHangingRegion(t *testing.T) {
	s := setup{gateway: gateway.Options{MultiWrite: true}, policy: hedgedAt(100 * time.Millisecond), hedged: true}
	s.policy.Hedge.Writes = true
	inCircuit(t, s, func(w *circuitWorld) {
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang})
		for range 5 {
			w.expect(upsert, "200", "A B", 100*time.Millisecond)
		}
		w.expect(upsert, "200", "B", 0)
		pass(40 * time.Second)
		slowOnes := 0
		for range 10 {
			start := time.Now()
			_, err := upsert(w.Context(), w.container)
			require.NoError(w, err)
			if time.Since(start) > 0 {
				slowOnes++
			}
		}
		require.LessOrEqual(w, slowOnes, 1, "writes that paid the threshold after the breaker had opened")
	})
}

// brokenBody makes the bodies of item reads break off in the regions that it names.
func brokenBody(letters string) func(*azcosmos.ClientOptions) {
	return func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			response, err := next.Do(r)
			item := r.Method == http.MethodGet && len(r.URL.Path) > 5
			if err == nil && item && strings.Contains(letters, letterOfHost(r.URL.Host)) {
				response.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			return response, err
		})
	}
}

// TestBodyThatBreaksOff: azcore gives the response and the error. The attempt is
// no success, and is told as none.
func TestBodyThatBreaksOff(t *testing.T) {
	inWorld(t, setup{change: brokenBody("A")}, func(w *world) {
		ctx, record := telemetry.Record(w.Context())
		w.expectWith(ctx, read, "200", "A B", 0)
		contacts := record.Calls()[0].Contacts
		require.Zero(w, contacts[0].Status)
		require.Equal(w, 200, contacts[1].Status)
	})
	inWorld(t, setup{change: brokenBody("ABC")}, func(w *world) {
		ctx, record := telemetry.Record(w.Context())
		_, err := read(ctx, w.container)
		require.ErrorIs(w, err, io.ErrUnexpectedEOF)
		require.Zero(w, record.Calls()[0].Status)
	})
}

// TestThrottledEverywhere: azcore repeats a 429, each time from the first region
// on. The hedges of the first pass are not repeated with it.
func TestThrottledEverywhere(t *testing.T) {
	inWorld(t, setup{hedged: true}, func(w *world) {
		w.Inject(gateway.Rule{Status: 429, SubStatus: 3200, Header: map[string]string{"x-ms-retry-after-ms": "10"}})
		w.expect(read, "429/3200", "A B C A A A", 30*time.Millisecond)
	})
}

// TestTrialThatHangs: a marked region that answers no more is tried by one
// request every half minute, not by each that comes.
func TestTrialThatHangs(t *testing.T) {
	s := setup{policy: hedgedAt(100 * time.Millisecond), hedged: true}
	s.gateway.Ranges = 2
	inCircuit(t, s, func(w *circuitWorld) {
		w.Down(A)
		w.times(1, readKey, w.container, w.p1)
		w.Up(A)
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang})
		pass(31 * time.Second)
		slow := 0
		for range 10 {
			for _, pk := range []string{w.p1, w.p2} {
				start := time.Now()
				_, err := readKey(w.Context(), w.container, pk)
				require.NoError(w, err)
				if time.Since(start) > 0 {
					slow++
				}
			}
		}
		require.LessOrEqual(w, slow, 1, "reads that paid the threshold for the trial of a marked region")
	})
}

// TestTrialThatHangsUnhedged: the same where nothing shortens the wait.
func TestTrialThatHangsUnhedged(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.Down(A)
		w.times(1, readKey, w.container, w.p1)
		w.Up(A)
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang})
		pass(31 * time.Second)
		failed := 0
		for range 10 {
			for _, pk := range []string{w.p1, w.p2} {
				ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
				_, err := readKey(ctx, w.container, pk)
				cancel()
				if err != nil {
					failed++
				}
			}
		}
		require.LessOrEqual(w, failed, 1, "reads that failed for the trial of a marked region")
	})
}

// TestRangesArriveLate: the range map is read while a region is opened for the
// key alone; the region stays out.
func TestRangesArriveLate(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.sick(A)
		w.open(readKey, 10)
		w.ha.Bind(w.client)
		w.times(1, readKey, w.container, w.p1)
		pass(time.Second)
		require.Equal(w, repeat("B", 5), w.times(5, readKey, w.container, w.p1))
	})
}

// TestEndpointWithoutPort: the endpoint of the client's region is the same with
// and without the usual port: there is no other endpoint to ask for the account.
func TestEndpointWithoutPort(t *testing.T) {
	for _, endpoint := range []string{"https://acct-westus.documents.azure.test", "https://ACCT-WestUS.documents.azure.test:443"} {
		s := setup{endpoint: endpoint, gateway: gateway.Options{Regions: []string{B}}}
		inWorld(t, s, func(w *world) {
			w.Inject(gateway.Rule{Region: B, Operations: []string{"account"}, Status: 500})
			pass(6 * time.Minute)
			_, _ = w.do(w.Context(), read) // sets azcosmos's own refresh off
			pass(time.Minute)
			require.Len(w, w.AccountReads(), 4, "azcore's tries and nothing else")
		})
	}
}

// TestLoserStillReadsItsURL: a transport may read a request for a while after it
// has been cancelled, as HTTP/2 does.
func TestLoserStillReadsItsURL(t *testing.T) {
	var late sync.WaitGroup
	s := setup{policy: hedgedAt(20 * time.Millisecond), hedged: true, change: func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if letterOfHost(r.URL.Host) == "A" && r.Method == http.MethodGet && len(r.URL.Path) > 5 {
				late.Go(func() {
					<-r.Context().Done()
					for range 1000 {
						_ = r.URL.Host + r.Host
					}
				})
			}
			return next.Do(r)
		})
	}}
	inWorld(t, s, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang})
		for range 4 {
			got, _ := w.do(w.Context(), read)
			require.Equal(w, "200", got)
		}
		late.Wait()
	})
}
