package ppaf

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// electionBudget is how long after the first 403/3 the last round may start.
const electionBudget = 5 * time.Second

// electionPauses are the pauses before the second and the third round.
var electionPauses = [...]time.Duration{time.Second, 2 * time.Second}

// Action is what a write does after an attempt.
type Action uint8

const (
	// Stop means: the attempt's answer is the last one.
	Stop Action = iota
	// Ask means: ask the next candidate at once.
	Ask
	// Again means: nobody took the write in this round, but the service is electing. Wait, look up the partition's start
	// anew (another write may have found the region), and begin another round with [Search.Round].
	Again
)

// Step is what follows from an attempt.
type Step struct {
	Action Action
	Region regions.Index // with Ask; None otherwise
	Wait   time.Duration // with Again; it ends before the caller's deadline
	// Exhausted: every candidate of the round was asked and none took the write: tell [Store.Exhausted].
	Exhausted bool
}

// Search is the way of one write through the candidates, round by round. It is a plain value of its operation: no clock, no
// lock, not for concurrent use. Make one with [NewSearch].
type Search struct {
	order    regions.List
	asked    regions.Set
	began    Token
	deadline time.Time
	since    time.Time // of the first 403/3; zero: none yet
	electing bool      // some candidate of this round answered 403/3
	rounds   int       // that are over
}

// NewSearch begins the first round. began is the token of its first attempt, deadline the caller's, zero if there is none.
func NewSearch(candidates regions.List, began Token, deadline time.Time) Search {
	return Search{order: candidates, began: began, deadline: deadline}
}

// Round begins another round, after a step that said Again. began is the token of its first attempt.
func (s *Search) Round(candidates regions.List, began Token) {
	s.order, s.asked, s.began, s.electing = candidates, 0, began, false
}

// Began returns the token of the round's first attempt, for [Store.Exhausted].
func (s *Search) Began() Token { return s.began }

// Next takes the answer of the attempt in region r, which came at now, and says how to go on. The region asked first
// need not be the first candidate.
func (s *Search) Next(r regions.Index, a Answer, now time.Time) Step {
	s.asked = s.asked.With(r)
	if a == Refused {
		s.electing = true
		if s.since.IsZero() {
			s.since = now
		}
	}
	if !a.next() {
		return Step{Region: regions.None}
	}
	for c := range s.order.All() {
		if !s.asked.Has(c) {
			return Step{Action: Ask, Region: c}
		}
	}
	return s.end(now)
}

// end is the end of a round in which nobody took the write.
func (s *Search) end(now time.Time) Step {
	step := Step{Region: regions.None, Exhausted: true}
	if !s.electing || s.rounds == len(electionPauses) {
		return step
	}
	wait := electionPauses[s.rounds]
	at := now.Add(wait)
	if at.Sub(s.since) > electionBudget || (!s.deadline.IsZero() && !at.Before(s.deadline)) {
		return step
	}
	s.rounds++
	step.Action, step.Wait = Again, wait
	return step
}
