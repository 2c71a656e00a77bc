package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// hedgeComes: a read that its first region keeps longer than the threshold is
// hedged at that moment (package hedge). Judged where nothing stands in the
// way of a hedge: an account and a client without exceptions, no region excluded
// or opened, and time left.
func hedgeComes(e *evidence, fail report) {
	if !e.hedgesFreely() {
		return
	}
	list := e.openings()
	for _, o := range e.operations {
		if o.result.Start.IsZero() || o.write() || o.passes() > 1 || !e.mayHedge(o) || e.lacksRegions(o, list) {
			continue
		}
		due := o.attempts[0].At.Add(e.threshold(o))
		if o.waitsAt(due) && !o.hedgedAt(due) {
			fail("no hedge at %v: %v", due.Format("04:05.000"), o)
		}
	}
}

// hedgesFreely tells an account that never changes and a client without limits.
func (e *evidence) hedgesFreely() bool {
	return len(e.states) == 1 && len(e.base(e.states[0])) > 1 && e.Client.MaxInFlight == 0 && e.Client.AttemptTimeout == 0
}

// lacksRegions tells an operation that may not go everywhere.
func (e *evidence) lacksRegions(o *operation, list []opening) bool {
	excluded, _ := e.excludedBy(o.result)
	return len(excluded) > 0 || slices.ContainsFunc(e.states[0].regions, func(r string) bool { return o.result.opened(list, r, false) })
}

// waitsAt tells whether an operation still waited for its first region at a
// moment, and for no other.
func (o *operation) waitsAt(t time.Time) bool {
	r := o.result
	cancelled := r.Cancel > 0 && !r.Start.Add(time.Duration(r.Cancel)).After(t)
	return o.attempts[0].end().After(t) && r.Until.After(t) && !cancelled && (len(o.attempts) == 1 || !o.attempts[1].At.Before(t))
}

// hedgeFollows: when a hedge fails, the next one is sent at that moment, and finds
// the place in the budget that the first one had (package hedge). Judged of the
// first hedge, before another one is due, where one caller makes all the hedges.
func hedgeFollows(e *evidence, fail report) {
	if len(e.states) > 1 || len(e.base(e.states[0])) < 3 || e.Client.MaxHedges == 1 || e.Client.AttemptTimeout > 0 || len(e.Callers) > 1 {
		return
	}
	list := e.openings()
	for _, o := range e.operations {
		end, failed := e.firstHedgeFailed(o)
		if failed && !o.hedgedAt(end) && e.mayHedge(o) && !e.lacksRegions(o, list) {
			fail("no hedge at %v: %v", end.Format("04:05.000"), o)
		}
	}
}

// hedgedAt tells whether a hedge was sent at a moment.
func (o *operation) hedgedAt(t time.Time) bool {
	return slices.ContainsFunc(o.attempts, func(a attempt) bool { return a.reason == string(telemetry.Hedge) && a.At.Equal(t) })
}

// firstHedgeFailed tells whether the first hedge failed while the first region was
// still awaited, and before the second one was due, and when.
func (e *evidence) firstHedgeFailed(o *operation) (end time.Time, failed bool) {
	if !slices.Contains([]Op{Read, Query}, o.result.Op) || o.passes() > 1 || len(o.attempts) < 2 || o.attempts[1].reason != string(telemetry.Hedge) {
		return end, false
	}
	first, h, r := o.attempts[0], o.attempts[1], o.result
	end = h.end()
	step := time.Duration(cmp.Or(e.Client.Step, Duration(500*time.Millisecond)))
	cancelled := r.Cancel > 0 && !r.Start.Add(time.Duration(r.Cancel)).After(end)
	early := end.Before(first.At.Add(e.threshold(o)+step)) && first.end().After(end) && r.Until.After(end)
	return end, early && !cancelled && h.failedItself()
}

// failedItself tells an attempt that failed and was neither given up nor told by a
// final 408 that the caller's own bound was not met.
func (a attempt) failedItself() bool { return a.failed() && !a.Cancelled && a.SubStatus != 21013 }
