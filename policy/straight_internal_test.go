package policy

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// TestKeepAndDrop: what is kept of an operation is dropped once, whoever made it
// and however often it comes by.
func TestKeepAndDrop(t *testing.T) {
	tests := []struct {
		name   string
		made   bool   // by PerCall
		hedged []bool // in each pass
		kept   int32
	}{
		{"not hedged", false, []bool{false, false}, 0},
		{"hedged", false, []bool{true, false}, 1},
		{"hedged later", false, []bool{false, true}, 1},
		{"hedged twice", false, []bool{true, true}, 1},
		{"made by PerCall", true, []bool{true, true}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b binding
			req, err := azruntime.NewRequest(t.Context(), http.MethodGet, "https://acct.documents.azure.test/dbs/d/colls/c/docs/i")
			require.NoError(t, err)
			if test.made {
				req.SetOperationValue(&operation{})
			}
			for _, hedged := range test.hedged {
				b.keep(req, &operation{hedged: hedged})
				require.LessOrEqual(t, b.kept.Load(), test.kept)
			}
			require.Equal(t, test.kept, b.kept.Load())
			_, _ = b.settle(req, nil, nil)
			require.Zero(t, b.kept.Load())
		})
	}
}

// audience is an observer that counts how often it is asked whether it listens.
type audience struct {
	observer
	listens bool
	asked   int
}

func (a *audience) Listens() bool {
	a.asked++
	return a.listens
}

// TestLook: somebody who listens is looked for once in lookInterval, and once
// found not forgotten. A clock that was set back is no reason not to look, and
// the time is right whoever tells it.
func TestLook(t *testing.T) {
	a := &audience{}
	b := binding{Middleware: &Middleware{observer: a}}
	for i, step := range []struct {
		after    time.Duration // the start of a bubble
		listens  bool
		asked    int
		recorded bool
	}{
		{time.Hour, false, 1, false},
		{time.Hour + lookInterval - 1, true, 1, false},
		{time.Hour + lookInterval, false, 2, false},
		{0, false, 3, false},
		{lookInterval - 1, true, 3, false},
		{lookInterval, true, 4, true},
		{time.Hour, false, 5, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			a.listens = step.listens
			time.Sleep(step.after)
			require.True(t, b.now().Equal(time.Now()), i)
			require.Equal(t, time.Since(time.Now()), time.Since(b.now()), i)
			require.Equal(t, step.asked, a.asked, i)
			require.Equal(t, step.recorded, b.recorded.Load(), i)
		})
	}
}

// TestOnlyIsAlone: whoever can see that requests come for others sees that the
// only endpoint is none any more.
func TestOnlyIsAlone(t *testing.T) {
	others := map[string]struct {
		come func(*binding)
		seen func(*binding) bool
	}{
		"a stranger":         {func(b *binding) { b.stranger() }, func(b *binding) bool { return b.mixed.Load() }},
		"a second endpoint":  {func(b *binding) { b.endpoint("two.test") }, func(b *binding) bool { return b.known("two.test") != nil }},
		"stranger, then own": {func(b *binding) { b.stranger(); b.endpoint("one.test") }, func(b *binding) bool { return b.mixed.Load() }},
	}
	m, err := New(Options{})
	require.NoError(t, err)
	defer m.Close()
	for name, other := range others {
		for range 3000 {
			b := m.bind(nil, azpolicy.ClientOptions{})
			b.endpoint("one.test")
			require.NotNil(t, b.only.Load())
			var all sync.WaitGroup
			var wrong atomic.Bool
			all.Go(func() { other.come(b) })
			all.Go(func() {
				for !other.seen(b) {
					runtime.Gosched()
				}
				wrong.Store(b.only.Load() != nil)
			})
			all.Wait()
			require.False(t, wrong.Load(), name)
		}
	}
}

// TestStraightAgain: a mark keeps reads off the straight way while it holds for
// the region that they are sent to, and no longer.
func TestStraightAgain(t *testing.T) {
	account, err := regions.ParseAccount([]byte(`{"id":"a","writableLocations":[{"name":"A","databaseAccountEndpoint":"https://a-a.test:443/"}],
		"readableLocations":[{"name":"A","databaseAccountEndpoint":"https://a-a.test:443/"},{"name":"B","databaseAccountEndpoint":"https://a-b.test:443/"}]}`))
	require.NoError(t, err)
	topology, err := regions.NewTopology(account, nil)
	require.NoError(t, err)
	raw, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.test/dbs/d/colls/c/docs/i", nil)
	require.NoError(t, err)
	tests := []struct {
		name     string
		region   regions.Index
		write    bool
		ago      time.Duration
		straight bool
	}{
		{"a read of the first region", 0, false, 0, false},
		{"long ago", 0, false, regions.MarkFor, true},
		{"a write", 0, true, 0, true},
		{"a read of another region", 1, false, 0, true},
	}
	for _, test := range tests {
		m, err := New(Options{})
		require.NoError(t, err)
		e := m.bind(nil, azpolicy.ClientOptions{}).endpoint("a.test")
		e.account.topology.Store(topology)
		require.NotNil(t, e.straightWay(raw, ""), test.name)
		e.account.changeHealth(func(h *regions.Health) *regions.Health {
			return h.Mark(test.region, test.write, time.Now().Add(-test.ago))
		})
		require.Equal(t, test.straight, e.straightWay(raw, "") != nil, test.name)
		m.Close()
	}
}
