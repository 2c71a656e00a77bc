package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// accountWith is an account answer with these regions, the first of them the
// write region.
func accountWith(names ...string) (a regions.Account) {
	for _, n := range names {
		a.Readable = append(a.Readable, regions.Region{Name: n, Endpoint: "https://x-" + regions.Normalize(n) + ".example.com/"})
	}
	a.Writable = a.Readable[:1]
	return a
}

// TestRegionsPlaceGivenAway: an account of as many regions as there can be loses
// one and gets another in the same answer, which takes its place and inherits
// nothing.
func TestRegionsPlaceGivenAway(t *testing.T) {
	m, err := New(Options{Failover: ppaf.Options{Mode: ppaf.On}})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	names := []string{"Hub"}
	for i := range regions.MaxRegions - 1 {
		names = append(names, fmt.Sprintf("F%d", i))
	}
	a := m.account("x.example.com")
	_, err = a.takeOver(accountWith(names...))
	require.NoError(t, err)

	now, old := time.Now(), a.topology.Load().Lookup("F62")
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Mark(old, false, now) })
	circuit := breaker.Key{Container: 1, Range: 2}
	for range 10 {
		a.breaker.Record(circuit, breaker.Region(old), false, breaker.Failure, now)
	}
	moved := ppaf.Key{Container: 1, Range: 2}
	a.ppaf.Observe(moved, old, a.ppaf.Begin(old), ppaf.Confirmed, now)
	require.Equal(t, old, a.ppaf.Override(moved))

	names[63] = "New"
	_, err = a.takeOver(accountWith(names...))
	require.NoError(t, err)
	fresh := a.topology.Load().Lookup("New")
	require.Equal(t, old, fresh, "the place is given away at once")
	require.False(t, a.health.Load().Marked(false, now).Has(fresh))
	require.Zero(t, a.breaker.Route(circuit, false, now).Count)
	require.Equal(t, regions.None, a.ppaf.Override(moved))
}

// TestNamesDoNotWaitForMaps: making a range map of ten thousand ranges takes a
// while; what a request calls after an outcome does not wait for it.
func TestNamesDoNotWaitForMaps(t *testing.T) {
	p := newPartitions("x")
	p.mutex.Lock() // as it is held while a map is made
	defer p.mutex.Unlock()
	p.name(partition.ID{Container: 1, Range: 1}, "dbs/d/colls/c")
	container, _ := p.describe(partition.ID{Container: 1, Range: 1})
	require.Equal(t, "dbs/d/colls/c", container)
}
