package chaos

import (
	"cmp"
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

// events are the world's troubles: one for each quarter of a second, and one more.
// Changes of the account, and moves of ranges, are for some worlds only: of the
// others more can be said.
func (m *maker) events() {
	moves, changes := m.chance(0.6), m.chance(0.35)
	for range 1 + int(m.length/(250*time.Millisecond)) {
		at := time.Duration(m.d(0, m.length))
		length := time.Duration(m.d(10*time.Millisecond, min(m.length, 1500*time.Millisecond)))
		switch x := m.Float64(); {
		case x < 0.2 && moves:
			m.move(at, length)
		case x < 0.28 && changes:
			m.change(at)
		case x < 0.4:
			m.add(at, simulation.Event{For: simulation.Duration(length), Do: simulation.Down, Region: m.endpoint()})
		case x < 0.52:
			m.add(at, simulation.Event{
				For: simulation.Duration(length), Do: simulation.Latency, Region: m.endpoint(), Delay: m.d(50*time.Millisecond, 500*time.Millisecond),
			})
		default:
			m.fault(at, length)
		}
	}
	m.w.Events = sorted(m.w.Events)
}

func (m *maker) add(at time.Duration, e simulation.Event) {
	e.At = simulation.Duration(at)
	m.w.Events = append(m.w.Events, e)
}

// endpoint is one of the account's.
func (m *maker) endpoint() string {
	if m.chance(0.1) {
		return "global"
	}
	return m.one()
}

// fault adds a rule, or the same one several times, flapping.
func (m *maker) fault(at, length time.Duration) {
	r := m.rule()
	n := 1
	if m.chance(0.25) {
		n = 2 + m.IntN(5)
	}
	part := length / time.Duration(n)
	for i := range n {
		m.add(at+time.Duration(i)*part, simulation.Event{For: m.d(1, part), Do: simulation.Fault, Rule: &r})
	}
}

// answers are the errors that the service gives.
var answers = [][2]int{{503, 0}, {503, 0}, {503, 0}, {503, 21008}, {500, 0}, {502, 0}, {504, 0}, {408, 0}, {410, 1022}, {429, 3092}, {403, 1008}}

// kinds are the other ways to fail.
var kinds = []string{"refuse", "refuse", "hang", "hang", "slow", "slow", "delay", "delay", "reset", "close", "streamreset", "lost", "loststream"}

// rule is about a region, or about one partition of it.
func (m *maker) rule() simulation.Rule {
	r := simulation.Rule{Region: m.one(), Operations: []string{[]string{"data", "data", "readop", "write"}[m.IntN(4)]}}
	switch {
	case m.chance(0.05):
		r.Region = "" // all of them
	case m.chance(0.1):
		r.Operations = []string{"account"}
	case m.chance(0.35):
		r.Key = 1 + m.IntN(4)
	}
	r.Probability = []float64{0, 0, 0, 0.9, 0.5, 0.1}[m.IntN(6)]
	if m.chance(0.4) {
		a := answers[m.IntN(len(answers))]
		r.Kind, r.Status, r.Sub = "status", a[0], a[1]
		return r
	}
	switch r.Kind = kinds[m.IntN(len(kinds))]; r.Kind {
	case "slow", "delay":
		r.Delay = m.d(20*time.Millisecond, 600*time.Millisecond)
	case "hang":
		if m.chance(0.8) { // else all callers soon wait for their deadlines
			r.Hits = 1 + m.IntN(6)
		}
	}
	return r
}

// move is a change of the write region of one range.
func (m *maker) move(at, length time.Duration) {
	e := simulation.Event{For: simulation.Duration(length), Do: simulation.Move, Region: m.one(), Range: m.IntN(4)}
	switch x := m.Float64(); {
	case x < 0.2 && m.service.splits:
		e.Do, e.For = simulation.Split, 0
	case x < 0.5:
		e.Do = simulation.Elect
	}
	m.add(at, e)
}

// change is one of the account, or of what the client excludes.
func (m *maker) change(at time.Duration) {
	e := simulation.Event{}
	on := m.chance(0.7)
	switch x := m.Float64(); {
	case x < 0.45:
		e.Do, e.Region = simulation.Primary, m.one()
	case x < 0.65:
		e.Do, e.Names = simulation.Regions, m.some(2+m.IntN(3))
	case x < 0.75:
		e.Do, e.On = simulation.Failover, &on
	case x < 0.8:
		e.Do, e.On = simulation.NoHedging, &on
	default:
		e.Do, e.Names = simulation.Exclude, m.some(m.IntN(3))
	}
	m.add(at, e)
}

// step is the begin or the end of an event, at a time of the round.
type step struct {
	at time.Duration
	do func(stage)
}

// stage is what a schedule plays on, a *simulation.Stage.
type stage interface{ Begin(event int) (end func()) }

// steps are the schedule of events, in order. What lasts has no end.
func steps(events []simulation.Event) []step {
	var list []step
	for i, e := range events {
		var end func()
		list = append(list, step{time.Duration(e.At), func(s stage) { end = s.Begin(i) }})
		if e.For > 0 {
			list = append(list, step{time.Duration(e.At + e.For), func(stage) { end() }})
		}
	}
	slices.SortStableFunc(list, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return list
}
