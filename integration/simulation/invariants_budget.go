package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// hedgesInFlight are the numbers of hedges in flight, each from a moment on.
func (e *evidence) hedgesInFlight() (times []time.Time, numbers []int) {
	type edge struct {
		at    time.Time
		delta int
	}
	var edges []edge
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if a.reason == string(telemetry.Hedge) && a.Duration > 0 {
				edges = append(edges, edge{a.At, 1}, edge{a.end(), -1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.delta, b.delta)) })
	now := 0
	for _, x := range edges {
		now += x.delta
		times, numbers = append(times, x.at), append(numbers, now)
	}
	return times, numbers
}

// budget is how many hedges of a client may be in flight.
func (e *evidence) budget() int { return cmp.Or(e.Client.MaxInFlight, 64) }

// hedgeBudget: at most MaxInFlight hedges of a client are in flight (package
// hedge; 64 by default).
func hedgeBudget(e *evidence, fail report) {
	times, numbers := e.hedgesInFlight()
	for i, n := range numbers {
		if n > e.budget() {
			fail("%d hedges in flight at %v, at most %d", n, times[i].Format("04:05.000"), e.budget())
		}
	}
}

// budgetIsGivenBack: a hedge is withheld for the budget only while that many
// hedges are in flight: what has ended has given its place back.
func budgetIsGivenBack(e *evidence, fail report) {
	times, numbers := e.hedgesInFlight()
	for _, o := range e.operations {
		if o.span == nil || put(o.span, telemetry.AttrHedgeWithheld) != "budget" {
			continue
		}
		most := 0
		for i, n := range numbers {
			before := i+1 < len(times) && times[i+1].Before(o.attempts[0].At)
			if !before && !times[i].After(o.result.End) {
				most = max(most, n)
			}
		}
		if most < e.budget() {
			fail("a hedge was withheld although only %d of %d were in flight: %v", most, e.budget(), o)
		}
	}
}

// behind tells a read whose session the region has not seen yet.
func (a attempt) behind() bool { return a.Status == 404 && a.SubStatus == 1002 && !a.Write }

// sessionIsFound: a read that gets 404/1002 on a single-write account is taken to
// the write region, which surely has what the session knows, with the header of the
// hub (package policy). Not judged: hedged reads, those that have no time or
// attempts left, and those that ended in a region where the writes of a range were
// for a while: the client may still take it for the write region.
func sessionIsFound(e *evidence, fail report) {
	if len(e.states) > 1 || e.states[0].multi || e.Client.MaxAttempts > 0 {
		return
	}
	for _, o := range e.operations {
		spent := o.result.Answer.Err == "deadline" || o.result.Answer.Err == "cancelled" || o.result.Start.IsZero()
		last := o.attempts[len(o.attempts)-1]
		if last.behind() && !e.wasHub(last.Region) && !spent && o.count(telemetry.Hedge) == 0 && !slices.ContainsFunc(o.attempts, attempt.asHub) {
			fail("%v", o)
		}
	}
}

// wasHub tells whether a region was the write region of some partition, on an
// account that never changes.
func (e *evidence) wasHub(region string) bool {
	return region == e.states[0].hub || slices.ContainsFunc(e.Events, func(v Event) bool {
		return (v.Do == Move || v.Do == Elect) && v.Region == region
	})
}
