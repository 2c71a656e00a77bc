package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// walked are the reasons of the ordinary walk.
var walked = []telemetry.Reason{telemetry.Initial, telemetry.NextRegion, telemetry.Session, telemetry.Failover}

// most is the largest number of regions that the account has had by then.
func (e *evidence) most(t time.Time) int {
	n := 0
	for _, s := range e.until(t) {
		n = max(n, len(s.regions))
	}
	return n
}

// attemptsBounded: MaxAttempts, or the number of regions plus one, in each pass;
// the rounds of 403/3 of a single-write write have a budget of their own: 3
// rounds of candidates, or 5 visits of the primary (packages policy and ppaf).
func attemptsBounded(e *evidence, fail report) {
	for _, o := range e.operations {
		limit := e.Client.MaxAttempts
		if limit == 0 {
			limit = e.most(e.Ended) + 1
		}
		if o.write() && e.ever(e.Ended, func(s state) bool { return !s.multi }) {
			limit = 3*max(limit, e.most(e.Ended)) + 5
		}
		if n := o.count(walked...); n > limit*o.passes() {
			fail("%d attempts, at most %d: %v", n, limit*o.passes(), o)
		}
	}
}

// regionsOnce: each region is visited once per operation unless said otherwise,
// by the walk or by a hedge (packages policy and hedge).
func regionsOnce(e *evidence, fail report) {
	for _, o := range e.operations {
		seen := map[string]int{}
		for i, a := range o.attempts {
			if o.resent(i) {
				continue
			}
			switch telemetry.Reason(a.reason) {
			case telemetry.Initial, telemetry.NextRegion, telemetry.Hedge:
				if seen[a.Region]++; seen[a.Region] > o.passes() {
					fail("%s twice: %v", a.Region, o)
				}
			default:
			}
		}
	}
}

// goesOnAtOnce: the next region is asked at once (package policy), but for a
// region that is not the account's any more, 403/1008, when there is no other: the
// topology is awaited.
func goesOnAtOnce(e *evidence, fail report) {
	for _, o := range e.operations {
		single := e.ever(e.Ended, func(s state) bool { return !s.multi })
		if o.count(telemetry.Hedge) > 0 || o.write() && single {
			continue
		}
		for i, a := range o.attempts[1:] {
			before := o.attempts[i]
			if wait := a.At.Sub(before.end()); wait.Abs() > e.Slack && !before.raw() && before.SubStatus != 1008 {
				fail("waited %v before attempt %d: %v", wait, i+2, o)
			}
		}
	}
}

// hedgesWithinBounds: only what may be hedged is, not before its time, and to at
// most MaxHedges further regions (package hedge).
func hedgesWithinBounds(e *evidence, fail report) {
	for _, o := range e.operations {
		n := o.count(telemetry.Hedge)
		if n == 0 || o.result.Start.IsZero() {
			continue
		}
		r := o.result
		if !e.mayHedge(o) {
			fail("may not be hedged: %v", o)
		}
		limit := cmp.Or(e.Client.MaxHedges, e.most(r.End)-1)
		if n > limit { // what azcore repeats is not hedged once more
			fail("%d hedges, at most %d: %v", n, limit, o)
		}
		if e.Slack == 0 && o.hedgedAgain() {
			fail("hedged once more: %v", o)
		}
		if threshold := e.threshold(o); e.Slack == 0 && early(o, threshold) {
			fail("a hedge before its time (%v): %v", threshold, o)
		}
	}
}

// mayHedge tells whether account, client, call and kind of operation allow hedges.
func (e *evidence) mayHedge(o *operation) bool {
	r, c := o.result, e.Client
	if e.always(r.End, func(s state) bool { return s.noHedge != nil && *s.noHedge }) {
		return false
	}
	if o.write() && (!c.HedgeWrites || !e.ever(r.End, func(s state) bool { return s.multi })) {
		return false
	}
	return e.wantsHedges(r)
}

// wantsHedges tells whether client and call want hedges.
func (e *evidence) wantsHedges(r *Result) bool {
	return r.Hedge == HedgeOn || !e.Client.NoHedge && r.Hedge != HedgeOff
}

// threshold is the least that the first hedge of an operation has to wait for.
func (e *evidence) threshold(o *operation) time.Duration {
	r := o.result
	threshold := time.Duration(e.Client.Threshold)
	if r.Hedge == HedgeOn && r.Threshold > 0 {
		threshold = time.Duration(r.Threshold)
	}
	if threshold == 0 {
		threshold = min(time.Second, r.Until.Sub(o.attempts[0].At)/2)
	}
	return threshold
}

// early tells whether a hedge was sent before the threshold although no other
// leg had ended.
func early(o *operation, threshold time.Duration) bool {
	if o.passes() > 1 {
		return false
	}
	began := o.attempts[0].At
	for i, a := range o.attempts {
		if a.reason != string(telemetry.Hedge) || a.At.Sub(began) >= threshold {
			continue
		}
		if !slices.ContainsFunc(o.attempts[:i], func(b attempt) bool { return !b.end().After(a.At) }) {
			return true
		}
	}
	return false
}

// probesWithinBounds: a shadow probe is a read, has 5 s, goes to a region that
// is opened, and is the only one of its partition there (package breaker).
func probesWithinBounds(e *evidence, fail report) {
	open, last := e.openings(), map[string]time.Time{}
	for _, a := range e.probes {
		key := a.Region + a.Range + a.Key
		switch {
		case a.Write:
			fail("a write is probed: %v", a)
		case a.Duration > 5*time.Second+e.Slack:
			fail("it took %v: %v", a.Duration, a)
		case a.Key != "" && a.At.Before(last[key].Add(-e.Slack)):
			fail("another one is in flight: %v", a)
		case e.results[a.call] != nil && !e.results[a.call].opened(open, a.Region, false):
			fail("the region is not opened: %v", a)
		}
		last[key] = a.end()
	}
}

// accountReadRate: refreshes of our own start at least a second apart, and
// azcosmos reads the account every five minutes, up to four times when it fails.
func accountReadRate(e *evidence, fail report) {
	var reads []time.Time
	first := "global"
	if e.Client.Regional != "" {
		first = e.Client.Regional
	}
	for _, entry := range e.Log {
		if entry.Operation == "account" && entry.Region == first {
			reads = append(reads, entry.At)
		}
	}
	const window, most = 10 * time.Second, 11 + 5
	for i := range reads {
		if i >= most && reads[i].Sub(reads[i-most]) < window {
			fail("%d account reads within %v", most+1, reads[i].Sub(reads[i-most]))
			return
		}
	}
}
