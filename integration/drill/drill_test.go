package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// result is the part of -json that the tests look at.
type result struct {
	Passed bool
	Twice  map[string]int `json:"writesCarriedOutTwice"`
	Rows   []struct {
		Phase, Side                     string
		Requests, Failed, Lost, Unknown int
		Max                             float64 `json:"maxMilliseconds"`
		Regions                         map[string]int
	}
}

// brisk are flags for a short run of our side alone, patient with a busy machine.
var brisk = []string{"-phase", "400ms", "-rate", "50", "-timeout", "5s", "-attempt-timeout", "1s", "-slow", "3s", "-plain=false", "-json"}

// play runs the drill and returns its exit status and findings.
func play(t *testing.T, args ...string) (int, result) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(append(slices.Clone(brisk), args...), &stdout, &stderr)
	require.Empty(t, stderr.String())
	var r result
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &r), stdout.String())
	return status, r
}

// TestReadRegion: the default account loses the region that reads prefer, in every way there is. Nothing fails, and writes are
// not concerned.
func TestReadRegion(t *testing.T) {
	for _, protocol := range []string{"http1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			status, r := play(t, "-protocol", protocol, "-faults", "refuse,503,hang,slow,reset,stream")
			assert.Equal(t, 0, status)
			assert.True(t, r.Passed)
			require.Len(t, r.Rows, 8)
			for _, row := range r.Rows {
				assert.Equal(t, 20, row.Requests, row)
				assert.Zero(t, row.Failed, row)
				assert.NotZero(t, row.Regions["North Central US"], row)
				assert.Zero(t, row.Regions[gateway.Global], row)
				if row.Phase == "healthy" || row.Phase == "recovered" {
					continue
				}
				assert.NotZero(t, row.Regions["Central US"], row)
				if row.Phase != "West US refuses" { // there the middleware's own reading of the ranges may be the first to know
					assert.NotZero(t, row.Regions["West US"], row)
				}
			}
			assert.Equal(t, map[string]int{ours: 0}, r.Twice)
		})
	}
}

// TestBesidePlain: plain azcosmos gets the same load and the same faults. Within 1.5 s it gives up on no region that refuses.
func TestBesidePlain(t *testing.T) {
	t.Parallel()
	status, r := play(t, "-plain", "-timeout", "1500ms", "-faults", "refuse")
	require.Equal(t, 0, status)
	require.Len(t, r.Rows, 6)
	for i, row := range r.Rows {
		assert.Equal(t, []string{ours, plain}[i%2], row.Side)
		assert.Equal(t, 20, row.Requests, row)
	}
	refused := r.Rows[3]
	require.Equal(t, "West US refuses", refused.Phase)
	require.Equal(t, 20-refused.Regions["North Central US"], refused.Lost, refused)
	require.Zero(t, refused.Regions["Central US"], refused)
}

// TestMultiWrite: writes lose their region too. They go on elsewhere, unless they may have been carried out.
func TestMultiWrite(t *testing.T) {
	t.Parallel()
	status, r := play(t, "-multi-write", "-reads", "0.5", "-faults", "refuse,503,hang")
	require.Equal(t, 0, status)
	for _, row := range r.Rows {
		assert.Zero(t, row.Lost, row)
		assert.Equal(t, row.Failed, row.Unknown, row)
		if row.Phase == "North Central US hangs" {
			assert.NotZero(t, row.Unknown, row)
		}
	}
	require.Zero(t, r.Twice[ours])
}

// TestWriteRegion: without a failover nobody could have served the writes of a single-write account, and none is lost.
func TestWriteRegion(t *testing.T) {
	t.Parallel()
	status, r := play(t, "-preferred", "North Central US,West US", "-faults", "503", "-failover-after", "1h")
	require.Equal(t, 0, status)
	require.Len(t, r.Rows, 3)
	require.Equal(t, "North Central US answers 503", r.Rows[1].Phase)
	require.NotZero(t, r.Rows[1].Failed)
	require.Zero(t, r.Rows[1].Lost)
	require.Zero(t, r.Rows[1].Unknown)
	require.Zero(t, r.Rows[2].Failed)
}

