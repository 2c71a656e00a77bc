package policy

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// hedgeLeg is one hedge: one attempt, pinned to its region. It runs beside the
// walk and reads of it only what does not change.
type hedgeLeg struct {
	race    *race
	number  int
	request privateRequest
	answer
}

// field is one header. Its values are never changed in place, only replaced.
type field struct {
	name   string
	values []string
}

// copy makes a request like the first leg's before the race.
func (r *race) copy() privateRequest {
	address := r.url
	return privateRequest{&http.Request{Method: r.method, URL: &address, Header: r.headers()}, r.walk.body}
}

// headers are those of the request before the race.
func (r *race) headers() http.Header {
	h := make(http.Header, len(r.header))
	for _, f := range r.header {
		h[f.name] = f.values
	}
	return h
}

// run sends the hedge on a goroutine of its own and tells the race how it ended.
func (l hedgeLeg) run(ctx context.Context) {
	w := l.race.walk
	told := w.told(l.region, telemetry.Hedge, time.Time{})
	attempt, span := w.span.StartAttempt(ctx, told)
	l.response, l.err = l.send(attempt, told.Host)
	l.judge(ctx, w.kind, false)
	endAttempt(&span, l.answer, lostTo(ctx, l.race.caller))
	l.note()
	w.endpoint.budget.Release() // before the race is told: the hedge that follows may need the place
	l.race.ended(l.number, l.answer)
}

// send makes the attempt, within the time that every attempt has. A transport
// that panics costs the hedge only: on this goroutine nobody else could recover
// it.
func (l hedgeLeg) send(ctx context.Context, host string) (response *http.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			response, err = nil, fmt.Errorf("azcosmos-ha: panic in a hedge: %v", r)
		}
	}()
	w := l.race.walk
	if timeout := w.endpoint.options.Retry.AttemptTimeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel() // the body is buffered by then
	}
	return l.request.send(ctx, w.endpoint.private, host)
}

// note puts the effects of the answer where the next requests see them. What
// the breaker is to know of it, the race tells.
func (l hedgeLeg) note() {
	w, v := l.race.walk, l.verdict
	account := w.endpoint.account
	if v.mark {
		account.mark(w.span, l.answer, w.kind.write())
	}
	if v.forgetRanges {
		account.forgetRanges(w.info.ContainerLink)
	}
	switch {
	case v.refresh:
		account.refresh(time.Now(), refreshInterval)
	case v.mark:
		account.refresh(time.Now(), suspicionInterval)
	}
}

// countHedges tells the breaker how the hedges ended, under the partition that
// the walk knows the request by. The caller's deadline counts against those in
// flight, as it does against an attempt of the walk. The caller holds the mutex.
func (r *race) countHedges() {
	w, cause := r.walk, r.caller.Err()
	for _, a := range r.legs {
		if a.response == nil && a.err == nil && cause != nil {
			a.err = cause
			a.judge(r.caller, w.kind, false)
		}
		event := eventOf(a.verdict.signal)
		if !w.circuit.on || event == breaker.Abandoned || (event == breaker.Success && w.endpoint.account.breaker.Empty()) {
			continue
		}
		w.partition()
		w.learnRange(a.response)
		w.circuit.waiting = append(w.circuit.waiting, counted{a.region, event, a.ended()})
	}
	if w.circuit.waiting != nil {
		w.learnRange(w.last.response)
	}
}

// countSlowWin tells the breaker that a hedge won against the region that the
// first leg was waiting for.
func (w *walk) countSlowWin(won answer) {
	if w.circuit.own && w.circuit.probed == w.last.region {
		w.endProbe(breaker.Failure, time.Now()) // a region that is probed and lets a hedge win is not well
		return
	}
	if !w.circuit.on {
		return
	}
	w.partition()
	w.learnRange(won.response)
	w.circuit.waiting = append(w.circuit.waiting, counted{w.last.region, breaker.SlowWin, time.Now()})
}
