package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/emulator"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// The regions, in the service's order.
const (
	A = "North Central US"
	B = "West US"
	C = "Central US"
)

// stage is an account over real sockets, and a client of it.
type stage struct {
	*testing.T
	*gateway.Gateway
	listening *gateway.Listening
	key       string
	database  string
	client    *azcosmos.Client
	items     *azcosmos.ContainerClient
}

// onEveryStage runs a test over the in-process store and over the emulator,
// over HTTP/1.1 and over TLS with HTTP/2.
func onEveryStage(t *testing.T, o gateway.Options, p policy.Options, test func(s *stage)) {
	protocols := map[string]gateway.Protocol{"http1": gateway.HTTP1, "http2": gateway.TLSHTTP2}
	for name, protocol := range protocols {
		t.Run("store/"+name, func(t *testing.T) {
			o.Upstream = gateway.NewStore()
			test(newStage(t, o, p, protocol, gateway.EmulatorKey))
		})
		t.Run("emulator/"+name, func(t *testing.T) {
			e := emulator.Start(t)
			adapters := gateway.VercelAdapters()
			adapters.Client, adapters.Key = e.HTTPClient(), e.Key
			upstream, err := gateway.NewHTTPUpstream(e.Endpoint, adapters)
			require.NoError(t, err)
			o.Upstream = upstream
			test(newStage(t, o, p, protocol, e.Key))
		})
	}
}

// newStage makes a database and a container of their own, through the client
// under test, with one item.
func newStage(t *testing.T, o gateway.Options, p policy.Options, protocol gateway.Protocol, key string) *stage {
	g := gateway.New(o)
	l, err := g.Listen(protocol)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	s := &stage{T: t, Gateway: g, listening: l, key: key}
	ha, err := policy.New(p)
	require.NoError(t, err)
	t.Cleanup(ha.Close)
	s.client = s.newClient(ha)
	database := fmt.Sprintf("db%d", time.Now().UnixNano())
	_, err = s.client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: database}, nil)
	require.NoError(t, err)
	db, err := s.client.NewDatabase(database)
	require.NoError(t, err)
	_, err = db.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID:                     "items",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	require.NoError(t, err)
	s.database = database
	s.items, err = s.client.NewContainer(database, "items")
	require.NoError(t, err)
	_, err = s.items.CreateItem(t.Context(), azcosmos.NewPartitionKeyString("a"), []byte(`{"id":"1","pk":"a"}`), nil)
	require.NoError(t, err)
	s.ResetLog()
	return s
}

// newClient makes a client, plain when ha is nil.
func (s *stage) newClient(ha *policy.Middleware) *azcosmos.Client {
	o := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s.listening.Client()}, PreferredRegions: []string{B, C, A}}
	if ha != nil {
		ha.Apply(o)
	}
	credential, err := azcosmos.NewKeyCredential(s.key)
	require.NoError(s, err)
	client, err := azcosmos.NewClientWithKey(s.listening.Endpoint(), credential, o)
	require.NoError(s, err)
	s.Cleanup(client.Close)
	return client
}

// expect makes a call and requires success, and the regions contacted at the gateway.
func (s *stage) expect(call func(context.Context) (azcosmos.Response, error), regions string) {
	s.Helper()
	s.ResetLog()
	r, err := call(s.Context())
	require.NoError(s, err)
	require.Less(s, r.RawResponse.StatusCode, http.StatusBadRequest)
	require.Equal(s, regions, s.contacted())
}

func (s *stage) contacted() string {
	letters := strings.NewReplacer(A, "A", B, "B", C, "C", gateway.Global, "global")
	list := s.Regions(func(e gateway.Entry) bool { return e.Operation != "account" })
	return letters.Replace(strings.Join(list, " "))
}

func (s *stage) read(ctx context.Context) (azcosmos.Response, error) {
	r, err := s.items.ReadItem(ctx, azcosmos.NewPartitionKeyString("a"), "1", nil)
	return r.Response, err
}

func (s *stage) upsert(ctx context.Context) (azcosmos.Response, error) {
	r, err := s.items.UpsertItem(ctx, azcosmos.NewPartitionKeyString("a"), []byte(`{"id":"1","pk":"a"}`), nil)
	return r.Response, err
}

func (s *stage) query(ctx context.Context) (azcosmos.Response, error) {
	r, err := s.items.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKeyString("a"), nil).NextPage(ctx)
	return r.Response, err
}

// walkOnly leaves the breaker and hedging out: these tests are about the road.
func walkOnly() policy.Options {
	return policy.Options{Breaker: breaker.Options{Disabled: true}, Hedge: hedge.Options{Disabled: true}}
}

// TestLostRegion: reads and queries go on through every way a region can be
// lost, and come back with it.
func TestLostRegion(t *testing.T) {
	o := walkOnly()
	o.Retry.AttemptTimeout = 250 * time.Millisecond
	onEveryStage(t, gateway.Options{}, o, func(s *stage) {
		s.expect(s.read, "B")
		s.Down(B)
		s.expect(s.read, "B C") // the first read asks B, which refuses
		s.expect(s.query, "C")  // and then knows
		s.Up(B)

		for _, rule := range []gateway.Rule{
			{Status: 503}, {Status: 500}, {Status: 408}, {Kind: gateway.Hang},
		} {
			rule.Region, rule.Operations = C, []string{"readop"}
			f := s.Inject(rule)
			s.expect(s.read, "C A")
			f.Remove()
		}
	})
}

