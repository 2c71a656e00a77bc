package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/azcosmos-ha/azcosmos-ha/integration/emulator"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/require"
)

// sender makes a transport of a function.
type sender func(*http.Request) (*http.Response, error)

func (s sender) Do(r *http.Request) (*http.Response, error) { return s(r) }

// TestPlainAzcosmos: plain azcosmos over each way behaves as it does in front of the service: rows S1, S2, S10, S12, S13 and S18
// of what was measured for it.
func TestPlainAzcosmos(t *testing.T) {
	everyWay(t, gateway.Options{}, func(t *testing.T, g *gateway.Gateway, _ *gateway.Store, w way) {
		items, ctx := client(t, w.endpoint(gateway.Global), sender(w.send), "West US", "Central US", "North Central US"), t.Context()
		sequence := func(f func() error) (string, []string) {
			t.Helper()
			g.ResetLog()
			err := f()
			if err != nil {
				return strconv.Itoa(status(err)), g.Sequence()
			}
			return "ok", g.Sequence()
		}
		write := func() error { _, err := items.UpsertItem(ctx, pk("a"), doc("1", "a", 1), nil); return err }
		read := func() error { _, err := items.ReadItem(ctx, pk("a"), "1", nil); return err }
		for _, row := range []struct {
			name string
			rule gateway.Rule
			do   func() error
			end  string
			want []string
		}{
			{"S2", gateway.Rule{}, write, "ok", []string{"global account 200/0", "North Central US upsert 201/0"}},
			{"S1", gateway.Rule{}, read, "ok", []string{"West US read 200/0"}},
			{"S10", gateway.Rule{Region: "West US", Status: 503}, read, "ok", []string{"West US read 503/0", "Central US read 200/0"}},
			{
				"S12", gateway.Rule{Status: 503}, read, "503", []string{
					"West US read 503/0", "Central US read 503/0", "North Central US read 503/0", "West US read 503/0",
				},
			},
			{"S13", gateway.Rule{Status: 503}, write, "503", []string{"North Central US upsert 503/0"}},
			{
				"S18", gateway.Rule{Region: "West US", Status: 404, SubStatus: 1002}, read, "ok", []string{
					"West US read 404/1002", "North Central US read 200/0",
				},
			},
		} {
			f := g.Inject(row.rule)
			end, got := sequence(row.do)
			f.Remove()
			require.Equal(t, row.end, end, row.name)
			require.Equal(t, row.want, got, row.name)
		}
	})
}

// TestAzcosmosInVirtualTime: the waits of azcosmos itself, in no time: row S24 (4 s for a refused region), row S16 (1 s for a
// write region that has moved), and the defect that an upsert whose stream is reset after execution is executed twice, which the
// store proves.
func TestAzcosmosInVirtualTime(t *testing.T) {
	run := func(name string, f func(t *testing.T, g *gateway.Gateway, s *gateway.Store, items *azcosmos.ContainerClient)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, s := account(t, gateway.Options{})
				items := client(t, g.Endpoint(), g.Transport(), "West US", "Central US", "North Central US")
				_, err := items.UpsertItem(t.Context(), pk("a"), doc("1", "a", 1), nil)
				require.NoError(t, err)
				g.ResetLog()
				f(t, g, s, items)
			})
		})
	}
	run("refused", func(t *testing.T, g *gateway.Gateway, _ *gateway.Store, items *azcosmos.ContainerClient) {
		g.Down("West US")
		start := time.Now()
		_, err := items.ReadItem(t.Context(), pk("a"), "1", nil)
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, time.Since(start))
		require.Equal(t, []string{"West US", "West US", "West US", "West US", "Central US"}, g.Regions(nil))
	})
	run("moved", func(t *testing.T, g *gateway.Gateway, s *gateway.Store, items *azcosmos.ContainerClient) {
		g.SetWriteRegion("West US")
		start := time.Now()
		_, err := items.UpsertItem(t.Context(), pk("a"), doc("1", "a", 1), nil)
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, []string{"North Central US upsert 403/3", "global account 200/0", "West US upsert 200/0"}, g.Sequence())
		require.Empty(t, s.Repeated())
	})
	run("executed and reset", func(t *testing.T, g *gateway.Gateway, s *gateway.Store, items *azcosmos.ContainerClient) {
		g.Inject(gateway.Rule{Kind: gateway.LostStream, Operations: []string{"write"}, Hits: 1})
		_, err := items.UpsertItem(t.Context(), pk("a"), doc("1", "a", 1), nil)
		require.NoError(t, err)
		require.Equal(t, []string{"North Central US upsert loststream", "North Central US upsert 200/0"}, g.Sequence())
		twice := s.Repeated()
		require.Len(t, twice, 1)
		require.Equal(t, []string{"upsert", "items", `["a"]`, "1"}, []string{twice[0].Operation, twice[0].Container, twice[0].Key, twice[0].ID})
	})
}

