package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// replicated is an account with replication lag, and one client per region.
type replicated struct {
	*testing.T
	*gateway.Gateway
}

func newReplicated(t *testing.T, multi bool) replicated {
	store := gateway.NewStore()
	store.CreateContainer("db", "items", "/pk")
	return replicated{t, gateway.New(gateway.Options{
		Regions: []string{"West US", "East US"}, MultiWrite: multi, Upstream: store,
		Lag: map[string]time.Duration{"West US": time.Second, "East US": 2 * time.Second},
	})}
}

// do sends a request to a region and returns "status body-n", and the session token of the answer.
func (r replicated) do(region, method, body, session string) (answer, token string) {
	path := r.RegionEndpoint(region) + "dbs/db/colls/items/docs"
	if method == http.MethodGet {
		path += "/1"
	}
	q, err := http.NewRequestWithContext(r.Context(), method, path, strings.NewReader(body))
	require.NoError(r, err)
	q.Header.Set("x-ms-documentdb-partitionkey", `["a"]`)
	q.Header.Set("x-ms-documentdb-is-upsert", "true")
	q.Header.Set("x-ms-session-token", session)
	a, err := r.RoundTripper().RoundTrip(q)
	require.NoError(r, err)
	defer a.Body.Close()
	content, err := io.ReadAll(a.Body)
	require.NoError(r, err)
	_, n, _ := strings.Cut(string(content), `"n":`)
	n, _, _ = strings.Cut(n, ",")
	return strings.TrimSpace(a.Status[:3] + "/" + a.Header.Get("x-ms-substatus") + " " + n), a.Header.Get("x-ms-session-token")
}

// TestLag reads, in each region, what was written in one of them, before and after it has been replicated.
func TestLag(t *testing.T) {
	for name, multi := range map[string]bool{"single write": false, "multi write": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplicated(t, multi)
				_, first := r.do("West US", http.MethodPost, `{"id":"1","pk":"a","n":1}`, "")
				time.Sleep(2 * time.Second)
				got, token := r.do("East US", http.MethodGet, "", first)
				require.Equal(t, "200/ 1", got)
				require.Equal(t, first, token)

				_, second := r.do("West US", http.MethodPost, `{"id":"1","pk":"a","n":2}`, "")
				got, _ = r.do("West US", http.MethodGet, "", second)
				require.Equal(t, "200/ 2", got, "where it was written")
				got, token = r.do("East US", http.MethodGet, "", "")
				require.Equal(t, "200/ 1", got, "an older version, without a session")
				require.Equal(t, strings.SplitN(first, "#", 3)[2], strings.SplitN(token, "#", 3)[2], "whose token is no newer than it")
				got, _ = r.do("East US", http.MethodGet, "", second)
				require.Equal(t, "404/1002", got)
				time.Sleep(2*time.Second - 1)
				got, _ = r.do("East US", http.MethodGet, "", second)
				require.Equal(t, "404/1002", got)
				time.Sleep(time.Nanosecond)
				got, _ = r.do("East US", http.MethodGet, "", second)
				require.Equal(t, "200/ 2", got)
			})
		})
	}
}

// TestLagAcrossSplits takes a token of a range to the ranges that it was split into.
func TestLagAcrossSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicated(t, false)
		_, token := r.do("West US", http.MethodPost, `{"id":"1","pk":"a","n":1}`, "")
		r.Split("items", "0")
		got, _ := r.do("East US", http.MethodGet, "", token)
		require.Contains(t, got, "404/1002")
		got, _ = r.do("West US", http.MethodGet, "", token)
		require.Equal(t, "200/ 1", got)
		time.Sleep(2 * time.Second)
		got, _ = r.do("East US", http.MethodGet, "", token)
		require.Equal(t, "200/ 1", got)
	})
}

// TestLagOfARangeThatIsSplitMeanwhile splits a range while a read is on its way: it is still behind.
func TestLagOfARangeThatIsSplitMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicated(t, false)
		_, token := r.do("West US", http.MethodPost, `{"id":"1","pk":"a","n":1}`, "")
		r.SetLatency("East US", 10*time.Millisecond)
		timer := time.AfterFunc(5*time.Millisecond, func() { r.Split("items", "0") })
		defer timer.Stop()
		got, _ := r.do("East US", http.MethodGet, "", token)
		require.Contains(t, got, "404/1002")
	})
}

// TestLagOfAMovedRange reads in the region that a range was moved to, which has caught up by then.
func TestLagOfAMovedRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicated(t, false)
		_, token := r.do("West US", http.MethodPost, `{"id":"1","pk":"a","n":1}`, "")
		r.MoveRange("items", "0", "East US")
		got, _ := r.do("East US", http.MethodGet, "", token)
		require.Equal(t, "200/ 1", got)
	})
}
