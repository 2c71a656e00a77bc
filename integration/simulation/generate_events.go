package simulation

import (
	"cmp"
	"slices"
	"time"
)

// events make the world's troubles: none in some worlds, several at once in
// others.
func (m *maker) events() {
	if m.chance(0.03) {
		m.cold()
	}
	for range []int{0, 1, 1, 2, 2, 3, 4, 6, 9}[m.IntN(9)] {
		at := m.between(0, m.length)
		length := m.between(time.Millisecond, m.length)
		switch x := m.Float64(); {
		case x < 0.55:
			m.fault(at, length)
		case x < 0.7:
			m.add(Event{At: Duration(at), For: Duration(length), Do: Down, Region: m.target()})
		case x < 0.75:
			m.add(Event{At: Duration(at), For: Duration(length), Do: Latency, Region: m.target(), Delay: m.d(200*time.Millisecond, 10*time.Second)})
		case x < 0.87:
			m.move(at, length)
		default:
			m.topology(at)
		}
	}
	switch x := m.Float64(); {
	case x < 0.05:
		m.throttle()
	case x < 0.1:
		m.grey()
	}
	slices.SortStableFunc(m.w.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}

// throttle makes a world in which nothing is wrong but that the container has
// nothing left to spend, in any region, for a while or for some requests.
func (m *maker) throttle() {
	m.w.Cold, m.w.Events = false, nil
	for range 1 + m.IntN(4) {
		r := Rule{Operations: []string{"data"}, Kind: "status", Status: 429, Sub: 3200, Hits: m.IntN(20)}
		m.add(Event{At: m.d(0, m.length), For: m.d(time.Millisecond, m.length), Do: Fault, Rule: &r})
	}
}

// grey makes a world in which the first region is slow and the second one fails, so
// that hedges follow each other within a small budget.
func (m *maker) grey() {
	c, base := &m.w.Client, m.w.base(m.w.states()[0])
	m.w.Cold, m.w.Events, c.NoHedge, c.MaxInFlight = false, nil, false, 1+m.IntN(2)
	m.add(Event{Do: Latency, Region: base[0], Delay: m.d(time.Second, 5*time.Second)})
	if len(base) > 1 {
		r := Rule{Region: base[1], Operations: []string{"data"}, Kind: "status", Status: 503, Probability: []float64{0, 0.5}[m.IntN(2)]}
		m.add(Event{Do: Fault, Rule: &r})
	}
}

func (m *maker) add(e Event) { m.w.Events = append(m.w.Events, e) }

// target is an endpoint of the account.
func (m *maker) target() string {
	if m.chance(0.1) {
		return "global"
	}
	return m.one(m.w.Account.Regions)
}

// cold is a client that starts while its endpoint is gone.
func (m *maker) cold() {
	m.w.Cold = true
	m.add(Event{For: m.d(time.Minute, 5*time.Minute), Do: Down, Region: "global"})
}

// fault adds a rule, or the same one several times, flapping.
func (m *maker) fault(at, length time.Duration) {
	r := m.rule()
	if !m.chance(0.2) {
		m.add(Event{At: Duration(at), For: Duration(length), Do: Fault, Rule: &r})
		return
	}
	n := 2 + m.IntN(5)
	for i := range n {
		from := at + length*time.Duration(i)/time.Duration(n)
		m.add(Event{At: Duration(from), For: Duration(m.between(1, length/time.Duration(n))), Do: Fault, Rule: &r})
	}
}

// answers are the errors that the service gives.
var answers = []struct {
	status, sub int
	operations  string // "": any
}{
	{503, 0, ""},
	{503, 0, ""},
	{503, 21008, ""},
	{500, 0, ""},
	{502, 0, ""},
	{504, 0, ""},
	{408, 0, ""},
	{408, 21013, "readop"},
	{410, 1022, ""},
	{410, 0, ""},
	{429, 3092, ""},
	{429, 3200, "data"},
	{449, 0, "write"},
	{403, 3, "write"},
	{403, 1008, ""},
	{404, 1002, "readop"},
	{410, 1002, "data"},
	{401, 0, ""},
	{400, 0, "data"},
	{501, 0, "data"},
	{403, 5300, "data"},
	{599, 0, ""},
}

func (m *maker) rule() Rule {
	r := Rule{Region: m.one(m.w.Account.Regions), Operations: []string{[]string{"data", "data", "data", "readop", "write", "read"}[m.IntN(6)]}}
	if m.chance(0.08) {
		r.Region = "" // all of them
	}
	if m.chance(0.1) {
		r.Operations = []string{"account"}
	}
	if m.chance(0.3) && r.Operations[0] != "account" {
		r.Key = 1 + m.IntN(m.w.keys())
	}
	r.Probability = []float64{0, 0, 0, 0.9, 0.5, 0.1}[m.IntN(6)]
	if m.chance(0.15) {
		r.Hits = 1 + m.IntN(12)
	}
	m.symptom(&r)
	return r
}

// symptom is how a rule shows.
func (m *maker) symptom(r *Rule) {
	switch x := m.Float64(); {
	case x < 0.5:
		a := answers[m.IntN(len(answers))]
		r.Kind, r.Status, r.Sub = "status", a.status, a.sub
		if a.operations != "" {
			r.Operations = []string{a.operations}
		}
	case x < 0.6:
		r.Kind, r.Delay = "slow", m.d(100*time.Millisecond, 5*time.Second)
		return
	case x < 0.7:
		r.Kind, r.Delay = "delay", m.d(100*time.Millisecond, 5*time.Second)
		return
	default:
		r.Kind = []string{"refuse", "refuse", "reset", "close", "streamreset", "hang", "hang", "lost", "loststream"}[m.IntN(9)]
	}
	if m.chance(0.25) {
		r.Delay = m.d(time.Millisecond, 2*time.Second)
	}
}

// move is a change of the write region of one range.
func (m *maker) move(at, length time.Duration) {
	e := Event{At: Duration(at), For: Duration(length), Do: Move, Region: m.one(m.w.Account.Regions), Range: m.IntN(m.w.Account.Ranges)}
	switch x := m.Float64(); {
	case x < 0.25:
		e.Do, e.For = Split, 0
	case x < 0.5:
		e.Do, e.For = Elect, m.d(time.Millisecond, 8*time.Second)
	}
	m.add(e)
}

// topology is a change of the account, or of what the client excludes.
func (m *maker) topology(at time.Duration) {
	e := Event{At: Duration(at)}
	switch x := m.Float64(); {
	case x < 0.35:
		e.Do, e.Region = Primary, m.one(m.w.Account.Regions)
	case x < 0.65:
		e.Do, e.Names = Regions, m.some(allRegions, 1+m.IntN(5))
		if own := m.w.Client.Regional; own != "" && !slices.Contains(e.Names, own) {
			e.Names = append(e.Names, own) // nobody else could tell such a client where the account is
		}
	case x < 0.72:
		e.Do, e.On = Multi, m.flag(0, 0.5)
	case x < 0.8:
		e.Do, e.On = Failover, m.flag(0.3, 0.4)
	case x < 0.85:
		e.Do, e.On = NoHedging, m.flag(0.3, 0.4)
	default:
		e.Do, e.Names = Exclude, m.some(m.w.Account.Regions, m.IntN(3))
	}
	m.add(e)
}
