package ppaf

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// The flag was read at the start only. It is followed at each refresh; an edge clears the overrides, and switching it on
// again does not bring them back. An answer without the flag changes nothing.
func TestReport117FlagIsFollowed(t *testing.T) {
	s, k := NewStore(Options{}), Key{1, 1}
	var topology *regions.Topology
	apply := func(flag *bool) []Change {
		two := []regions.Region{{Name: "A", Endpoint: "https://a.test"}, {Name: "B", Endpoint: "https://b.test"}}
		next, err := regions.NewTopology(regions.Account{Readable: two, Writable: two[:1], PartitionFailover: flag}, topology)
		require.NoError(t, err)
		topology = next
		return s.Apply(Account{Primary: next.Primary(), Readable: next.Readable(), Flag: next.PartitionFailover()}, epoch)
	}
	yes, no := true, false
	apply(nil)
	assert.False(t, s.On(), "never said")
	for range 3 {
		apply(&yes)
		confirm(s, k, 1)
		require.Equal(t, regions.Index(1), s.Override(k))

		assert.Empty(t, apply(nil))
		assert.Equal(t, regions.Index(1), s.Override(k), "absent is no change")

		changes := apply(&no)
		assert.Equal(t, []Change{{k, 1, regions.None, ByFlag}}, changes)
		apply(nil)
		assert.False(t, s.On())
		apply(&yes)
		assert.Equal(t, regions.None, s.Override(k))
	}
}

// Concurrent writes corrupted the override map. Only a success writes: B wins, a late failure of C does not overwrite it.
func TestReport119LateFailureDoesNotOverwrite(t *testing.T) {
	for range 200 {
		s, k := newStore(), Key{1, 1}
		first := s.Begin(0)
		s.Observe(k, 0, first, Refused, epoch)
		c := s.Begin(2)
		var wg sync.WaitGroup
		wg.Go(func() { confirm(s, k, 1) })
		wg.Go(func() {
			s.Observe(k, 2, c, Unavailable, epoch)
			s.Exhausted(k, first)
		})
		wg.Wait()
		require.Equal(t, regions.Index(1), s.Override(k))
	}
}

// Preferred and excluded regions do not limit the candidates; excluded ones come last: SW3 X=[B], f(A:503) -> [A,C].
func TestReport121ExcludedRegionsComeLast(t *testing.T) {
	s, k := newStore(), Key{1, 1}
	order := s.Start(k, epoch).Candidates(0, regions.MakeList(0, 1, 2), regions.Set(0).With(1))
	token := s.Begin(order.First())
	require.Equal(t, regions.Index(0), order.First())
	search := NewSearch(order, token, time.Time{})
	assert.Equal(t, Step{Action: Ask, Region: 2}, search.Next(0, Unavailable, epoch))
}

// The flag alone allowed replays of writes that have no partition. Nothing is known, or learned, of no partition.
func TestReport123NothingForWritesWithoutPartition(t *testing.T) {
	s := newStore()
	_, changed := confirm(s, Key{}, 1)
	assert.False(t, changed)
	s.Observe(Key{}, 0, s.Begin(0), TimedOut, epoch)
	s.RememberHub(Key{}, 1, s.Begin(1))
	assert.True(t, s.Empty())
	assert.Equal(t, Start{regions.None, regions.None}, s.Start(Key{}, epoch))
}

// Failover needs one region that writes and another that reads: SW1 and multi-write accounts are inert.
func TestReport127InertAccounts(t *testing.T) {
	for _, a := range []Account{
		{Primary: 0, Readable: regions.MakeList(0)},
		{Primary: 0},
		{Primary: 0, Readable: regions.MakeList(1)},
		{Primary: regions.None, Readable: regions.MakeList(0, 1)},
		{Primary: 0, Readable: regions.MakeList(0, 1, 2), MultiWrite: true},
	} {
		s := NewStore(Options{Mode: On})
		s.Apply(a, epoch)
		assert.False(t, s.On())
		_, changed := confirm(s, Key{1, 1}, 1)
		assert.False(t, changed)
		for range 20 {
			s.Observe(Key{1, 1}, 0, s.Begin(0), TimedOut, epoch)
		}
		assert.True(t, s.Empty())
	}
}

// After a partition's failover reads kept getting 404/1002. The hub that answered under the header is remembered.
func TestReport67HubIsRemembered(t *testing.T) {
	s, k := newStore(), Key{1, 1}
	require.Equal(t, regions.None, s.Hub(k), "the primary is asked first")
	s.RememberHub(k, 2, s.Begin(2))
	assert.Equal(t, regions.Index(2), s.Hub(k))
	assert.Equal(t, regions.None, s.Override(k), "reads move no write")
	flag := false
	s.Apply(three(flag), epoch)
	assert.Equal(t, regions.None, s.Hub(k), "while failover is on")
}
