package simulation

import (
	"math/rand/v2"
	"slices"
	"time"
)

// allRegions are the regions that worlds are made of.
var allRegions = []string{
	"East US", "West US 2", "North Europe", "West Europe", "Japan East", "Brazil South", "Central India",
}

// maker makes one world from its random numbers.
type maker struct {
	*rand.Rand
	w      World
	length time.Duration // of the part with calls and events, about
}

// Generate makes the world of a seed. callers is how many callers it has; 0
// lets the seed choose between one, in most worlds, and 2 to 64.
func Generate(seed uint64, callers int) World {
	m := maker{Rand: rand.New(rand.NewPCG(seed, 7)), w: World{Seed: seed}}
	if callers == 0 {
		callers = 1
		if m.chance(0.25) {
			callers = []int{2, 3, 4, 8, 16, 64}[m.IntN(6)]
		}
	}
	m.length = m.between(time.Second, 3*time.Minute)
	m.account()
	m.client()
	m.callers(callers)
	m.events()
	return m.w
}

func (m *maker) chance(p float64) bool { return m.Float64() < p }

// between is a duration with odd nanoseconds, so that two things hardly ever
// happen at the same time.
func (m *maker) between(low, high time.Duration) time.Duration {
	return low + time.Duration(m.Int64N(int64(high-low)+1))
}

func (m *maker) d(low, high time.Duration) Duration { return Duration(m.between(low, high)) }

// flag is a flag of the account: absent, false or true.
func (m *maker) flag(pAbsent, pTrue float64) *bool {
	switch x := m.Float64(); {
	case x < pAbsent:
		return nil
	default:
		on := x < pAbsent+pTrue
		return &on
	}
}

// some is up to n of the names, in random order; n < 0 is all.
func (m *maker) some(names []string, n int) []string {
	order := m.Perm(len(names))
	if n < 0 || n > len(names) {
		n = len(names)
	}
	list := make([]string, 0, n)
	for _, i := range order[:n] {
		list = append(list, names[i])
	}
	return list
}

func (m *maker) one(names []string) string { return names[m.IntN(len(names))] }

func (m *maker) account() {
	a := &m.w.Account
	n := []int{1, 2, 2, 3, 3, 3, 3, 4, 5, 6}[m.IntN(10)]
	a.Regions = m.some(allRegions[:6], n)
	a.MultiWrite = m.chance(0.4)
	a.PartitionFailover = m.flag(0.3, 0.5)
	a.HedgingDisabled = m.flag(0.8, 0.05)
	a.Ranges = []int{1, 1, 2, 4, 8, 64}[m.IntN(6)]
	a.Latency = map[string]Duration{"global": m.d(time.Millisecond, 90*time.Millisecond)}
	for _, r := range allRegions {
		a.Latency[r] = m.d(time.Millisecond, 120*time.Millisecond)
	}
	if m.chance(0.35) {
		a.Lag = map[string]Duration{}
		for _, r := range allRegions {
			a.Lag[r] = m.d(time.Millisecond, []time.Duration{200 * time.Millisecond, 20 * time.Second}[m.IntN(2)])
		}
	}
}

func (m *maker) client() {
	c, regions := &m.w.Client, m.w.Account.Regions
	switch x := m.Float64(); {
	case x < 0.4:
		c.Preferred = m.some(regions, -1)
	case x < 0.6:
		c.Preferred = m.some(allRegions, 1+m.IntN(4))
	}
	if m.chance(0.12) {
		c.Excluded = m.some(regions, 1+m.IntN(2))
	}
	if m.chance(0.1) {
		c.Regional = m.one(regions)
	}
	if m.chance(0.1) {
		c.MaxAttempts = 1 + m.IntN(5)
	}
	if m.chance(0.25) {
		c.AttemptTimeout = m.d(200*time.Millisecond, 5*time.Second)
	}
	c.RepeatWrites = m.chance(0.1)
	c.Bind = m.chance(0.2)
	m.mechanisms(c)
}

