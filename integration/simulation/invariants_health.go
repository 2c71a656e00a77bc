package simulation

import (
	"cmp"
	"slices"
	"time"
)

// trouble is what is wrong with a region for one call.
type trouble struct {
	kind        string // of a rule; "down", or "delay" for a slow region too
	status, sub int
	delay       time.Duration
	during      bool // it began while the call was running
}

// troubles are all that could hit a call in a region.
func (e *evidence) troubles(r *Result, region string) []trouble {
	var list []trouble
	for _, v := range e.Events {
		from, to := e.Live.Add(time.Duration(v.At)), e.Healed
		if v.For > 0 {
			to = from.Add(time.Duration(v.For))
		}
		if from.After(r.End) || to.Add(e.Slack/4).Before(r.Start) { // connections get to know a little later
			continue
		}
		if t, hit := e.trouble(v, r, region); hit {
			t.during = from.After(r.Start) || e.Slack > 0 && to.Before(r.End)
			list = append(list, t)
		}
	}
	return list
}

// trouble is what an event is for a call in a region.
func (e *evidence) trouble(v Event, r *Result, region string) (t trouble, hit bool) {
	switch {
	case e.Shared && v.Do == Fault && v.Rule.breaks(region):
		return trouble{kind: "reset"}, true
	case v.Do == Down && v.Region == region:
		return trouble{kind: "down"}, true
	case v.Do == Latency && v.Region == region:
		return trouble{kind: "delay", delay: time.Duration(v.Delay)}, true
	case v.Do == Fault && v.Rule.hits(r, region):
		return trouble{kind: v.Rule.Kind, status: v.Rule.Status, sub: v.Rule.Sub, delay: time.Duration(v.Rule.Delay)}, true
	default:
		return trouble{}, false
	}
}

// breaks tells whether a rule breaks connections to a region, whatever the
// request was.
func (r *Rule) breaks(region string) bool {
	return (r.Region == "" || r.Region == region) && slices.Contains([]string{"reset", "close", "lost"}, r.Kind)
}

// hits tells whether a rule is about a call in a region.
func (r *Rule) hits(c *Result, region string) bool {
	if r.Region != "" && r.Region != region || r.Key != 0 && r.Key != c.Key+1 && c.Op != CrossQuery {
		return false
	}
	return slices.ContainsFunc(r.Operations, func(word string) bool {
		switch word {
		case "data":
			return true
		case "readop":
			return !c.Op.Write()
		case "write":
			return c.Op.Write()
		case "read":
			return c.Op == Read
		default:
			return false
		}
	})
}

// goesOn tells whether a request leaves a region for the next one after this,
// whatever it is otherwise: the rows of the judge's table (package policy) that say "next".
func (t trouble) goesOn(write bool) bool {
	pair := [2]int{t.status, t.sub}
	switch t.kind {
	case "refuse":
		return true
	case "down":
		return !write || !t.during // an attempt in flight is reset
	case "delay", "slow":
		return true // in time
	case "hang", "reset", "close", "streamreset", "lost", "loststream":
		return !write
	}
	if slices.Contains([][2]int{{503, 0}, {503, 21008}, {410, 1022}, {410, 0}, {429, 3092}, {403, 1008}}, pair) {
		return true
	}
	return !write && slices.Contains([][2]int{{500, 0}, {502, 0}, {504, 0}, {408, 0}, {599, 0}}, pair)
}

// cost is how long an attempt in a region that is in trouble may take.
func (e *evidence) cost(region string, list []trouble) time.Duration {
	total := time.Duration(e.Account.Latency[region])
	for _, t := range list {
		if t.kind == "hang" {
			total = never
		}
		total = min(total+t.delay, never)
	}
	if limit := time.Duration(e.Client.AttemptTimeout); limit > 0 {
		total = min(total, limit)
	}
	return total
}

// never is longer than any call.
const never = time.Hour

// healthySucceeds: if some applicable region was healthy for the whole of a
// request that had time to come to it, the request succeeded.
//
// It is judged where it can be said from the world alone: operations on items of
// one HTTP request or a query, and only if everything that could hit the request
// in the other regions is a fault after which the table goes on.
func healthySucceeds(e *evidence, fail report) {
	open := e.openings()
	for i := range e.Results {
		r := &e.Results[i]
		if r.Caller < 0 || r.Deadline < 0 || r.Cancel > 0 || r.Answer.ok() || e.Cold || r.Op == ReadMany || r.Op == ChangeFeed {
			continue
		}
		for _, region := range e.candidates(r, open) {
			if e.hadTime(r, region) {
				fail("%s was healthy: %s %v %v", region, r.Answer.Text, r.Call, e.of[r.ID])
				break
			}
		}
	}
}

