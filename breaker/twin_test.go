package breaker

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// twin is the breaker written from the design a second time, without counters and without records: it remembers every
// event there ever was and replays them all whenever it is asked something.
type twin struct {
	o      Options // with every field set
	events map[slot][]happening
	tokens Token
	jitter func(slot, time.Duration) uint8
}

// happening is an event, a claim (token without outcome) or the end of a probe (token and outcome).
type happening struct {
	at      time.Time
	event   Event
	token   Token
	outcome Event
	jitter  uint8
}

// story is what has become of a slot so far. Lists, where the Record has counters.
type story struct {
	state   State
	since   time.Time
	fails   []time.Time // the run of failures
	slows   []time.Time // the run of slow wins
	window  []Event     // Success and Failure, of the rate window
	opening time.Time   // the window's first failure
	good    int         // successes since tentative
	bad     time.Time   // the last failure since tentative, or the good probe
	doubles int
	length  time.Duration
	probe   Token
}

func newTwin(o Options, jitter func(slot, time.Duration) uint8) *twin {
	return &twin{o: filled(o), events: map[slot][]happening{}, jitter: jitter}
}

// filled has the defaults, written out once more.
func filled(o Options) Options {
	d := Options{
		ReadFailures: 10, WriteFailures: 5, FailureRate: 0.9, MinRequests: 100, RateWindow: time.Minute,
		ResetAfter: 5 * time.Minute, OpenFor: 30 * time.Second, MaxOpenFor: 20 * time.Minute, SlowWins: 5,
	}
	if o.ReadFailures > 0 {
		d.ReadFailures = o.ReadFailures
	}
	if o.WriteFailures > 0 {
		d.WriteFailures = o.WriteFailures
	}
	if o.FailureRate > 0 {
		d.FailureRate = o.FailureRate
	}
	if o.MinRequests > 0 {
		d.MinRequests = o.MinRequests
	}
	if o.RateWindow > 0 {
		d.RateWindow = o.RateWindow
	}
	if o.ResetAfter > 0 {
		d.ResetAfter = o.ResetAfter
	}
	if o.OpenFor > 0 {
		d.OpenFor, d.MaxOpenFor = o.OpenFor, max(d.MaxOpenFor, o.OpenFor)
	}
	if o.MaxOpenFor > 0 {
		d.OpenFor, d.MaxOpenFor = min(d.OpenFor, o.MaxOpenFor), o.MaxOpenFor
	}
	if o.SlowWins > 0 {
		d.SlowWins = o.SlowWins
	}
	return d
}

func far(a, b time.Time, d time.Duration) bool { return a.Sub(b) >= d || b.Sub(a) >= d }

// pass lets time go by until now. It returns the cause of what time alone has changed.
func (t *twin) pass(s story, now time.Time) (story, Cause) {
	if n := len(s.fails); n > 0 && far(now, s.fails[n-1], t.o.ResetAfter) {
		s.fails = nil
	}
	if n := len(s.slows); n > 0 && far(now, s.slows[n-1], t.o.ResetAfter) {
		s.slows = nil
	}
	if len(s.window) > 0 && far(now, s.opening, t.o.RateWindow) {
		s.window = nil
	}
	switch {
	case s.state == HealthyWithFailures && len(s.fails)+len(s.slows)+len(s.window) == 0:
		return story{}, NoCause
	case s.state == HealthyTentative && len(s.slows) == 0 && far(now, s.bad, t.o.ResetAfter),
		s.state == Unavailable && far(now, s.since, s.length+max(t.o.MaxOpenFor, t.o.ResetAfter)):
		return story{}, Lapsed
	}
	return s, NoCause
}

// step is the table of the package comment.
func (t *twin) step(s story, write bool, h happening) (story, Cause, int) {
	s, lapsed := t.pass(s, h.at)
	limit, slowLimit := t.o.ReadFailures, t.o.SlowWins
	if write {
		limit = t.o.WriteFailures
	}
	enough := limit
	if s.state == HealthyTentative {
		limit, slowLimit = max(1, limit/2), max(1, slowLimit/2)
	}
	switch {
	case h.token != 0 && h.outcome == 0:
		s.probe = h.token
	case h.token != 0 && h.token != s.probe:
	case h.outcome == Success:
		return story{state: HealthyTentative, since: h.at, bad: h.at, doubles: s.doubles}, ProbeSucceeded, 0
	case h.outcome == Failure:
		return t.open(s, h, s.doubles+1), ProbeFailed, 1
	case h.token != 0:
		s.probe = 0
	case s.state == Unavailable:
	case h.event == Success:
		s.fails, s.slows = nil, nil
		if len(s.window) > 0 {
			s.window = append(slices.Clone(s.window), Success)
		}
		if t.bad(s.window) {
			return t.open(s, h, s.doubles), FailureRate, failures(s.window)
		}
		if s.state == HealthyWithFailures && len(s.window) == 0 {
			return story{}, lapsed, 0
		}
		if s.state == HealthyTentative {
			if s.good++; s.good == enough {
				return story{}, Recovered, 0
			}
		}
	case h.event == Failure:
		s = s.begun(h.at)
		s.fails, s.bad = append(slices.Clone(s.fails), h.at), h.at
		if len(s.window) == 0 {
			s.opening = h.at
		}
		s.window = append(slices.Clone(s.window), Failure)
		if len(s.fails) == limit {
			return t.open(s, h, s.doubles), ConsecutiveFailures, limit
		}
		if t.bad(s.window) {
			return t.open(s, h, s.doubles), FailureRate, failures(s.window)
		}
	case h.event == SlowWin:
		s = s.begun(h.at)
		if s.slows = append(slices.Clone(s.slows), h.at); len(s.slows) == slowLimit {
			return t.open(s, h, s.doubles), SlowWins, slowLimit
		}
	}
	return s, lapsed, 0
}

