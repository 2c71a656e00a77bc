package chaos

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

// Slack is what a busy machine with two cores may add to a request, with the race
// detector on. To it comes the longest stall of the machine that was measured in the
// round.
const Slack = 2 * time.Second

// allRegions are the regions that accounts are made of, a part of the simulation's.
var allRegions = []string{"East US", "West US 2", "North Europe", "Japan East"}

// maker makes a world from its random numbers.
type maker struct {
	*rand.Rand
	w       simulation.World
	length  time.Duration
	service service
}

// service is what the service behind the gateway can do.
type service struct {
	replicates bool // regions see late what others wrote
	splits     bool
	batches    bool
	crossQuery bool
}

// generate makes the world of a seed, for callers that call for about length.
func generate(seed uint64, length time.Duration, callers int, s service) simulation.World {
	m := maker{Rand: rand.New(rand.NewPCG(seed, 11)), w: simulation.World{Seed: seed}, length: length, service: s}
	m.account()
	m.client()
	for range callers {
		m.w.Callers = append(m.w.Callers, m.calls())
	}
	m.events()
	return m.w
}

func (m *maker) chance(p float64) bool { return m.Float64() < p }

func (m *maker) d(low, high time.Duration) simulation.Duration {
	return simulation.Duration(low + time.Duration(m.Int64N(int64(max(high-low, 0))+1)))
}

func (m *maker) one() string { return m.w.Account.Regions[m.IntN(len(m.w.Account.Regions))] }

// some are n of the account's regions, in random order.
func (m *maker) some(n int) []string {
	list := slices.Clone(m.w.Account.Regions)
	m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

func (m *maker) account() {
	a := &m.w.Account
	a.Regions = slices.Clone(allRegions)
	a.Regions = m.some([]int{2, 3, 3, 3, 4}[m.IntN(5)])
	a.MultiWrite = m.chance(0.4)
	if on := m.chance(0.7); m.chance(0.8) {
		a.PartitionFailover = &on
	}
	a.Ranges = []int{1, 2, 4}[m.IntN(3)]
	a.Latency = map[string]simulation.Duration{"global": m.d(0, 5*time.Millisecond)}
	for _, r := range allRegions {
		a.Latency[r] = m.d(0, 10*time.Millisecond)
	}
	if m.service.replicates && m.chance(0.35) {
		a.Lag = map[string]simulation.Duration{}
		for _, r := range allRegions {
			a.Lag[r] = m.d(time.Millisecond, 150*time.Millisecond)
		}
	}
}

func (m *maker) client() {
	c := &m.w.Client
	if m.chance(0.6) {
		c.Preferred = m.some(2 + m.IntN(3))
	}
	if m.chance(0.15) {
		c.Excluded = m.some(1)
	}
	if m.chance(0.2) {
		c.AttemptTimeout = m.d(300*time.Millisecond, time.Second)
	}
	c.RepeatWrites = m.chance(0.1)
	c.NoBreaker = m.chance(0.1)
	c.ReadFailures, c.WriteFailures, c.SlowWins = 1+m.IntN(4), 1+m.IntN(3), 1+m.IntN(4)
	c.OpenFor, c.MaxOpenFor = m.d(40*time.Millisecond, 150*time.Millisecond), m.d(150*time.Millisecond, 400*time.Millisecond)
	c.ResetAfter, c.RateWindow = m.d(100*time.Millisecond, 400*time.Millisecond), m.d(100*time.Millisecond, 400*time.Millisecond)
	if m.chance(0.3) {
		c.Failover = 1 + m.IntN(2)
	}
	c.TimeoutWindow = m.d(100*time.Millisecond, 400*time.Millisecond)
	c.NoHedge = m.chance(0.2)
	c.Threshold, c.Step = m.d(10*time.Millisecond, 100*time.Millisecond), m.d(10*time.Millisecond, 100*time.Millisecond)
	c.HedgeWrites = m.chance(0.1)
	if m.chance(0.15) {
		c.MaxInFlight = 1 + m.IntN(4)
	}
}

// ops are the operations by how often they are drawn.
var ops = []simulation.Op{
	simulation.Read, simulation.Read, simulation.Read, simulation.Read, simulation.Read, simulation.Query, simulation.CrossQuery,
	simulation.Upsert, simulation.Upsert, simulation.Upsert, simulation.Create, simulation.Replace, simulation.Delete, simulation.Batch,
	simulation.Container,
}

// calls are those of one caller.
func (m *maker) calls() []simulation.Call {
	var list []simulation.Call
	for at := time.Duration(0); at < m.length; {
		c := m.call()
		at += time.Duration(c.Wait)
		list = append(list, c)
	}
	return list
}

func (m *maker) call() simulation.Call {
	c := simulation.Call{
		Wait: m.d(time.Millisecond, 20*time.Millisecond), Op: ops[m.IntN(len(ops))], Key: m.IntN(4), Item: m.IntN(3),
		Deadline: m.d(4*time.Second, 6*time.Second), Session: m.chance(0.4),
	}
	if c.Op == simulation.Batch && !m.service.batches || c.Op == simulation.CrossQuery && !m.service.crossQuery {
		c.Op = simulation.Upsert
	}
	switch x := m.Float64(); {
	case x < 0.4:
		c.Deadline = m.d(50*time.Millisecond, time.Second)
	case x < 0.42:
		c.Deadline = -simulation.Duration(time.Second)
	}
	if m.chance(0.04) {
		c.Cancel = m.d(time.Millisecond, 100*time.Millisecond)
	}
	if m.chance(0.12) {
		list := m.some(m.IntN(3))
		c.Excluded = &list
	}
	switch x := m.Float64(); {
	case x < 0.1:
		c.Hedge, c.Threshold = simulation.HedgeOn, m.d(5*time.Millisecond, 100*time.Millisecond)
	case x < 0.2:
		c.Hedge = simulation.HedgeOff
	}
	return c
}

// sorted are events in the order in which they begin.
func sorted(events []simulation.Event) []simulation.Event {
	return slices.SortedStableFunc(slices.Values(events), func(a, b simulation.Event) int { return cmp.Compare(a.At, b.At) })
}
