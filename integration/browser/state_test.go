package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// failover is an account in the middle of one: West US answers 503, the service has moved the partition's write
// region there, and Central US cannot be reached.
func failover(t *testing.T) *policy.Middleware {
	t.Helper()
	store := gateway.NewStore()
	store.CreateContainer("db", "items", "/pk")
	g := gateway.New(gateway.Options{Regions: []string{"North Central US", "West US", "Central US"}, Upstream: store})
	on := true
	g.SetFlags(&on, nil)
	ha, err := policy.New(policy.Options{})
	require.NoError(t, err)
	t.Cleanup(ha.Close)
	listening, err := g.Listen(gateway.HTTP1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listening.Close()) })
	o := &azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{Transport: listening.Client()},
		PreferredRegions: []string{"West US", "Central US", "North Central US"},
	}
	ha.Apply(o)
	credential, err := azcosmos.NewKeyCredential(gateway.EmulatorKey)
	require.NoError(t, err)
	client, err := azcosmos.NewClientWithKey(listening.Endpoint(), credential, o)
	require.NoError(t, err)
	items, err := client.NewContainer("db", "items")
	require.NoError(t, err)
	write := func(ctx context.Context, id string) {
		_, err := items.UpsertItem(ctx, azcosmos.NewPartitionKeyString(id), fmt.Appendf(nil, `{"id":%q,"pk":%q}`, id, id), nil)
		require.NoError(t, err)
	}
	write(t.Context(), marked)
	g.Inject(gateway.Rule{Region: "West US", Operations: []string{"readop"}, Kind: gateway.Status, Status: http.StatusServiceUnavailable})
	for _, id := range g.Ranges("items") {
		g.MoveRange("items", id, "West US")
	}
	g.Down("Central US")
	write(t.Context(), marked)
	for range 12 {
		_, err := items.ReadItem(t.Context(), azcosmos.NewPartitionKeyString(marked), marked, nil)
		require.NoError(t, err)
	}
	return ha
}

// marked is a key and an id that must be nowhere on the page.
const marked = "marked-key-4711"

// TestStatePage: who is called in the night sees what is unwell, wherever the page is opened.
func TestStatePage(t *testing.T) {
	browser := start(t)
	ha := failover(t)
	server := httptest.NewServer(telemetry.Handler(ha.State))
	t.Cleanup(server.Close)
	for _, l := range looks() {
		t.Run(l.String(), func(t *testing.T) {
			v := open(t, browser, server.URL+"/?refresh=off", l)
			v.readable(l, "North Central US", "West US", "Central US", "Unavailable", "Hedging", "Last decisions")
			require.NotContains(t, ask[string](v, `document.documentElement.outerHTML`), marked)
			v.picture("state-" + l.String())
			if l.scripts {
				v.keeps()
			}
		})
	}
}

// TestStateRefreshes: the page loads itself anew, without a script.
func TestStateRefreshes(t *testing.T) {
	browser := start(t)
	var asked atomic.Int32
	again := make(chan struct{})
	server := httptest.NewServer(telemetry.Handler(func() telemetry.State {
		if asked.Add(1) == 2 {
			close(again)
		}
		return telemetry.State{At: time.Now()}
	}))
	t.Cleanup(server.Close)
	v := open(t, browser, server.URL, look{"light", 360, false})
	select {
	case <-again:
	case <-v.ctx.Done():
		require.Fail(t, "the page has not loaded itself anew")
	}
}
