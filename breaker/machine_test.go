package breaker

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// machine is what every implementation of the breaker can do: the sharded Store, the reference, and the twin.
type machine interface {
	Record(Key, Region, bool, Event, time.Time) (Transition, bool)
	Route(Key, bool, time.Time) Route
	ClaimProbe(Key, Region, bool, time.Time) (Token, bool)
	EndProbe(Key, Region, bool, Token, Event, time.Time) (Transition, bool)
	Lapse(time.Time, func(Transition))
	Forget(Region)
	Clear()
	Len() int
	Empty() bool
	All(func(Entry) bool)
}

var (
	_ machine = (*Store)(nil)
	_ machine = (*reference)(nil)
	_ machine = (*twin)(nil)
)

// started is when the tests' clocks start.
var started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// reference is the pure core and a Go map: no shards, no limit, no epoch chosen on the way.
type reference struct {
	rules   *Rules
	records map[slot]Record
	tokens  Token
	jitter  func(slot, time.Duration) uint8
}

func newReference(o Options, jitter func(slot, time.Duration) uint8) *reference {
	return &reference{rules: o.Rules(), records: map[slot]Record{}, jitter: jitter}
}

func (m *reference) put(id slot, r Record) {
	m.records[id] = r
	if r.State() == Healthy {
		delete(m.records, id)
	}
}

func (m *reference) tell(id slot, r Record, c Change, at time.Duration) (Transition, bool) {
	m.put(id, r)
	if c.Cause == NoCause {
		return Transition{}, false
	}
	if r.State() != Healthy {
		at = r.since
	}
	return Transition{
		Key: id.key, Region: id.region, Write: id.write, From: c.From, To: c.To, Cause: c.Cause, Failures: c.Failures,
		Since: started.Add(at), OpenFor: r.OpenFor(m.rules),
	}, true
}

func (m *reference) Record(k Key, r Region, write bool, e Event, now time.Time) (Transition, bool) {
	id, at := slot{k, r, write}, now.Sub(started)
	next, c := m.records[id].Apply(m.rules, write, e, at, m.jitter(id, at))
	return m.tell(id, next, c, at)
}

func (m *reference) EndProbe(k Key, r Region, write bool, t Token, e Event, now time.Time) (Transition, bool) {
	id, at := slot{k, r, write}, now.Sub(started)
	next, c := m.records[id].EndProbe(m.rules, t, e, at, m.jitter(id, at))
	return m.tell(id, next, c, at)
}

func (m *reference) ClaimProbe(k Key, r Region, write bool, now time.Time) (Token, bool) {
	id := slot{k, r, write}
	next, ok := m.records[id].Claim(m.rules, m.tokens+1, now.Sub(started))
	if !ok {
		return 0, false
	}
	m.tokens++
	m.put(id, next)
	return m.tokens, true
}

func (m *reference) Route(k Key, write bool, now time.Time) Route {
	at := now.Sub(started)
	var open []slot
	due := map[Region]bool{}
	for id, rec := range m.records {
		opened, probeDue := rec.Opened(m.rules, at)
		if id.key == k && id.write == write && opened {
			open = append(open, id)
			due[id.region] = probeDue
		}
	}
	slices.SortFunc(open, func(a, b slot) int {
		return cmp.Or(cmp.Compare(m.records[a].since, m.records[b].since), cmp.Compare(a.region, b.region))
	})
	var regions []Region
	for _, id := range open {
		regions = append(regions, id.region)
	}
	return routeOf(regions, due)
}

// routeOf builds a Route the plain way.
func routeOf(opened []Region, due map[Region]bool) (route Route) {
	for i, r := range opened {
		route.Opened[i] = r
		route.Count++
		route.Mask |= 1 << r
		if due[r] {
			route.Due |= 1 << r
			if !route.ProbeDue {
				route.Probe, route.ProbeDue = r, true
			}
		}
	}
	return route
}

func (m *reference) Lapse(now time.Time, tell func(Transition)) {
	at := now.Sub(started)
	for id, rec := range maps.Clone(m.records) {
		if !rec.Lapsed(m.rules, at) {
			continue
		}
		delete(m.records, id)
		if rec.State() != HealthyWithFailures {
			tell(Transition{
				Key: id.key, Region: id.region, Write: id.write, From: rec.State(), Cause: Lapsed, Since: now,
			})
		}
	}
}

func (m *reference) Forget(r Region) {
	maps.DeleteFunc(m.records, func(id slot, _ Record) bool { return id.region == r })
}

func (m *reference) Clear()      { clear(m.records) }
func (m *reference) Len() int    { return len(m.records) }
func (m *reference) Empty() bool { return len(m.records) == 0 }

func (m *reference) All(yield func(Entry) bool) {
	for id, rec := range m.records {
		if !yield(Entry{
			Key: id.key, Region: id.region, Write: id.write, State: rec.state,
			Failures: int(rec.run), SlowWins: int(rec.slow), Requests: int(rec.requests), Failed: int(rec.failed),
			Successes: int(rec.successes), Since: started.Add(rec.since), OpenFor: rec.OpenFor(m.rules), Probing: rec.probe != 0,
		}) {
			return
		}
	}
}

// entries are the records of m, sorted.
func entries(m machine) []Entry {
	all := slices.AppendSeq([]Entry{}, m.All)
	write := func(e Entry) int {
		if e.Write {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Key.Container, b.Key.Container), cmp.Compare(a.Key.Range, b.Key.Range),
			cmp.Compare(a.Region, b.Region), cmp.Compare(write(a), write(b)))
	})
	return all
}
