package breaker

import (
	"math"
	"time"
)

// Record is what is known of one region of a partition, for reads or for writes. It is a value without pointers; its
// methods are pure and return the next value. The zero value is Healthy, and only that is.
//
// at is the time of an event as a distance from any fixed moment, jitter a random number that lengthens an opening: 0 adds
// nothing, 255 a quarter.
type Record struct {
	// What Route needs stands first, next to the key and so mostly in its cache line.
	since  time.Duration // when the state began
	probe  Token         // the probe in flight
	state  State
	level  uint8 // how often OpenFor has doubled
	jitter uint8 // of this opening
	slow   uint8 // slow wins in a row

	run       uint32 // failures in a row
	requests  uint32 // of the rate window; 0: there is none
	failed    uint32 // of the rate window
	successes uint32 // since HealthyTentative began

	lastFailure time.Duration // HealthyTentative: of no failure yet, when the probe succeeded
	lastSlow    time.Duration
	window      time.Duration // when the rate window began, if requests > 0
}

// State returns the state as of the last event; see Lapsed for what time alone changes.
func (r Record) State() State { return r.state }

// Apply returns the record after an event at the region. Success, Failure and SlowWin count; an Unavailable region is not
// moved by any of them, only by its probe (EndProbe) and by time.
func (r Record) Apply(u *Rules, write bool, e Event, at time.Duration, jitter uint8) (Record, Change) {
	next := r.aged(u, at)
	lapsed := next.state != r.state
	cause, count := NoCause, uint32(0)
	if next.state != Unavailable {
		switch e {
		case Success:
			next, cause, count = next.succeeded(u, write, at, jitter)
		case Failure:
			next, cause, count = next.failure(u, write, at, jitter)
		case SlowWin:
			next, cause, count = next.slowWin(u, at, jitter)
		}
	}
	if cause == NoCause && lapsed && r.state != HealthyWithFailures {
		cause = Lapsed
	}
	return next, Change{r.state, next.state, cause, int(count)}
}

// succeeded ends the runs. A rate window goes on to its end, which keeps the record for that long.
func (r Record) succeeded(u *Rules, write bool, at time.Duration, jitter uint8) (Record, Cause, uint32) {
	r.run, r.slow = 0, 0
	r = r.counted(0, at)
	if r.mostlyFailed(u) {
		return r.opened(at, jitter), FailureRate, r.failed
	}
	switch r.state {
	case HealthyWithFailures:
		if r.requests == 0 {
			return Record{}, NoCause, 0
		}
	case HealthyTentative:
		if r.successes++; r.successes >= u.threshold(write) {
			return Record{}, Recovered, 0
		}
	}
	return r, NoCause, 0
}

func (r Record) failure(u *Rules, write bool, at time.Duration, jitter uint8) (Record, Cause, uint32) {
	r = r.unwell(at)
	r.run++
	r.lastFailure = at
	r = r.counted(1, at)
	if r.run >= r.reduced(u.threshold(write)) {
		return r.opened(at, jitter), ConsecutiveFailures, r.run
	}
	if r.mostlyFailed(u) {
		return r.opened(at, jitter), FailureRate, r.failed
	}
	return r, NoCause, 0
}

func (r Record) slowWin(u *Rules, at time.Duration, jitter uint8) (Record, Cause, uint32) {
	r = r.unwell(at)
	r.slow++
	r.lastSlow = at
	if wins := uint32(r.slow); wins >= r.reduced(u.slowWins) {
		return r.opened(at, jitter), SlowWins, wins
	}
	return r, NoCause, 0
}

// unwell begins the record of what was healthy.
func (r Record) unwell(at time.Duration) Record {
	if r.state == Healthy {
		r.state, r.since = HealthyWithFailures, at
	}
	return r
}

// counted adds a request to the rate window. A failure begins a window; a success alone does not.
func (r Record) counted(failed uint32, at time.Duration) Record {
	switch {
	case r.requests == 0 && failed == 0, r.requests == math.MaxUint32:
		return r
	case r.requests == 0:
		r.window = at
	}
	r.requests++
	r.failed += failed
	return r
}

// mostlyFailed is the rule of the rate window. It is asked after successes too: nine failures and a success, ten times, are
// 90 % of 100.
func (r Record) mostlyFailed(u *Rules) bool {
	// Divided, not multiplied: 90/100 is exactly the 0.9 of the options.
	return r.requests > 0 && r.requests >= u.minRequests && float64(r.failed)/float64(r.requests) >= u.failureRate
}