// TestLostRegionMidExchange: what was perhaps sent is asked again if it is a
// read, and never if it is a write.
func TestLostRegionMidExchange(t *testing.T) {
	onEveryStage(t, gateway.Options{MultiWrite: true}, walkOnly(), func(s *stage) {
		for _, kind := range []gateway.Kind{gateway.Reset, gateway.Close, gateway.StreamReset, gateway.Lost, gateway.LostStream} {
			f := s.Inject(gateway.Rule{Region: B, Kind: kind})
			s.ResetLog()
			_, err := s.read(s.Context())
			require.NoError(s, err, kind)
			require.Equal(s, C, s.Regions(nil)[len(s.Regions(nil))-1], kind)

			s.ResetLog()
			_, err = s.upsert(s.Context())
			require.Error(s, err, kind)
			require.Equal(s, "B", s.contacted(), kind)
			f.Remove()
		}
	})
}

// TestLostWriteRegion: the account's write region moves; the write that finds
// out succeeds in its call, and the next goes straight.
func TestLostWriteRegion(t *testing.T) {
	onEveryStage(t, gateway.Options{}, walkOnly(), func(s *stage) {
		s.expect(s.upsert, "A")
		s.SetWriteRegion(C)
		s.expect(s.upsert, "A C")
		s.expect(s.upsert, "C")
	})
}

// TestSickPartition: with the defaults, a partition that fails in its first
// region costs ten reads an extra round trip, and then none.
func TestSickPartition(t *testing.T) {
	onEveryStage(t, gateway.Options{Ranges: 4}, policy.Options{}, func(s *stage) {
		s.Inject(gateway.Rule{Region: B, Operations: []string{"readop"}, Key: `["a"]`, Status: 503})
		for range 10 {
			s.expect(s.read, "B C")
		}
		s.expect(s.read, "C")
		other := func(ctx context.Context) (azcosmos.Response, error) {
			r, err := s.items.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKeyString("other"), nil).NextPage(ctx)
			return r.Response, err
		}
		s.expect(other, "B")
	})
}

// TestMovedPartition: the service moves one partition's write region.
func TestMovedPartition(t *testing.T) {
	yes := true
	onEveryStage(t, gateway.Options{PartitionFailover: &yes}, policy.Options{}, func(s *stage) {
		s.MoveRange("items", "0", B)
		s.expect(s.upsert, "A B")
		s.expect(s.upsert, "B")
		s.MoveRange("items", "0", "")
		s.expect(s.upsert, "B A")
		s.expect(s.upsert, "A")
	})
}

// TestSlowRegion: a read that hangs is answered by another region after the threshold.
func TestSlowRegion(t *testing.T) {
	o := policy.Options{Hedge: hedge.Options{Threshold: 100 * time.Millisecond}}
	onEveryStage(t, gateway.Options{}, o, func(s *stage) {
		s.Inject(gateway.Rule{Region: B, Operations: []string{"readop"}, Kind: gateway.Hang})
		start := time.Now()
		s.expect(s.read, "B C")
		require.GreaterOrEqual(s, time.Since(start), 100*time.Millisecond)
		s.expect(s.query, "B C")
	})
}

// TestBesidePlainAzcosmos measures the two promises against azcosmos alone, in
// one run: a refused region, and a 503 without preferred regions.
func TestBesidePlainAzcosmos(t *testing.T) {
	o := gateway.Options{Upstream: gateway.NewStore()}
	s := newStage(t, o, walkOnly(), gateway.TLSHTTP2, gateway.EmulatorKey)
	plain, err := s.newClient(nil).NewContainer(s.database, "items")
	require.NoError(t, err)
	readPlain := func(ctx context.Context) error {
		_, err := plain.ReadItem(ctx, azcosmos.NewPartitionKeyString("a"), "1", nil)
		return err
	}
	require.NoError(t, readPlain(t.Context()))
	s.Down(B)
	s.ResetLog()
	start := time.Now()
	_, err = s.read(t.Context())
	ours := time.Since(start)
	require.NoError(t, err)
	require.Equal(t, "B C", s.contacted())
	start = time.Now()
	require.NoError(t, readPlain(t.Context()))
	theirs := time.Since(start)
	t.Logf("first read after the loss: ours %s, plain azcosmos %s", ours, theirs)
	require.Greater(t, theirs, 3*time.Second)
	require.Less(t, ours, theirs/4)
}

// TestWithoutPreferredRegions: a 503 in the first region of the account is no
// error, as it is for plain azcosmos.
func TestWithoutPreferredRegions(t *testing.T) {
	s := newStage(t, gateway.Options{Upstream: gateway.NewStore()}, walkOnly(), gateway.HTTP1, gateway.EmulatorKey)
	credential, err := azcosmos.NewKeyCredential(s.key)
	require.NoError(t, err)
	read := func(ha *policy.Middleware) error {
		o := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s.listening.Client()}}
		if ha != nil {
			ha.Apply(o)
		}
		client, err := azcosmos.NewClientWithKey(s.listening.Endpoint(), credential, o)
		require.NoError(t, err)
		t.Cleanup(client.Close)
		items, err := client.NewContainer(s.database, "items")
		require.NoError(t, err)
		s.ResetLog()
		_, err = items.ReadItem(t.Context(), azcosmos.NewPartitionKeyString("a"), "1", nil)
		return err
	}
	s.Inject(gateway.Rule{Region: A, Status: 503})
	ha, err := policy.New(walkOnly())
	require.NoError(t, err)
	t.Cleanup(ha.Close)
	require.NoError(t, read(ha))
	require.Equal(t, "A B", s.contacted())
	require.Error(t, read(nil))
	require.Equal(t, "A", s.contacted())
}
