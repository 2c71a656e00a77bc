package main

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is an effort that is over at once.
var small = effort{sittings: 2, rounds: 2, long: 2, perTurn: 2, seen: []int{3}, records: []int{0, 20}}

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
	list, err := costs("ReadItem", []contender{plain, ours}, 2, plan{2, 2, true}, 1)
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.InDelta(t, 1, list[0].ratio, 0)
	assert.Greater(t, list[1].objects, list[0].objects)
	assert.Less(t, list[1].objects, 2*list[0].objects)
}

// TestInterleave: there and back in changing orders, all work counted alike, an error ends it.
func TestInterleave(t *testing.T) {
	for _, apart := range []bool{false, true} {
		var order string
		var sizes []int
		note := func(name string) runner {
			return runner{name, func(n int) error {
				order += name
				sizes = append(sizes, n)
				return nil
			}}
		}
		samples, err := interleave([]runner{note("a"), note("b"), note("c")}, plan{40, 4, apart})
		require.NoError(t, err)
		require.Len(t, order, 3+40*6)
		assert.Equal(t, "abc", order[:3], "once to warm up")
		assert.Equal(t, []int{warmUp, warmUp, warmUp}, sizes[:3])
		seen := map[string]int{}
		for i := 3; i < len(order); i += 6 {
			there, back := []byte(order[i:i+3]), []byte(order[i+3:i+6])
			seen[string(there)]++
			slices.Reverse(back)
			assert.Equal(t, string(there), string(back))
			assert.Equal(t, []int{4, 4, 4, 4, 4, 4}, sizes[i:i+6])
		}
		assert.Len(t, seen, 6, "every order has its turn")
		for _, list := range samples {
			assert.Len(t, list, 40)
		}
	}
	broken := errors.New("broken")
	_, err := interleave([]runner{{"d", func(int) error { return broken }}}, plan{rounds: 1, perTurn: 1})
	require.ErrorIs(t, err, broken)
}

// TestNet: what timing takes is taken off each of the two turns.
func TestNet(t *testing.T) {
	assert.Equal(t, sample{cpu: 10, wall: 12}, sample{cpu: 46, wall: 60}.net(sample{cpu: 3, wall: 6}, 2))
}

// TestUncollected: the collector does not run by itself, and does between rounds when there is enough for it.
func TestUncollected(t *testing.T) {
	cycles := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	between, undo := uncollected()
	defer undo()
	begin := cycles()
	between()
	for range 9 {
		sink = make([]byte, garbage/8)
	}
	assert.Equal(t, begin, cycles())
	between()
	assert.Equal(t, begin+1, cycles())
	between()
	assert.Equal(t, begin+1, cycles(), "and begins to count anew")
	undo()
	assert.Equal(t, 100, debug.SetGCPercent(100))
}

// sink keeps what is allocated from being optimised away.
var sink []byte

// TestCollectorCosts: it is of the order of a nanosecond for each byte, not for each read, whatever else the machine does.
func TestCollectorCosts(t *testing.T) {
	perByte, err := collectorCost(effort{rounds: 1000, perTurn: 20})
	require.NoError(t, err)
	assert.Less(t, perByte, 50.0, "ns")
}

// TestCostsWithTheCollector: the ratio with it lies between that of time and that of bytes.
func TestCostsWithTheCollector(t *testing.T) {
	list, err := costs("ReadItem", []contender{plain, ours}, 1, plan{20, 1, true}, 1e6)
	require.NoError(t, err)
	assert.InDelta(t, list[1].bytes/list[0].bytes, list[1].whole, 0.01, "the collector's share is nearly all")
	list, err = costs("ReadItem", []contender{plain, ours}, 1, plan{20, 1, true}, 0)
	require.NoError(t, err)
	assert.InDelta(t, list[1].ratio, list[1].whole, 1e-9, "and here nothing")
	assert.InDelta(t, 1.2, cost{ratio: 1.1, whole: 1.2}.over(), 0)
	assert.InDelta(t, 1.2, cost{ratio: 1.2, whole: 1.1}.over(), 0)
}

// TestSum takes medians, and the ends.
func TestSum(t *testing.T) {
	var c cost
	c.sum("x", []sitting{{1.3, 1, 10, 20}, {1.1, 2, 30, 10}, {1.2, 3, 20, 30}})
	assert.Equal(t, cost{name: "x", ratio: 1.2, low: 1.1, high: 1.3, wallRatio: 2, cpu: 20, wall: 20}, c)
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
