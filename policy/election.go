package policy

import (
	"context"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

const (
	// electionBudget bounds the retries of a write that the write region
	// refuses (403/3), counted from the first refusal, waits included.
	electionBudget = 5 * time.Second
	// refreshWait is how long one retry waits for the topology it needs.
	refreshWait = time.Second
)

// electionPauses are the pauses before the retries on a write region that has
// not changed; together they are the budget.
var electionPauses = [...]time.Duration{0, time.Second, 2 * time.Second, 2 * time.Second}

// election is a single-write write's search for the region that takes it.
type election struct {
	since time.Time // the first refusal; zero: none yet
	round int
}

// findPrimary follows a refusal of the write region: it pauses, refreshes the
// topology, and returns the primary, which may be the same once more. A
// primary that changes meanwhile ends the pause. Retries of this kind are
// bounded by time, not by the number of attempts.
func (w *walk) findPrimary(refused regions.Index) (regions.Index, bool) {
	e, ctx := &w.election, w.request.Raw().Context()
	e.refused(time.Now())
	left := electionBudget - time.Since(e.since)
	if e.round == len(electionPauses) || left <= 0 {
		return regions.None, false
	}
	pause := min(electionPauses[e.round], left)
	e.round++
	w.attempts--
	w.reason, w.repeated = telemetry.Failover, false
	w.awaitPrimary(ctx, refused, pause)
	if ctx.Err() != nil {
		return regions.None, false
	}
	return w.planAgain(), true
}

// seekPrimary follows a write that its write region surely did not carry out:
// the account may have failed over since its topology was read, and a region
// that stays lost never answers the 403/3 that would tell. A topology that was
// read since the write began is awaited, once, and a new primary is asked.
func (w *walk) seekPrimary(lost regions.Index) (regions.Index, bool) {
	account, ctx := w.endpoint.account, w.request.Raw().Context()
	if w.replanned || w.attempts >= w.limit {
		return regions.None, false
	}
	w.replanned = true
	moved := func() bool { return account.topology.Load().Primary() != lost }
	if !w.awaitReading() && !moved() {
		if wait, ok := account.turn(time.Now()); ok && sleep(ctx, wait) {
			w.awaitReading()
		}
	}
	if ctx.Err() != nil || !moved() {
		return regions.None, false
	}
	w.reason, w.repeated = telemetry.Failover, false
	return w.planAgain(), true
}

// awaitReading reads the topology, or waits for the one who does, and reports
// whether the last reading is as young as the request.
func (w *walk) awaitReading() bool {
	if f := w.refresh(w.last, refreshInterval); f != nil {
		f.waitFresh(w.request.Raw().Context())
	}
	return w.endpoint.account.readSince(w.began)
}

// refused notes a refusal: the first one counts.
func (e *election) refused(at time.Time) {
	if e.since.IsZero() {
		e.since = at
	}
}

// awaitPrimary returns when the primary is another region than refused, or
// when the pause is over and a refresh after it is done or late.
func (w *walk) awaitPrimary(ctx context.Context, refused regions.Index, pause time.Duration) {
	account := w.endpoint.account
	changed := func() bool { return account.topology.Load().Primary() != refused }
	until := time.Now().Add(pause)
	if f := account.inFlight(); f != nil && pause > 0 {
		f.wait(ctx, pause)
	}
	if changed() || !sleep(ctx, time.Until(until)) {
		return
	}
	left := electionBudget - time.Since(w.election.since)
	if left <= 0 {
		return
	}
	if f := w.refresh(w.last, refreshInterval); f != nil {
		f.wait(ctx, min(refreshWait, left))
	}
}

// wait returns when the flight has ended, after at most d, or with the context.
func (f *flight) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// waitFresh waits for a flight until it is refreshWait old: one that hangs
// holds up the requests of that time only.
func (f *flight) waitFresh(ctx context.Context) {
	if left := refreshWait - time.Since(f.since); left > 0 {
		f.wait(ctx, left)
	}
}

// sleep pauses for d and reports whether the context lived to its end.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