// opened begins an opening. Its length is that of the last one: only a failed probe doubles it, only Healthy forgets it.
func (r Record) opened(at time.Duration, jitter uint8) Record {
	return Record{state: Unavailable, since: at, level: r.level, jitter: jitter}
}

// threshold is how many failures in a row open a region, and how many successes make it healthy.
func (u *Rules) threshold(write bool) uint32 {
	if write {
		return u.failures[1]
	}
	return u.failures[0]
}

// reduced is a threshold as it applies in this state: half of it to a region that is let back tentatively.
func (r Record) reduced(threshold uint32) uint32 {
	if r.state == HealthyTentative {
		return max(1, threshold/2)
	}
	return threshold
}

// Opened reports whether the region is to be left out, and whether it waits for a probe: it has been out for long enough,
// and no probe is in flight.
func (r *Record) Opened(u *Rules, at time.Duration) (opened, probeDue bool) {
	if r.state != Unavailable {
		return false, false
	}
	due := apart(at, r.since) - r.OpenFor(u) // for how long the probe has been
	opened = due < u.forgetAfter
	return opened, opened && due >= 0 && r.probe == 0
}

// Claim gives the place of the probe to token, which must not be zero, if a probe is due.
func (r Record) Claim(u *Rules, token Token, at time.Duration) (Record, bool) {
	if _, due := r.Opened(u, at); !due {
		return r, false
	}
	r.probe = token
	return r, true
}

// EndProbe returns the record after the probe that holds token: Success makes the region tentative, Failure opens it again
// for twice as long, anything else frees the place. Another token than the one in flight changes nothing.
func (r Record) EndProbe(u *Rules, token Token, outcome Event, at time.Duration, jitter uint8) (Record, Change) {
	if token == 0 || r.probe != token {
		return r, Change{From: r.state, To: r.state}
	}
	if r.Lapsed(u, at) {
		return Record{}, Change{From: r.state, Cause: Lapsed}
	}
	next, cause, failures := r, NoCause, 0
	switch outcome {
	case Success:
		next = Record{state: HealthyTentative, since: at, lastFailure: at, level: r.level}
		cause = ProbeSucceeded
	case Failure:
		next = r.doubled(u).opened(at, jitter)
		cause, failures = ProbeFailed, 1
	default:
		next.probe = 0
	}
	return next, Change{r.state, next.state, cause, failures}
}

// doubled raises the level, until raising it makes nothing longer.
func (r Record) doubled(u *Rules) Record {
	if u.length(r.level) < u.maxOpenFor {
		r.level++
	}
	return r
}

// OpenFor is how long after the opening the probe is due; 0 unless the state is Unavailable.
func (r *Record) OpenFor(u *Rules) time.Duration {
	if r.state != Unavailable {
		return 0
	}
	d := u.length(r.level)
	// A quarter of d, jitter 255ths of it, in an order that cannot overflow.
	quarter, share := d/4, time.Duration(r.jitter)
	return d + quarter/255*share + quarter%255*share/255
}

// length is OpenFor doubled level times, at most MaxOpenFor.
func (u *Rules) length(level uint8) time.Duration {
	d := u.openFor
	for range level {
		if d > u.maxOpenFor/2 {
			return u.maxOpenFor
		}
		d *= 2
	}
	return d
}

// Lapsed reports whether time alone has made the region healthy.
func (r *Record) Lapsed(u *Rules, at time.Duration) bool {
	return r.aged(u, at).state != r.state
}

// aged returns the record as time alone has changed it: runs and windows that are over are gone, and so is the record with
// the last of them.
func (r Record) aged(u *Rules, at time.Duration) Record {
	if r.state == Unavailable {
		if opened, _ := r.Opened(u, at); !opened {
			return Record{}
		}
		return r
	}
	quiet := apart(at, r.lastFailure) >= u.resetAfter
	if quiet {
		r.run = 0
	}
	if apart(at, r.lastSlow) >= u.resetAfter {
		r.slow = 0
	}
	if apart(at, r.window) >= u.rateWindow {
		r.requests, r.failed = 0, 0
	}
	if r.over(quiet) {
		return Record{}
	}
	return r
}

// over reports whether nothing is left that keeps a region unwell. A tentative one has no run between its good probe and its next
// failure, so that it goes by the time, quiet, and not by the run.
func (r Record) over(quiet bool) bool {
	if r.state == HealthyTentative {
		return quiet && r.slow == 0
	}
	return r.run == 0 && r.slow == 0 && r.requests == 0
}

// apart is the distance of two times, whichever is the later one: see Time in the package comment.
func apart(a, b time.Duration) time.Duration { return max(a-b, b-a) }
