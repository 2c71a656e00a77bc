package policy

import (
	"context"
	"net/http"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// attempt sends the request to one region and judges what comes back.
func (w *walk) attempt(r regions.Index) answer {
	w.visit(r)
	if w.failover.on || w.asHub {
		w.failover.token = w.endpoint.account.ppaf.Begin(r)
	}
	raw := w.request.Raw()
	host := w.view.Topology().Host(r)
	// On the original request, whatever is sent: azcosmos marks what it sees there.
	raw.URL.Host, raw.Host = host, host

	a := answer{region: r, start: w.began}
	if w.answers > 0 {
		a.start = time.Now()
	}
	ctx, span := w.startAttempt(raw.Context(), r, a.start)
	a.response, a.err = w.send(ctx)
	return w.judged(a, span)
}

// judged is an attempt as it ended.
func (w *walk) judged(a answer, span *telemetry.AttemptSpan) answer {
	a.judge(w.request.Raw().Context(), w.kind, w.endpoint.options.Retry.RepeatWrites)
	endAttempt(span, a, w.lost.Load())
	w.countTraffic(a)
	if w.lost.Load() {
		// Whatever a transport that ignores cancellation still brings is neither
		// the region's success nor its failure.
		a.outcome, a.verdict = outcome{fault: cancelled}, verdict{}
	}
	return a
}

// visit counts an attempt.
func (w *walk) visit(r regions.Index) {
	w.visited = w.visited.With(r)
	w.attempts++
}

// judge completes an answer. The time is looked at only where it matters: a
// healthy request pays for one look at the clock.
func (a *answer) judge(caller context.Context, k kind, repeatWrites bool) {
	a.outcome = observe(caller, a.response, a.err)
	if a.outcome.fault != answered {
		a.end = time.Now()
		a.outcome.brief = a.end.Sub(a.start) < deadlineCounts
	}
	a.verdict = judge(k, a.outcome, repeatWrites)
}

// ended is when the answer came, about.
func (a *answer) ended() time.Time {
	if a.end.IsZero() {
		a.end = time.Now()
	}
	return a.end
}

// send passes the request on with a body reader of its own, and under a
// context of its own where one is needed. An attempt with a timeout is a deep
// copy: HTTP/2 may still be using it when it has been given up.
func (w *walk) send(ctx context.Context) (*http.Response, error) {
	if err := w.body.hand(w.request, w.endpoint.rewinds); err != nil {
		return nil, err
	}
	timeout := w.endpoint.options.Retry.AttemptTimeout
	switch {
	case timeout > 0:
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel() // the body is buffered when Next returns
		return w.request.Clone(ctx).Next()
	case ctx != w.request.Raw().Context():
		return w.request.WithContext(ctx).Next()
	default:
		return w.request.Next()
	}
}