// candidates are the regions of which the request needed only one.
func (e *evidence) candidates(r *Result, open []opening) []string {
	states := e.until(r.End)
	excluded, steady := e.excludedBy(r)
	s := states[len(states)-1]
	sameMode := !slices.ContainsFunc(states, func(o state) bool { return o.multi != s.multi })
	if !steady || !sameMode || r.Token != "" && e.Account.Lag != nil {
		return nil
	}
	if r.Op.Write() && !s.multi {
		return e.writeRegion(r, states)
	}
	base := e.base(s)
	if !s.multi && len(base) == len(s.regions) && e.overridden(r.End) {
		return nil // rules U and O: the override and the primary only
	}
	return slices.DeleteFunc(slices.Clone(base), func(region string) bool {
		return !e.longKnown(region, states) || slices.Contains(excluded, region) || r.opened(open, region, r.Op.Write())
	})
}

// longKnown tells whether a region was the account's, and among the client's, in
// every state.
func (e *evidence) longKnown(region string, states []state) bool {
	return !slices.ContainsFunc(states, func(o state) bool {
		return !slices.Contains(e.base(o), region) || !slices.Contains(o.regions, region)
	})
}

// overridden tells whether some partition may have an override by then.
func (e *evidence) overridden(t time.Time) bool {
	return slices.ContainsFunc(e.Changes, func(c Change) bool {
		return c.Message == failoverLine && c.Fields["to"] != "" && !c.At.After(t.Add(e.Slack))
	})
}

// writeRegion is the region that takes a call's write on a single-write account,
// if it is known from the world and did not change.
func (e *evidence) writeRegion(r *Result, states []state) []string {
	if len(states) > 1 {
		return nil
	}
	for _, v := range e.Events {
		moves := v.Do == Move || v.Do == Elect
		if moves && !e.Live.Add(time.Duration(v.At)).After(r.End) {
			return nil
		}
	}
	return []string{states[0].hub}
}

// hadTime tells whether a region was healthy, all others only failed in ways
// that do not end the request, and the deadline left time for all of them.
func (e *evidence) hadTime(r *Result, region string) bool {
	few := e.Client.MaxAttempts != 0 && e.Client.MaxAttempts < len(allRegions)
	if few || len(e.troubles(r, region)) > 0 || e.slow(r, region) {
		return false
	}
	own := time.Duration(e.Account.Latency[region])
	need := own
	for _, other := range e.others(r, region) {
		list := e.troubles(r, other)
		ends := func(t trouble) bool { return !t.goesOn(r.Op.Write()) }
		if slices.ContainsFunc(list, ends) || r.Op.Write() && e.slow(r, other) {
			return false
		}
		need += e.cost(other, list)
	}
	if h, on := e.hedged(r); on {
		need = min(need, h+own)
	}
	if r.Op == Query || r.Op == CrossQuery {
		need *= 10 // pages
	}
	return need+e.Slack < time.Duration(r.Deadline)
}

// slow tells whether an attempt in a region may be ended by AttemptTimeout: then it is
// not healthy, and a write ends there.
func (e *evidence) slow(r *Result, region string) bool {
	limit := time.Duration(e.Client.AttemptTimeout)
	delay := time.Duration(e.Account.Latency[region])
	if r.Op.Write() {
		for _, t := range e.troubles(r, region) {
			delay += t.delay
		}
	}
	return limit > 0 && delay+e.Slack >= limit
}

// others are the regions that the request could have come to before.
func (e *evidence) others(r *Result, region string) []string {
	var list []string
	for _, s := range e.until(r.End) {
		for _, other := range s.regions {
			single := r.Op.Write() && !s.multi && !e.movable()
			if other != region && !single && !slices.Contains(list, other) {
				list = append(list, other)
			}
		}
	}
	return list
}

// movable tells whether partition failover may be on.
func (e *evidence) movable() bool { return e.Client.Failover != 2 }

// enough tells whether the budget has a place for every hedge of a request.
func (e *evidence) enough() bool {
	return len(e.Callers) == 1 && e.Client.MaxInFlight >= e.most(e.Ended)-1
}

// hedged is when the last hedge of a request has been sent, if it surely is
// hedged to every region.
func (e *evidence) hedged(r *Result) (time.Duration, bool) {
	c := e.Client
	forbidden := e.ever(r.End, func(s state) bool { return s.noHedge != nil && *s.noHedge })
	bounded := c.MaxHedges > 0 || c.MaxInFlight > 0 && !e.enough() || len(e.Callers) > 8
	if forbidden || bounded || !e.wantsHedges(r) || r.Op.Write() || r.Op == Container {
		return 0, false
	}
	threshold := cmp.Or(c.Threshold, Duration(min(time.Second, time.Duration(r.Deadline)/2)))
	if r.Hedge == HedgeOn {
		threshold = cmp.Or(r.Threshold, threshold)
	}
	step := time.Duration(cmp.Or(c.Step, Duration(500*time.Millisecond)))
	return time.Duration(threshold) + step*time.Duration(len(allRegions)), true
}
