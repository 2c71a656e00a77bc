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
	where where
}

// where tells which runs an invariant is about.
type where int

const (
	everywhere where = iota
	inBubble         // where times are exact and no connection loses anything
	onSockets
)

// holdsOf tells whether an invariant is about a run.
func (w where) holdsOf(r *Run) bool {
	return w == everywhere || (w == onSockets) == (r.Slack > 0)
}

// invariants are all of them. The source of each is in its comment.
var invariants = []invariant{
	{"every request ends by its deadline", endsByDeadline, everywhere},
	{"nothing outlives its request", nothingOutlives, everywhere},
	{"nothing is sent for a deadline already past", pastDeadlineSendsNothing, everywhere},
	{"no ambiguous write is sent again", writtenOnce, everywhere},
	{"every acknowledged write is in the store", acknowledgedIsStored, everywhere},
	{"the store holds what was written last", storedIsLast, everywhere},
	{"a session never gets an older answer", sessionNeverOlder, everywhere},
	{"the session token is kept", sessionTokenKept, everywhere},
	{"an excluded region is contacted only by the rules", excludedOnlyByRules, everywhere},
	{"an opened region is passed", openedIsPassed, inBubble},
	{"a healthy applicable region means success", healthySucceeds, everywhere},
	{"after the troubles everything succeeds", healedSucceeds, everywhere},
	{"attempts are bounded", attemptsBounded, everywhere},
	{"each region is visited once", regionsOnce, everywhere},
	{"the next region is asked at once", goesOnAtOnce, everywhere},
	{"hedges are within bounds", hedgesWithinBounds, everywhere},
	{"a hedge comes at its time", hedgeComes, inBubble},
	{"a hedge that fails is followed at once", hedgeFollows, inBubble},
	{"hedges in flight are within the budget", hedgeBudget, inBubble},
	{"a hedge's place is given back", budgetIsGivenBack, inBubble},
	{"a session is taken to the write region", sessionIsFound, inBubble},
	{"probes are within bounds", probesWithinBounds, everywhere},
	{"the caller gets an answer that was given", answerWasGiven, everywhere},
	{"what is unwell has failed", blameIsDeserved, inBubble},
	{"an override is confirmed", overrideIsConfirmed, everywhere},
	{"a region that is well again is let back", letBack, everywhere},
	{"nothing is left after a quiet hour", quietIsEmpty, everywhere},
	{"the topology is known in the end", topologyIsKnown, inBubble},
	{"account reads are within the rate", accountReadRate, everywhere},
	{"telemetry tells what the gateway saw", telemetryTellsTheLog, inBubble},
	{"telemetry tells what the gateway saw", telemetryTellsTheSockets, onSockets},
	{"the global endpoint carries no data", globalCarriesNoData, everywhere},
}

// Judge checks every invariant.
func Judge(r *Run) []Violation {
	if r.Stuck != "" {
		return []Violation{{"the world comes to its end, and its goroutines too", r.Stuck}}
	}
	var list []Violation
	e := newEvidence(r)
	for _, i := range invariants {
		if !i.where.holdsOf(r) {
			continue
		}
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
// (package policy); a call that is cancelled ends at once.
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
		if !e.Cold && r.End.After(until.Add(e.Slack)) {
			fail("%s %s ended %v after its deadline", r.ID, r.Op, r.End.Sub(until))
		}
	}
}

// nothingOutlives: what was sent for a request ends with it; a shadow probe is
// nobody's request and has 5 s (packages policy and hedge).
func nothingOutlives(e *evidence, fail report) {
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if o.result.Caller != 0 || !o.result.Start.IsZero() {
				if a.end().After(o.result.End.Add(e.Slack)) {
					fail("%v ended %v after its call: %v", a, a.end().Sub(o.result.End), o)
				}
			}
		}
	}
}

// pastDeadlineSendsNothing: a deadline already past sends nothing (package
// policy), be it past at the start or later.
func pastDeadlineSendsNothing(e *evidence, fail report) {
	for _, o := range e.operations {
		until := o.result.Until
		if o.result.Deadline > 0 {
			until = until.Add(e.Slack)
		}
		for _, a := range o.attempts {
			if !o.result.Start.IsZero() && !a.At.Before(until) {
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
// (packages policy and hedge). Over sockets a good answer can come too late, or
// not arrive.
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
		if good && !r.Answer.ok() && e.Slack == 0 {
			fail("a good answer was lost: %v", o)
		}
	}
}

// globalCarriesNoData: the global endpoint itself is never used for data
// (package regions).
func globalCarriesNoData(e *evidence, fail report) {
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if a.Region == "global" {
				fail("%v", o)
			}
		}
	}
}