func (s story) begun(at time.Time) story {
	if s.state == Healthy {
		s.state, s.since = HealthyWithFailures, at
	}
	return s
}

func (t *twin) bad(window []Event) bool {
	share := float64(failures(window)) / float64(max(1, len(window)))
	return len(window) > 0 && len(window) >= t.o.MinRequests && share >= t.o.FailureRate
}

func failures(window []Event) (n int) {
	for _, e := range window {
		if e == Failure {
			n++
		}
	}
	return n
}

func (t *twin) open(s story, h happening, doubles int) story {
	length := t.o.OpenFor
	for range doubles {
		length = min(length*2, t.o.MaxOpenFor)
	}
	return story{
		state: Unavailable, since: h.at, doubles: doubles, length: length + length/4*time.Duration(h.jitter)/255,
	}
}

// replay is the whole story of a slot, and what its last happening did.
func (t *twin) replay(id slot) (s story, from State, cause Cause, count int) {
	for _, h := range t.events[id] {
		from = s.state
		s, cause, count = t.step(s, id.write, h)
	}
	return s, from, cause, count
}

func (t *twin) happen(id slot, h happening) (Transition, bool) {
	h.jitter = t.jitter(id, h.at.Sub(started))
	t.events[id] = append(t.events[id], h)
	s, from, cause, count := t.replay(id)
	if s.state == Healthy {
		delete(t.events, id)
		s.since = h.at
	}
	if cause == NoCause {
		return Transition{}, false
	}
	return Transition{id.key, id.region, id.write, from, s.state, cause, count, s.since, s.length}, true
}

func (t *twin) Record(k Key, r Region, write bool, e Event, now time.Time) (Transition, bool) {
	return t.happen(slot{k, r, write}, happening{at: now, event: e})
}

func (t *twin) current(id slot, now time.Time) (s story, due bool) {
	s, _, _, _ = t.replay(id)
	s, _ = t.pass(s, now)
	return s, s.state == Unavailable && s.probe == 0 && far(now, s.since, s.length)
}

func (t *twin) ClaimProbe(k Key, r Region, write bool, now time.Time) (Token, bool) {
	if _, due := t.current(slot{k, r, write}, now); !due {
		return 0, false
	}
	t.tokens++
	t.happen(slot{k, r, write}, happening{at: now, token: t.tokens})
	return t.tokens, true
}

func (t *twin) EndProbe(k Key, r Region, write bool, token Token, e Event, now time.Time) (Transition, bool) {
	id := slot{k, r, write}
	if s, _, _, _ := t.replay(id); token == 0 || s.probe != token {
		return Transition{}, false
	}
	if s, _ := t.current(id, now); s.state == Healthy {
		return t.happen(id, happening{at: now})
	}
	return t.happen(id, happening{at: now, token: token, outcome: e})
}

func (t *twin) Route(k Key, write bool, now time.Time) Route {
	var open []string // sortable: the time in nanoseconds, then the region
	due := map[Region]bool{}
	for r := range Region(MaxRegions) {
		s, d := t.current(slot{k, r, write}, now)
		if s.state == Unavailable {
			open = append(open, s.since.Format("20060102150405.000000000")+string(rune(r)))
			due[r] = d
		}
	}
	slices.Sort(open)
	var regions []Region
	for _, o := range open {
		regions = append(regions, o[strings.Index(o, ".")+10])
	}
	return routeOf(regions, due)
}

func (t *twin) Lapse(now time.Time, tell func(Transition)) {
	for id := range maps.Clone(t.events) {
		before, _, _, _ := t.replay(id)
		after, cause := t.pass(before, now)
		if after.state != Healthy {
			continue
		}
		delete(t.events, id)
		if cause == Lapsed {
			tell(Transition{Key: id.key, Region: id.region, Write: id.write, From: before.state, Cause: Lapsed, Since: now})
		}
	}
}

func (t *twin) Forget(r Region) {
	maps.DeleteFunc(t.events, func(id slot, _ []happening) bool { return id.region == r })
}

func (t *twin) Clear()      { clear(t.events) }
func (t *twin) Len() int    { return len(t.events) }
func (t *twin) Empty() bool { return len(t.events) == 0 }

func (t *twin) All(yield func(Entry) bool) {
	for id := range t.events {
		s, _, _, _ := t.replay(id)
		if !yield(Entry{
			Key: id.key, Region: id.region, Write: id.write, State: s.state, Failures: len(s.fails), SlowWins: len(s.slows),
			Requests: len(s.window), Failed: failures(s.window), Successes: s.good, Since: s.since, OpenFor: s.length, Probing: s.probe != 0,
		}) {
			return
		}
	}
}
