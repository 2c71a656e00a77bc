package simulation

import (
	"context"
	"slices"
	"testing/synctest"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Callers of the driver itself, beside those of the world.
const (
	warmCaller  = -1 - iota // the first read, before anything happens
	healCaller              // after everything has healed
	quietCaller             // after the quiet hour
)

// heal ends every fault, and calls until the middleware has let every region
// back: the rate at which it does is its own, the calls only give it occasion.
func (e *environment) heal(ctx context.Context) {
	e.mend()
	synctest.Wait()
	e.Healed = time.Now()
	e.AtHeal = e.ha.State()
	time.Sleep(10 * time.Second) // probes and refreshes in flight end
	c := &caller{number: healCaller}
	for i := range recoveryRounds {
		e.everyKey(ctx, c)
		if s := e.ha.State(); i >= 3 && !opened(s) || !unwell(s) {
			break
		}
		time.Sleep(15 * time.Second)
	}
	e.everyKey(ctx, c)
}

// mend ends every fault, and what hangs.
func (e *environment) mend() {
	e.gateway.RemoveAll()
	e.gateway.MoveRange("items", "", "")
	for _, id := range append(e.gateway.Ranges("items"), e.everyRange()...) {
		e.gateway.MoveRange("items", id, "")
	}
	for _, r := range append([]string{"global"}, allRegions...) {
		e.gateway.SetLatency(r, time.Duration(e.Account.Latency[r]))
		e.gateway.Down(r) // ends what hangs
	}
	for _, r := range append([]string{"global"}, allRegions...) {
		e.gateway.Up(r)
	}
}

// recoveryRounds are enough for the longest opening there is, 20 minutes and a
// quarter.
const recoveryRounds = 110

// opened tells whether some region is opened. One that has been due for a probe
// for five minutes is a partition's that nobody names any more.
func opened(s telemetry.State) bool {
	for _, a := range s.Accounts {
		for _, p := range a.Unwell {
			if p.NextProbe != nil && p.NextProbe.After(s.At.Add(-5*time.Minute)) {
				return true
			}
		}
	}
	return false
}

// unwell tells whether the breaker holds anything.
func unwell(s telemetry.State) bool {
	return slices.ContainsFunc(s.Accounts, func(a telemetry.AccountState) bool { return a.UnwellCount > 0 })
}

// everyKey reads and writes every partition key once.
func (e *environment) everyKey(ctx context.Context, c *caller) {
	for k := range e.keys() {
		e.call(ctx, c, c.calls, Call{Op: Upsert, Key: k, Deadline: Duration(time.Minute), Hedge: HedgeOff})
		e.call(ctx, c, c.calls, Call{Op: Read, Key: k, Deadline: Duration(time.Minute), Hedge: HedgeOff})
	}
}

// quiet lets an hour pass without a call. Then some calls are made, since the
// middleware looks at the time only when a request passes, and gets six minutes to
// read the account again. Silent reads come last: they go the straight way then, but
// for hedges, which may leave something behind.
func (e *environment) quiet(ctx context.Context) {
	time.Sleep(time.Hour)
	c := &caller{number: quietCaller}
	for range 4 {
		e.everyKey(ctx, c)
		time.Sleep(2 * time.Minute)
	}
	e.AtEnd = e.ha.State()
	for k := range e.keys() {
		e.call(ctx, c, c.calls, Call{Op: Read, Key: k, Deadline: Duration(time.Minute), Silent: true})
	}
}

// everyRange are the ids that ranges can have had by now: splits give higher ones.
func (e *environment) everyRange() []string {
	list := make([]string, 0, 128)
	for i := range max(e.Account.Ranges, 1) + 2*len(e.Events) {
		list = append(list, itoa(i))
	}
	return list
}
