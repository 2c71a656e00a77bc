package hedge

import (
	"math/bits"
	"time"
)

// First is the number of the first leg: the ordinary walk. Hedges are numbered from 1, in the order in which they are sent.
const First = 0

// Move is what a [Race] wants done.
type Move uint8

// The moves.
const (
	// Wait: nothing to do now.
	Wait Move = iota
	// Start: start the next hedge, and tell the race with [Race.Sent] or [Race.Withheld] before anything else.
	Start
	// Return: the race is over; the caller gets the answer of [Race.Winner], and the legs still in flight are cancelled.
	Return
)

// State is how a [Race] stands, or ended. The zero value is a race that is not over.
type State uint8

// The states; all but the first are terminal.
const (
	// StateRunning: not over.
	StateRunning State = iota
	// StatePrimaryWonPreThreshold: the first leg's answer was final, and no hedge had been sent.
	StatePrimaryWonPreThreshold
	// StatePrimaryWonAfterHedge: the first leg's answer was the first final one, after a hedge had been sent.
	StatePrimaryWonAfterHedge
	// StateHedgeWon: a hedge's answer was the first final one.
	StateHedgeWon
	// StateNoneFinal: no leg had a final answer, or the deadline passed after a hedge had been sent. The caller gets
	// what the first leg has.
	StateNoneFinal
	// StateDeadlinePreThreshold: the caller's deadline passed before any hedge was sent.
	StateDeadlinePreThreshold
	// StateCancelled: the caller cancelled.
	StateCancelled
	stateCount
)

var stateNames = [stateCount]string{
	"running", "primary_won_pre_threshold", "primary_won_after_hedge", "hedge_won", "none_final",
	"deadline_pre_threshold", "cancelled",
}

// String returns the state as telemetry spells it, such as "hedge_won"; "" for a value that is no state.
func (s State) String() string {
	if s < stateCount {
		return stateNames[s]
	}
	return ""
}

// Race is the legs of one operation from the first leg's start to the answer: told what happens, it says what to do. The
// table is in the package comment. Its methods must not run at the same time; a mutex around each of them, and around
// Start and what answers it, is enough. Make it with [MakeRace]. It allocates nothing.
type Race struct {
	schedule Schedule
	inFlight uint64 // bit i: leg i has not ended
	hedges   uint8  // sent
	winner   uint8
	state    State
	slow     bool
}

// MakeRace returns the race of an operation whose first leg is on its way.
func MakeRace(s Schedule) Race { return Race{schedule: s, inFlight: 1 << First} }

// Next returns how long from now on [Race.Tick] is to be called, 0 for at once; false if it need not be: there is no
// further hedge, or the race is over. It may change with every event.
func (r *Race) Next(now time.Time) (wait time.Duration, ok bool) {
	if r.Over() {
		return 0, false
	}
	return r.schedule.Next(now)
}

// Tick says whether a hedge is due: [Start], else [Wait]. Several may be, if nobody looked for a while: ask again after
// each.
func (r *Race) Tick(now time.Time) Move {
	if wait, ok := r.Next(now); ok && wait == 0 {
		return Start
	}
	return Wait
}

// Sent tells that the hedge asked for by [Start] is on its way, and returns its number. It takes the next place in the
// schedule, be it early or on time.
func (r *Race) Sent() int {
	r.schedule = r.schedule.Take()
	r.hedges++
	r.inFlight |= 1 << r.hedges
	return int(r.hedges)
}

// Withheld tells that the hedge asked for by [Start] is not sent: [ReasonNoRegion] means that there will be no other
// either, any other reason spends this hedge's place only. It returns [Return] if no leg is in flight any more.
func (r *Race) Withheld(why Reason) Move {
	if why == ReasonNoRegion {
		r.schedule = r.schedule.none()
	} else {
		r.schedule = r.schedule.Take()
	}
	return r.await()
}

// Ended tells that a leg has ended: with a final answer ([Final]), or with any other answer or none. Legs are told in
// the order in which they end, and not at all once the caller's context is done: that is for [Race.Stop]. A leg that is
// not in flight, or ends after the race is over, changes nothing.
func (r *Race) Ended(leg int, final bool) Move {
	bit := uint64(1) << uint(leg) // 0 for a number that no leg can have, negative ones too
	if r.Over() || r.inFlight&bit == 0 {
		return Wait
	}
	r.inFlight &^= bit
	switch {
	case final:
		r.win(leg)
		return Return
	case r.schedule.Left() > 0:
		return Start
	default:
		return r.await()
	}
}

// Stop tells that the caller's context is done, by its deadline or cancelled, and returns the state: the race is over
// now if it was not before. The caller gets what the first leg has.
func (r *Race) Stop(deadline bool) State {
	switch {
	case r.Over():
	case !deadline:
		r.state = StateCancelled
	case r.hedges == 0:
		r.state = StateDeadlinePreThreshold
	default:
		r.state = StateNoneFinal
	}
	return r.state
}

// State returns how the race stands, or ended.
func (r *Race) State() State { return r.state }

// Over reports whether the state is a terminal one.
func (r *Race) Over() bool { return r.state != StateRunning }

// Winner returns the leg whose answer the caller gets, once the race is over. If nothing was final that is [First].
func (r *Race) Winner() int { return int(r.winner) }

// Hedges returns how many hedges have been sent.
func (r *Race) Hedges() int { return int(r.hedges) }

// InFlight returns how many legs have not ended.
func (r *Race) InFlight() int { return bits.OnesCount64(r.inFlight) }

// Slow reports whether a hedge won while the first leg was in flight: a slow win against the region it was waiting for,
// neither a success nor a failure of that region.
func (r *Race) Slow() bool { return r.slow }

func (r *Race) win(leg int) {
	r.winner = uint8(leg)
	switch {
	case leg != First:
		r.state = StateHedgeWon
		r.slow = r.inFlight&(1<<First) != 0
	case r.hedges > 0:
		r.state = StatePrimaryWonAfterHedge
	default:
		r.state = StatePrimaryWonPreThreshold
	}
}

// await ends the race if there is nothing left to wait for.
func (r *Race) await() Move {
	if r.Over() || r.inFlight != 0 {
		return Wait
	}
	r.state = StateNoneFinal
	return Return
}
