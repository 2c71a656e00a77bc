package simulation

import (
	"fmt"
	"slices"
	"time"
)

// Violation is an invariant that a run broke.
type Violation struct {
	Invariant string
	Text      string
}

func (v Violation) String() string { return v.Invariant + ": " + v.Text }

// report collects what an invariant has to say.
type report func(format string, args ...any)

// invariant is a promise of the design that every run keeps.
type invariant struct {
	name  string
	check func(*evidence, report)
}

// invariants are all of them. The source of each is in its comment.
var invariants = []invariant{
	{"every request ends by its deadline", endsByDeadline},
	{"nothing outlives its request", nothingOutlives},
	{"nothing is sent for a deadline already past", pastDeadlineSendsNothing},
	{"no ambiguous write is sent again", writtenOnce},
	{"every acknowledged write is in the store", acknowledgedIsStored},
	{"a session never gets an older answer", sessionNeverOlder},
	{"the session token is kept", sessionTokenKept},
	{"an excluded region is contacted only by the rules", excludedOnlyByRules},
	{"a healthy applicable region means success", healthySucceeds},
	{"after the troubles everything succeeds", healedSucceeds},
	{"attempts are bounded", attemptsBounded},
	{"each region is visited once", regionsOnce},
	{"the next region is asked at once", goesOnAtOnce},
	{"hedges are within bounds", hedgesWithinBounds},
	{"hedges in flight are within the budget", hedgeBudget},
	{"a hedge's place is given back", budgetIsGivenBack},
	{"a session is taken to the write region", sessionIsFound},
	{"probes are within bounds", probesWithinBounds},
	{"the caller gets an answer that was given", answerWasGiven},
	{"what is unwell has failed", blameIsDeserved},
	{"an override is confirmed", overrideIsConfirmed},
	{"a region that is well again is let back", letBack},
	{"nothing is left after a quiet hour", quietIsEmpty},
	{"the topology is known in the end", topologyIsKnown},
	{"account reads are within the rate", accountReadRate},
	{"telemetry tells what the gateway saw", telemetryTellsTheLog},
	{"the global endpoint carries no data", globalCarriesNoData},
}

// Judge checks every invariant.
func Judge(r *Run) []Violation {
	if r.Stuck != "" {
		return []Violation{{"the world comes to its end, and its goroutines too", r.Stuck}}
	}
	var list []Violation
	e := newEvidence(r)
	for _, i := range invariants {
		n := 0
		i.check(e, func(format string, args ...any) {
			if n++; n <= 3 { // more of the same helps nobody
				list = append(list, Violation{i.name, fmt.Sprintf(format, args...)})
			}
		})
	}
	return list
}

// endsByDeadline: attempts and back-off never outlive the caller's deadline
// (design section 6); a call that is cancelled ends at once.
//
// While the client has no topology azcosmos reads the account on a context that
// cannot be cancelled, and waits for it: a cold start is not judged.
func endsByDeadline(e *evidence, fail report) {
	for _, r := range e.Results {
		until := r.Until
		if r.Deadline < 0 {
			until = r.Start
		}
		if r.Cancel > 0 && r.Start.Add(time.Duration(r.Cancel)).Before(until) {
			until = r.Start.Add(time.Duration(r.Cancel))
		}
		if !e.Cold && r.End.After(until) {
			fail("%s %s ended %v after its deadline", r.ID, r.Op, r.End.Sub(until))
		}
	}
}

// nothingOutlives: what was sent for a request ends with it; a shadow probe is
// nobody's request and has 5 s (design sections 6 and 7).
func nothingOutlives(e *evidence, fail report) {
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if o.result.Caller != 0 || !o.result.Start.IsZero() {
				if a.end().After(o.result.End) {
					fail("%v ended %v after its call: %v", a, a.end().Sub(o.result.End), o)
				}
			}
		}
	}
}

// pastDeadlineSendsNothing: a deadline already past sends nothing (design
// section 6), be it past at the start or later.
func pastDeadlineSendsNothing(e *evidence, fail report) {
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if !o.result.Start.IsZero() && !a.At.Before(o.result.Until) {
				fail("%v: %v", a, o)
			}
		}
	}
}

// healedSucceeds: once nothing is wrong any more, every request succeeds,
// whatever the middleware still believes.
//
// A client that has never read the account is dead for five minutes, which is
// azcosmos's own doing, and who allows few attempts does not get through a
// topology that has changed. An account that has turned single-write is known by
// its refusals only after a while: the first calls may meet nothing else.
func healedSucceeds(e *evidence, fail report) {
	few := e.Client.MaxAttempts > 0 && len(e.states) > 1 || slices.ContainsFunc(e.Events, func(v Event) bool { return v.Do == Multi })
	for i := range e.Results {
		r := &e.Results[i]
		if few && r.Caller == healCaller {
			continue
		}
		if (r.Caller == healCaller && !e.Cold || r.Caller == quietCaller) && !r.Answer.ok() {
			fail("%s %s got %v: %s %v", r.ID, r.Op, r.Answer, r.Answer.Text, e.of[r.ID])
		}
	}
}

// answerWasGiven: the caller gets an answer that some attempt had, and the
// store's answer if any attempt had it: the first final answer ends the request
// (design sections 6 and 7.3).
func answerWasGiven(e *evidence, fail report) {
	for _, o := range e.operations {
		r := o.result
		if len(e.of[r.ID]) != 1 || r.Start.IsZero() {
			continue
		}
		given := slices.ContainsFunc(o.attempts, func(a attempt) bool { return a.Status == r.Answer.Status && a.SubStatus == r.Answer.Sub })
		if r.Answer.Status != 0 && !given {
			fail("nobody gave this answer: %v", o)
		}
		good := slices.ContainsFunc(o.attempts, func(a attempt) bool { return a.Status != 0 && a.Status < 300 })
		if good && !r.Answer.ok() {
			fail("a good answer was lost: %v", o)
		}
	}
}

// globalCarriesNoData: the global endpoint itself is never used for data
// (design section 5).
func globalCarriesNoData(e *evidence, fail report) {
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if a.Region == "global" {
				fail("%v", o)
			}
		}
	}
}
