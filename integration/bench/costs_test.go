package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is an effort that is over at once.
var small = effort{rounds: 2, perTurn: 2, seen: []int{3}, records: []int{0, 20}}

// TestEveryContenderWorks: a contender that fails would look cheap.
func TestEveryContenderWorks(t *testing.T) {
	transport, regions := newInstant(3)
	for _, c := range []contender{plain, ours, oursOff, failsafe1, failsafeN, hedged} {
		a, err := instantApp(c, transport, regions)
		require.NoError(t, err, c.name)
		for _, op := range []string{"ReadItem", "UpsertItem", "query page"} {
			require.NoError(t, operationOf(c.name, op, a).run(3), "%s, %s", c.name, op)
		}
		a.close()
	}
}

func TestCosts(t *testing.T) {
	list, err := costs("ReadItem", []contender{plain, ours}, small)
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.InDelta(t, 1, list[0].ratio, 0)
	assert.Greater(t, list[1].objects, list[0].objects)
	assert.Less(t, list[1].objects, 2*list[0].objects)
}

// TestInterleave: there and back, all work counted alike, an error ends it.
func TestInterleave(t *testing.T) {
	var order string
	note := func(name string) runner {
		return runner{name, func(n int) error {
			order += name
			assert.Equal(t, 4, n)
			return nil
		}}
	}
	samples, err := interleave([]runner{note("a"), note("b"), note("c")}, 2, 4)
	require.NoError(t, err)
	assert.Equal(t, "abc"+"abccba"+"abccba", order, "once to warm up, then the rounds")
	for _, list := range samples {
		assert.Len(t, list, 2)
	}
	broken := errors.New("broken")
	_, err = interleave([]runner{{"d", func(int) error { return broken }}}, 1, 1)
	require.ErrorIs(t, err, broken)
}

func TestAllocations(t *testing.T) {
	var sink []*int
	objects, bytes, err := allocations(runner{"four", func(n int) error {
		sink = make([]*int, 0, n)
		for range n {
			sink = append(sink, new(int), new(int))
		}
		return nil
	}})
	require.NoError(t, err)
	assert.NotEmpty(t, sink)
	assert.InDelta(t, 2, objects, 0, "and less than one for the slice")
	assert.GreaterOrEqual(t, bytes, 16.0)
}

// TestBreakerRecordsAreThere: reads of the partitions that were made sick go to the second region.
func TestBreakerRecordsAreThere(t *testing.T) {
	transport, regions := newInstant(3)
	transport.sick = regionHost(0)
	a, err := ours.build(setting{endpoint: instantEndpoint, preferred: regions, transport: transport, threshold: armed, breaker: lasting, direct: true})
	require.NoError(t, err)
	defer a.close()
	require.NoError(t, touch(a, 50))
	asked := 0
	transport.arrive = func() { asked++ }
	for i := range 50 {
		require.NoError(t, a.read(context.Background(), partitionName(i), "1"))
	}
	assert.Equal(t, 50, asked, "one request each: nobody asks the sick region")
}

func TestScaleAndLookups(t *testing.T) {
	tab, err := scaleTable(small)
	require.NoError(t, err)
	assert.Len(t, tab.rows, 1+4+2)
	shares, err := measureLookups(small)
	require.NoError(t, err)
	require.Len(t, shares, 4)
	for _, s := range shares {
		assert.Zero(t, s.objects, s.name)
	}
	assert.Len(t, lookupTable(shares).rows, 4)
}
