package policy_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Azure/azure-cosmos-dotnet-v3#5304, #5310, Azure/azure-sdk-for-java#46181, #46477:
// the flag was read at the start only. It is followed at each account read,
// whoever asked for it. The design decides otherwise in one detail: the breaker
// and hedging are switches of their own; every edge clears all overrides.
func TestReport117_FlagIsFollowedAtEachRefresh(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.MoveRange("items", "0", B)
		state := func() *bool { return w.ha.State().Accounts[0].PartitionFailover }
		require.Nil(w, state())
		for range 3 {
			w.flag(true)
			w.awaitRefresh()
			require.True(w, *state())
			w.expect(upsert, "200", "A B", 0)
			require.Equal(w, []string{"B"}, w.overrides())
			w.flag(false)
			w.awaitRefresh()
			require.False(w, *state())
			require.Empty(w, w.overrides(), "an edge clears")
			w.expect(upsert, "403/3", "A A A A A", 5*time.Second)
		}
		w.SetFlags(nil, nil)
		w.awaitRefresh()
		require.False(w, *state(), "absent is no change")
	})
}

// Azure/azure-cosmos-dotnet-v3#5635: concurrent writes corrupted the map of
// overrides. What confirmed last stands, whatever fails late.
func TestReport119_LateFailureOverwritesNothing(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", B)
		w.Inject(gateway.Rule{Region: B, Operations: []string{"replace"}, Status: 503})
		w.Inject(gateway.Rule{Region: C, Operations: []string{"replace"}, Status: 503, Delay: time.Second})
		var writers sync.WaitGroup
		for range 16 {
			writers.Go(func() { // A 403/3, B 503, and C 503 a second later
				got, _ := w.do(w.Context(), replace)
				assert.NotEmpty(w, got)
			})
		}
		time.Sleep(500 * time.Millisecond)
		for range 16 {
			writers.Go(func() {
				got, _ := w.do(w.Context(), upsert)
				assert.Equal(w, "200", got)
			})
		}
		time.Sleep(600 * time.Millisecond)
		require.Equal(w, []string{"B"}, w.overrides())
		w.RemoveAll()
		writers.Wait()
		w.expect(upsert, "200", "B", 0)
		require.Equal(w, []string{"B"}, w.overrides())
		require.Empty(w, w.store.Repeated())
	})
}

// Azure/azure-sdk-for-python#41588: neither preferred nor excluded regions limit
// where a partition's writes go. The design decides otherwise in one detail:
// excluded regions come last among the candidates.
func TestReport121_PreferredAndExcludedRegions(t *testing.T) {
	s := ppafAccount(1)
	s.preferred, s.policy.ExcludedRegions = []string{A}, []string{B}
	for _, o := range itemWrites {
		inWorld(t, s, func(w *world) {
			w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 503})
			w.MoveRange("items", "0", C)
			got, _ := w.do(w.Context(), o.call)
			require.True(w, succeeded(got), got)
			require.Equal(w, "A C", w.contacted())
		})
		inWorld(t, s, func(w *world) { // the excluded region is better than none
			w.MoveRange("items", "0", B)
			got, _ := w.do(w.Context(), o.call)
			require.True(w, succeeded(got), got)
			require.Equal(w, "A C B", w.contacted())
			w.MoveRange("items", "0", "") // and back again
			w.ResetLog()
			got, _ = w.do(w.Context(), upsert)
			require.True(w, succeeded(got), got)
			require.Equal(w, "B A", w.contacted())
		})
	}
}

// Azure/azure-sdk-for-rust#4156: the flag alone allowed replays of writes that
// have no partition.
func TestReport123_WritesWithoutAPartition(t *testing.T) {
	calls := map[string]func(ctx context.Context, w *world) error{
		"create container": func(ctx context.Context, w *world) error {
			database, err := w.client.NewDatabase("db")
			require.NoError(w, err)
			_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{
				ID: "new", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
			}, nil)
			return err
		},
		"replace container": func(ctx context.Context, w *world) error {
			_, err := w.container.Replace(ctx, azcosmos.ContainerProperties{
				ID: "items", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
			}, nil)
			return err
		},
		"delete container": func(ctx context.Context, w *world) error {
			_, err := w.container.Delete(ctx, nil)
			return err
		},
		"create database": func(ctx context.Context, w *world) error {
			_, err := w.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "new"}, nil)
			return err
		},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				w.MoveRange("items", "0", B)
				w.expect(upsert, "200", "A B", 0)
				w.ResetLog()
				w.Inject(gateway.Rule{Operations: []string{"meta"}, Status: 503})
				require.Equal(w, "503", outcomeOf(nil, c(w.Context(), w)))
				require.Equal(w, "A", w.contacted())
			})
		})
	}
}