// TestInFlight: the largest number of requests at once.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := account(t, gateway.Options{Latency: map[string]time.Duration{"West US": time.Second}})
		items := client(t, g.Endpoint(), g.Transport(), "West US")
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := items.ReadItem(t.Context(), pk("a"), "1", nil)
				require.Equal(t, 404, status(err))
			})
		}
		synctest.Wait()
		now, most := g.InFlight()
		require.Equal(t, []int{5, 5}, []int{now, most})
		require.Equal(t, "West US read in flight", g.Sequence()[5])
		all.Wait()
		now, most = g.InFlight()
		require.Equal(t, []int{0, 5}, []int{now, most})
		g.ResetLog()
		_, most = g.InFlight()
		require.Equal(t, 0, most)
	})
}

// TestLogLimit: the log keeps the newest, or nothing.
func TestLogLimit(t *testing.T) {
	for limit, want := range map[int]int{0: 5, 3: 3, -1: 0} {
		g, _ := account(t, gateway.Options{LogLimit: limit})
		for range 5 {
			upsert(t, g, "North Central US", "a")
		}
		log := g.Log()
		require.Len(t, log, want)
		if want > 0 {
			require.Equal(t, 5, log[want-1].Seq)
		}
	}
}

// TestEmulatorBehindTheGateway: a real emulator gets three regions, four ranges, and the answers it lacks.
func TestEmulatorBehindTheGateway(t *testing.T) {
	e := emulator.Start(t)
	adapters := gateway.VercelAdapters()
	adapters.Client, adapters.Key = e.HTTPClient(), e.Key
	up, err := gateway.NewHTTPUpstream(e.Endpoint, adapters)
	require.NoError(t, err)
	g := gateway.New(gateway.Options{Upstream: up, Ranges: 4, Account: "emulated"})
	l, err := g.Listen(gateway.TLSHTTP2)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	items := emulated(t, e.Key, l.Endpoint(), l.Client())

	_, err = items.ReadItem(t.Context(), pk("a"), "missing", nil)
	require.Equal(t, 404, status(err))
	testFeedsOnce(t, g, items)
	b := items.NewTransactionalBatch(pk("p1"))
	b.UpsertItem(doc("b1", "p1", 1), nil)
	b.ReadItem("b1", nil)
	r, err := items.ExecuteTransactionalBatch(t.Context(), b, nil)
	require.NoError(t, err)
	require.True(t, r.Success)
	b = items.NewTransactionalBatch(pk("p1"))
	b.CreateItem(doc("b1", "p1", 1), nil)
	r, err = items.ExecuteTransactionalBatch(t.Context(), b, nil)
	require.NoError(t, err)
	require.False(t, r.Success)

	g.Inject(gateway.Rule{Region: "West US", Status: 503})
	g.ResetLog()
	_, err = items.ReadItem(t.Context(), pk("p1"), "b1", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"West US", "Central US"}, g.Regions(nil))
}

// emulated is a fresh container on an emulator behind a gateway.
func emulated(t *testing.T, key, endpoint string, transport policy.Transporter) *azcosmos.ContainerClient {
	t.Helper()
	credential, err := azcosmos.NewKeyCredential(key)
	require.NoError(t, err)
	c, err := azcosmos.NewClientWithKey(endpoint, credential, &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: transport}, PreferredRegions: []string{"West US", "Central US"},
	})
	require.NoError(t, err)
	name := fmt.Sprintf("gateway%d", time.Now().UnixNano())
	_, err = c.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: name}, nil)
	require.NoError(t, err)
	db, err := c.NewDatabase(name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.Delete(context.WithoutCancel(t.Context()), nil)
		require.NoError(t, err)
	})
	_, err = db.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID: "items", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	require.NoError(t, err)
	items, err := db.NewContainer("items")
	require.NoError(t, err)
	return items
}

// testFeedsOnce is read-many and single-partition queries over ranges that the emulator does not have.
func testFeedsOnce(t *testing.T, g *gateway.Gateway, items *azcosmos.ContainerClient) {
	t.Helper()
	var all []azcosmos.ItemIdentity
	for i := range 12 {
		id, p := strconv.Itoa(i), fmt.Sprintf("p%d", i%6)
		_, err := items.CreateItem(t.Context(), pk(p), doc(id, p, i), nil)
		require.NoError(t, err)
		all = append(all, azcosmos.ItemIdentity{ID: id, PartitionKey: pk(p)})
	}
	for range 2 {
		r, err := items.ReadManyItems(t.Context(), all, nil)
		require.NoError(t, err)
		require.Len(t, r.Items, len(all))
		require.ElementsMatch(t, []string{"1", "7"}, found(t, items, "SELECT * FROM c", pk("p1"), nil))
		g.Split("items", g.RangeOf("items", `["p1"]`))
	}
}
