package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/require"
)

// key is the emulators' well-known account key.
const key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// account is a gateway with a database "db" and a container "items" partitioned by /pk.
func account(t *testing.T, o gateway.Options) (*gateway.Gateway, *gateway.Store) {
	t.Helper()
	store := gateway.NewStore()
	o.Upstream = store
	store.CreateContainer("db", "items", "/pk")
	return gateway.New(o), store
}

// client is plain azcosmos on a transport, with the container "items".
func client(t *testing.T, endpoint string, transport policy.Transporter, preferred ...string) *azcosmos.ContainerClient {
	t.Helper()
	credential, err := azcosmos.NewKeyCredential(key)
	require.NoError(t, err)
	c, err := azcosmos.NewClientWithKey(endpoint, credential, &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: transport}, PreferredRegions: preferred,
	})
	require.NoError(t, err)
	items, err := c.NewContainer("db", "items")
	require.NoError(t, err)
	return items
}

func pk(s string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(s) }

func doc(id, pk string, n int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":%d}`, id, pk, n)
}

func field(t *testing.T, item []byte, name string) any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(item, &m))
	return m[name]
}

// TestVirtualLatency: in a bubble, azcosmos over the in-memory transport sees the latency of the region to the nanosecond.
func TestVirtualLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := account(t, gateway.Options{Latency: map[string]time.Duration{"West US": 30 * time.Millisecond, "northcentralus": 70 * time.Millisecond}})
		items := client(t, g.Endpoint(), g.Transport(), "West US")
		start := time.Now()
		_, err := items.CreateItem(t.Context(), pk("a"), doc("1", "a", 1), nil)
		require.NoError(t, err)
		require.Equal(t, 70*time.Millisecond, time.Since(start))
		start = time.Now()
		r, err := items.ReadItem(t.Context(), pk("a"), "1", nil)
		require.NoError(t, err)
		require.Equal(t, 30*time.Millisecond, time.Since(start))
		require.InEpsilon(t, 1.0, field(t, r.Value, "n"), 0)
		require.Equal(t, []string{"North Central US", "West US"}, g.Regions(nil))
		require.Equal(t, []string{gateway.Global}, g.AccountReads())
	})
}

// TestCancelInMemory: the end of the context ends the call at once, whatever the gateway is doing.
func TestCancelInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := account(t, gateway.Options{})
		items := client(t, g.Endpoint(), g.Transport(), "West US")
		g.Inject(gateway.Rule{Kind: gateway.Hang})
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := items.ReadItem(ctx, pk("a"), "1", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 80*time.Millisecond, time.Since(start))
		e := g.Log()[1]
		require.True(t, e.Cancelled)
		require.Equal(t, "hang", e.Fault)
	})
}