// Microsoft's documentation of per-partition automatic failover: it is for
// single-write accounts with at least one further region; elsewhere it is inert.
func TestReport127_InertAccounts(t *testing.T) {
	inert := map[string]gateway.Options{
		"one region":               {Regions: []string{A}},
		"multi-write":              {MultiWrite: true, Regions: []string{A}},
		"multi-write, two of them": two(true),
	}
	for name, o := range inert {
		t.Run(name, func(t *testing.T) {
			yes := true
			o.PartitionFailover = &yes
			s := setup{gateway: o, policy: policy.Options{Failover: ppaf.Options{Mode: ppaf.On, Timeouts: 1}}}
			inWorld(t, s, func(w *world) {
				w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 503, Hits: 1})
				_, _ = w.do(w.Context(), upsert)
				w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 408, Hits: 1})
				_, _ = w.do(w.Context(), upsert)
				require.Empty(w, w.overrides())
				w.expect(upsert, "200", "A", 0)
				require.Empty(w, w.overrides())
			})
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#5047: with the flag reads are hedged at
// min(1 s, half of the deadline), unless the options say otherwise. Here they
// are whatever the flag says.
func TestReport129_ReadsAreHedged(t *testing.T) {
	for _, flag := range []bool{true, false} {
		s := setup{hedged: true, gateway: gateway.Options{PartitionFailover: &flag}}
		inWorld(t, s, func(w *world) {
			w.Inject(gateway.Rule{Operations: []string{"readop"}, Region: A, Kind: gateway.Hang})
			w.Inject(gateway.Rule{Operations: []string{"readop"}, Region: B, Kind: gateway.Hang})
			w.expect(read, "200", "A B C", 1500*time.Millisecond)
			ctx, cancel := context.WithTimeout(w.Context(), 1200*time.Millisecond)
			defer cancel()
			w.expectWith(ctx, read, "200", "A B C", 1100*time.Millisecond)
			w.Inject(gateway.Rule{Operations: []string{"write"}, Region: A, Kind: gateway.Slow, Delay: 3 * time.Second})
			w.expect(upsert, "200", "A", 3*time.Second) // writes are not
		})
		s.policy.Hedge = hedge.Options{Disabled: true}
		inWorld(t, s, func(w *world) {
			w.Inject(gateway.Rule{Operations: []string{"readop"}, Region: A, Kind: gateway.Slow, Delay: 3 * time.Second})
			w.expect(read, "200", "A", 3*time.Second)
		})
	}
}

// flagged is the instant account with its flag for failover.
func flagged(flag string) transportFunc {
	account := bytes.Replace([]byte(accountJSON), []byte(`"enableMultipleWriteLocations"`), []byte(flag+`"enableMultipleWriteLocations"`), 1)
	return func(r *http.Request) (*http.Response, error) {
		response, err := instant(r)
		if r.URL.Path == "" || r.URL.Path == "/" {
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(account)), int64(len(account))
		}
		return response, err
	}
}

// TestFailoverAllocations: an account without the flag pays nothing for
// failover. A healthy write of one with it takes a walk, and a place in a search.
func TestFailoverAllocations(t *testing.T) {
	measure := func(flag string, o ppaf.Options) float64 {
		ha, err := policy.New(policy.Options{Failover: o})
		require.NoError(t, err)
		t.Cleanup(ha.Close)
		options := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: flagged(flag)}}
		ha.Apply(options)
		credential, err := azcosmos.NewKeyCredential(accountKey)
		require.NoError(t, err)
		client, err := azcosmos.NewClientWithKey("https://acct.documents.azure.test:443/", credential, options)
		require.NoError(t, err)
		container, err := client.NewContainer("db", "items")
		require.NoError(t, err)
		write := func() {
			if _, err := upsert(context.Background(), container); err != nil {
				t.Fatal(err)
			}
		}
		write()
		count := leastAllocs(write)
		require.Empty(t, ha.State().Accounts[0].Overrides)
		return count
	}
	absent := measure("", ppaf.Options{Mode: ppaf.Off})
	require.InDelta(t, absent, measure("", ppaf.Options{}), poolSlack)
	require.InDelta(t, absent, measure(`"enablePerPartitionFailoverBehavior":false,`, ppaf.Options{}), poolSlack)
	require.InDelta(t, absent, measure(`"enablePerPartitionFailoverBehavior":true,`, ppaf.Options{Mode: ppaf.Off}), poolSlack)
	on := measure(`"enablePerPartitionFailoverBehavior":true,`, ppaf.Options{})
	t.Logf("UpsertItem: %.0f allocations without failover, %.0f with", absent, on)
	require.LessOrEqual(t, on, absent+6+3*poolSlack)
}

// TestFailoverInTheState: what the state tells of a partition: its container,
// its range or a hash, never its key; and what has become of it.
func TestFailoverInTheState(t *testing.T) {
	for _, k := range knowledges {
		inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
			w.prepare(k, upsertKey)
			w.MoveRange("items", w.rangeOf(w.p1), B)
			require.Equal(w, "A B", w.times(1, upsertKey, w.container, w.p1))
			w.Inject(gateway.Rule{Region: A, Container: "other", Kind: gateway.Reset})
			_, _ = upsertKey(w.Context(), w.other, w.p2)
			synctest.Wait()
			account := w.ha.State().Accounts[0]
			require.Equal(w, 2, account.OverrideCount)
			byContainer := map[string]telemetry.OverrideState{}
			for _, o := range account.Overrides {
				byContainer[o.Container] = o
				require.Contains(w, o.Partition, map[bool]string{true: "range [", false: ""}[k.bind])
			}
			require.Equal(w, B, byContainer["dbs/db/colls/items"].Region)
			require.Equal(w, 1, byContainer["dbs/db/colls/other"].Timeouts)
			require.NotContains(w, byContainer["dbs/db/colls/other"].Partition, `"`+w.p2+`"`)
		})
	}
}
