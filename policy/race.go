package policy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// race is an operation that may be hedged. The first leg is the walk, on the
// caller's goroutine; an alarm starts the hedges, which share nothing with the
// walk but the regions that were asked and what the mutex guards.
type race struct {
	walk       *walk // nil while the first leg goes the straight way
	made       *walk // the walk, if it was made when that ended
	straight   straight
	caller     context.Context
	leg        *legContext   // of the first leg
	request    *http.Request // the caller's
	copied     bool          // the first leg has a copy of it
	header     []field       // of the request, before the first leg began
	url        url.URL       // likewise
	method     string
	list       regions.List
	candidates regions.Set
	alarm      *alarm // wakes the race
	alone      bool   // it will not any more, and no other goroutine has seen the race

	mutex  sync.Mutex // guards what follows
	state  hedge.Race
	ticked bool               // the alarm has gone off
	legs   []answer           // of the hedges; blank while in flight, and for good once the race is over
	won    answer             // of the hedge that won
	hedged context.Context    // of the hedges; nil before the first
	cancel context.CancelFunc // ends them
	over   chan struct{}      // closed at the end, made when the first leg has to wait for it

	// Guarded by the alarm.
	due   time.Time
	place int // in its heap, from 1; 0: not waiting
}

// races keeps those that were never hedged: armed and not fired is the usual
// case, and should cost little.
var races = sync.Pool{New: func() any { return new(race) }}

// raced prepares the race of an operation that may be hedged, nil when it may not.
func (w *walk) raced() *race {
	given, some := hedge.FromContext(w.request.Raw().Context())
	options := w.endpoint.options.Hedge.Merge(given, some)
	if options.Disabled || !w.endpoint.sends || w.hedged {
		return nil
	}
	candidates := hedge.Candidates(w.list, w.never)
	query := hedge.Query{
		Document:        w.circuit.document,
		Write:           w.kind.write(),
		MultiWrite:      w.kind == multiWriteWrite || w.kind == multiWriteRead,
		AccountDisabled: w.view.Topology().HedgingForbidden(),
		Candidates:      candidates.Len(),
	}
	caller := w.request.Raw().Context()
	until, bounded := caller.Deadline()
	schedule, reason := hedge.Plan(options, query, w.began, until, bounded)
	if reason != hedge.ReasonNone {
		w.tellWithheld(reason)
		return nil
	}
	r := newRace(w.request.Raw(), schedule)
	r.walk, r.list, r.candidates = w, w.list, candidates
	return r
}

// newRace makes the race of a request that has not been sent. The walk, and
// policies behind ours, write to its headers and URL: copies would be the dearest
// part of a race that is not run. So what hedges need of them is noted.
func newRace(raw *http.Request, schedule hedge.Schedule) *race {
	r := races.Get().(*race)
	r.caller, r.state = raw.Context(), hedge.MakeRace(schedule)
	r.leg = &legContext{Context: r.caller}
	for name, values := range raw.Header {
		r.header = append(r.header, field{name, values})
	}
	r.url, r.method = *raw.URL, raw.Method
	return r
}

// run runs the walk under a context that a winning hedge can end, and returns
// the first final answer, or the walk's when there is none.
func (r *race) run() (*http.Response, error) {
	w := r.walk
	w.request = r.firstLeg(w.request, w.endpoint.binding)
	r.arm(&w.endpoint.alarms, w.began)
	defer r.end()
	return r.decide(w.run())
}

// arm sets the alarm for the first hedge.
func (r *race) arm(a *alarms, began time.Time) {
	wait, _ := r.state.Next(began)
	r.alarm = a.of(began)
	r.alarm.add(r, began.Add(wait), began)
}

// quit takes the race from the alarm, and reports whether no other goroutine has
// seen the race: then the mutex guards nothing.
func (r *race) quit() bool {
	r.alone = r.alone || r.alarm.remove(r) && !r.ticked && r.hedged == nil
	return r.alone
}

// end stops the alarm and the legs that are still in flight. When no other
// goroutine has seen the race, it goes back to the pool. A walk that was made
// for it is given back.
func (r *race) end() {
	alone := r.quit()
	if !alone {
		r.abandon()
	}
	r.leave() // after abandon: no hedge wins any more
	made := r.made
	if alone {
		clear(r.header)
		header := r.header[:0]
		*r = race{}
		r.header = header
		races.Put(r)
	}
	if made != nil {
		made.free()
	}
}