// mechanisms are the options of breaker, failover and hedging.
func (m *maker) mechanisms(c *Client) {
	c.NoBreaker = m.chance(0.1)
	if m.chance(0.5) {
		c.ReadFailures, c.WriteFailures, c.SlowWins = 1+m.IntN(4), 1+m.IntN(3), 1+m.IntN(4)
	}
	if m.chance(0.3) {
		c.OpenFor = m.d(time.Second, 20*time.Second)
	}
	if m.chance(0.3) {
		c.Failover = 1 + m.IntN(2)
	}
	if m.chance(0.3) {
		c.Timeouts = 1 + m.IntN(4)
	}
	c.NoHedge = m.chance(0.35)
	if m.chance(0.4) {
		c.Threshold, c.Step = m.d(time.Millisecond, time.Second), m.d(time.Millisecond, time.Second)
	}
	if m.chance(0.2) {
		c.MaxHedges = 1 + m.IntN(3)
	}
	c.HedgeWrites = m.chance(0.1)
	if m.chance(0.15) {
		c.MaxInFlight = 1 + m.IntN(4)
	}
}

func (m *maker) callers(n int) {
	keys, calls := 1+m.IntN(4), 5+m.IntN(45)
	if n > 4 {
		calls = 2 + m.IntN(8)
	}
	point := m.chance(0.6) // only point operations: what the breaker and failover are about
	burst := m.chance(0.5)
	for range n {
		list := make([]Call, calls)
		for i := range list {
			list[i] = m.call(keys, point, burst)
			list[i].Wait = m.d(0, m.length/time.Duration(calls))
		}
		m.w.Callers = append(m.w.Callers, list)
	}
	// azcosmos holds a lock while it reads a container for these two; in a
	// bubble, who waits for a lock stops the time.
	if n > 1 || m.w.Client.Bind {
		m.replace(CrossQuery, ReadMany, ChangeFeed)
	}
}

// replace puts one operation in the place of others.
func (m *maker) replace(by Op, ops ...Op) {
	for _, calls := range m.w.Callers {
		for i := range calls {
			if slices.Contains(ops, calls[i].Op) {
				calls[i].Op = by
			}
		}
	}
}

// pointOps and ops are the operations by how often they are drawn.
var (
	pointOps = []Op{Read, Read, Read, Read, Read, Upsert, Upsert, Upsert, Create, Replace, Patch}
	ops      = []Op{Read, Read, Upsert, Create, Replace, Patch, Delete, Batch, Query, Query, CrossQuery, ReadMany, ChangeFeed, Container}
)

func (m *maker) call(keys int, point, burst bool) Call {
	c := Call{Key: m.IntN(keys), Item: m.IntN(3), Deadline: m.d(30*time.Second, 90*time.Second)}
	if burst {
		c.Key = 0
	}
	if c.Op = ops[m.IntN(len(ops))]; point {
		c.Op = pointOps[m.IntN(len(pointOps))]
	}
	switch x := m.Float64(); {
	case x < 0.25:
		c.Deadline = m.d(50*time.Millisecond, 3*time.Second)
	case x < 0.27:
		c.Deadline = -Duration(time.Second)
	}
	if m.chance(0.04) {
		c.Cancel = m.d(time.Millisecond, time.Second)
	}
	c.Session = m.chance(0.4)
	m.options(&c)
	c.Silent = m.chance(0.5)
	return c
}

// options are what a call says for itself.
func (m *maker) options(c *Call) {
	regions := m.w.Account.Regions
	if m.chance(0.12) {
		list := m.some(regions, m.IntN(len(regions)+1))
		c.Excluded = &list
	}
	switch x := m.Float64(); {
	case x < 0.1:
		c.Hedge, c.Threshold = HedgeOn, m.d(time.Millisecond, 400*time.Millisecond)
	case x < 0.2:
		c.Hedge = HedgeOff
	}
}