// TestFailover: the service moves the write region, and the accounts say so; it is back when the fault is over.
func TestFailover(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"-faults", "hang@North Central US"})
	require.NoError(t, err)
	c, err := prepare(t.Context(), s)
	require.NoError(t, err)
	st, err := c.stage()
	require.NoError(t, err)
	defer st.close()
	client := st.tap.next.(*http.Client)
	writable := func() string {
		client.CloseIdleConnections() // those that the fault has reset
		a, err := readAccount(t.Context(), client, st.endpoint, s.key)
		require.NoError(t, err)
		return a.Writable[0].Name
	}
	require.Equal(t, "North Central US", writable())
	for _, f := range []fault{{"hang", "North Central US"}, {"refuse", "North Central US"}} {
		st.strike(f, s)
		impatient := *client
		impatient.Timeout = 200 * time.Millisecond
		_, err = readAccount(t.Context(), &impatient, st.endpoint, s.key)
		require.Error(t, err, "the global endpoint shares the fate of the write region")
		st.failover(f, "West US", s)
		require.Equal(t, "West US", writable())
		_, err = readAccount(t.Context(), &impatient, st.gateway.RegionEndpoint("North Central US"), s.key)
		require.Error(t, err, "the region that was lost stays lost")
		st.heal(s)
		require.Equal(t, "North Central US", writable())
	}
}

// TestEmulator: an endpoint with one region is put behind the gateways, and is left as it was found.
func TestEmulator(t *testing.T) {
	t.Parallel()
	store := gateway.NewStore()
	emulator := gateway.New(gateway.Options{Regions: []string{"South Central US"}, Upstream: store})
	listening, err := emulator.Listen(gateway.HTTP1)
	require.NoError(t, err)
	defer listening.Close()

	status, r := play(t, "-endpoint", "http://"+listening.Address(gateway.Global), "-faults", "refuse")
	require.Equal(t, 0, status)
	require.Len(t, r.Rows, 3)
	require.Nil(t, r.Twice)
	require.NotEmpty(t, store.Executions("items", ""))
	_, found := store.Lookup(t.Context(), "", "items")
	require.False(t, found)
}

// TestAccount: an account with several regions of its own gets a load and no faults, whatever the flags say.
func TestAccount(t *testing.T) {
	t.Parallel()
	store := gateway.NewStore()
	account := gateway.New(gateway.Options{Upstream: store, MultiWrite: true, Regions: []string{"East US", "Japan West"}})
	listening, err := account.Listen(gateway.TLSHTTP2)
	require.NoError(t, err)
	defer listening.Close()
	s, err := parse(append([]string{"-endpoint", listening.Endpoint(), "-preferred", "japanwest"}, brisk[:len(brisk)-1]...))
	require.NoError(t, err)
	s.client = listening.Client()

	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, perform(t.Context(), s, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "there is a load only, and no faults")
	require.Contains(t, stdout.String(), "Japan West 20")
	require.NotContains(t, stdout.String(), "hangs")
	_, found := store.Lookup(t.Context(), "", "items")
	require.False(t, found)

	s.preferred = []string{"East Asia"}
	require.Equal(t, 2, perform(t.Context(), s, &stdout, &stderr))
	require.Equal(t, "drill: -preferred \"East Asia\": is none of the account's regions: East US, Japan West\n", stderr.String())
}

// TestInterrupted: what was played until then is shown, and the status is not that of a drill that was passed.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"-phase", "1m", "-rate", "20", "-faults", "503", "-plain=false"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, perform(ctx, s, &stdout, &stderr))
	require.Equal(t, "drill: interrupted in phase \"healthy\"\n", stderr.String())
	require.Contains(t, stdout.String(), "healthy")
	require.NotContains(t, stdout.String(), "recovered")
}

// TestNoAccount: an endpoint that is none ends the drill with status 1 and a line that says why.
func TestNoAccount(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second}
	defer server.Close()
	go func() { _ = server.Serve(l) }() // ends with an error when it is closed
	for endpoint, want := range map[string]string{
		"http://" + l.Addr().String(): "no Cosmos DB account answers there: 404 Not Found",
		"http://127.0.0.1:1":          "connection refused",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run([]string{"-endpoint", endpoint}, &stdout, &stderr))
		require.Empty(t, stdout.String())
		require.Contains(t, stderr.String(), want)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
	}
}