// abandon cancels what is in flight. Afterwards the alarm does nothing any more.
func (r *race) abandon() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.state.Stop(false) // after a panic of the walk; otherwise it is over
	if r.walk != nil {
		r.walk.shared = true
	}
	if r.cancel != nil {
		r.cancel()
	}
}

// tick starts the hedges that are due.
func (r *race) tick() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.ticked = true
	if r.caller.Err() != nil || r.state.Over() {
		return
	}
	r.join()
	for r.state.Tick(time.Now()) == hedge.Start {
		r.move(hedge.Start)
	}
	now := time.Now()
	if wait, more := r.state.Next(now); more {
		r.alarm.add(r, now.Add(wait), now)
	}
}

// move does what the race asks for. The caller holds the mutex.
func (r *race) move(m hedge.Move) {
	for m == hedge.Start {
		m = r.start()
	}
	if r.state.Over() && r.over != nil {
		close(r.over)
		r.over = nil
	}
}

// start sends the next hedge to the first candidate that nobody has asked. The
// caller holds the mutex.
func (r *race) start() hedge.Move {
	budget := r.walk.endpoint.budget
	if !budget.Acquire() {
		r.walk.tellWithheld(hedge.ReasonBudget)
		return r.state.Withheld(hedge.ReasonBudget)
	}
	region, ok := r.walk.claims.Next(r.list, r.candidates)
	if !ok {
		budget.Release()
		r.walk.tellWithheld(hedge.ReasonNoRegion)
		return r.state.Withheld(hedge.ReasonNoRegion)
	}
	if r.hedged == nil {
		r.hedged, r.cancel = context.WithCancel(r.caller)
	}
	leg := hedgeLeg{race: r, number: r.state.Sent(), request: r.copy(), answer: answer{region: region, start: time.Now()}}
	r.legs = append(r.legs, leg.answer)
	r.walk.tellHedge(region)
	go leg.run(r.hedged)
	return hedge.Wait
}

// ended notes the answer of a hedge.
func (r *race) ended(leg int, a answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.caller.Err() != nil || r.state.Over() {
		return // it was cancelled, whatever it brings
	}
	r.legs[leg-1] = a
	m := r.state.Ended(leg, a.final())
	if m == hedge.Return && r.state.Winner() == leg {
		r.won = a
		r.walk.lost.Store(true)
		r.leg.finish()
		r.cancel()
	}
	r.move(m)
}

// final reports whether an answer ends the race.
func (a answer) final() bool {
	return a.response != nil && hedge.Final(a.outcome.status, a.outcome.sub)
}

// decide returns the answer for the caller once the first leg has ended.
func (r *race) decide(response *http.Response, err error) (*http.Response, error) {
	r.mutex.Lock()
	if r.caller.Err() == nil {
		r.move(r.state.Ended(hedge.First, r.walk.answer().final()))
	}
	if over := r.wait(); over != nil {
		r.mutex.Unlock()
		select {
		case <-over:
		case <-r.caller.Done():
		}
		r.mutex.Lock()
	}
	defer r.mutex.Unlock()
	return r.settle(response, err)
}

// wait returns what to wait for while hedges are in flight, nil when the race
// is over. The caller holds the mutex.
func (r *race) wait() <-chan struct{} {
	if r.state.Over() || r.caller.Err() != nil {
		return nil
	}
	r.over = make(chan struct{})
	return r.over
}

// settle ends the race and returns the winner's answer. The caller holds the mutex.
func (r *race) settle(response *http.Response, err error) (*http.Response, error) {
	if cause := r.caller.Err(); cause != nil && !r.state.Over() {
		r.state.Stop(errors.Is(cause, context.DeadlineExceeded))
	}
	w := r.walk
	w.tellRace(&r.state, r.won.region)
	if len(r.legs) > 0 {
		w.hedged = true
		r.countHedges()
	}
	if r.state.Winner() == hedge.First {
		r.pointTo(w.last.region)
		return response, err
	}
	r.pointTo(r.won.region)
	w.tellAnswer(r.won.region)
	if r.state.Slow() {
		w.countSlowWin(r.won)
	}
	w.rememberPage(r.won)
	response, err = deliverAnswer(r.won)
	if !r.copied {
		w.terminal = err
	}
	return response, err
}
