package policy

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// tellPlan tells the applicable regions and what they depend on.
func (w *walk) tellPlan(p regions.Plan, opened regions.List) {
	t := w.view.Topology()
	if w.span.Recording() {
		told := telemetry.Plan{
			Applicable: names(t, w.list),
			Rule:       p.Rule.String(),
			Fallback:   p.Fallback,
			Opened:     names(t, opened),
			Override:   t.Name(w.override()),
		}
		for r := range regions.Index(regions.MaxRegions) {
			if w.excluded.Has(r) {
				told.Excluded = append(told.Excluded, t.Name(r))
			}
		}
		w.span.Planned(told)
	}
	if p.Fallback {
		w.decided(telemetry.Decision{Kind: telemetry.KindFallback, Region: t.Name(w.list.First()), Cause: p.Rule.String()})
	}
}

// decided tells a decision of this operation.
func (w *walk) decided(d telemetry.Decision) { w.endpoint.observer.Decided(w.span, w.about(d)) }

// about completes a decision with what it is about.
func (w *walk) about(d telemetry.Decision) telemetry.Decision {
	d.Account, d.Operation, d.Container, d.Write = w.endpoint.account.host, w.info.Name(), w.info.ContainerLink, w.kind.write()
	return d
}

// startAttempt begins an attempt of the walk, and tells why it is made if it is
// not the first. It returns nil when nothing of it is recorded.
func (w *walk) startAttempt(ctx context.Context, r regions.Index, at time.Time) (context.Context, *telemetry.AttemptSpan) {
	if w.answers > 0 {
		ctx = w.tellRetry(ctx, r)
	}
	if w.span == nil {
		return ctx, nil
	}
	ctx, *w.sent = w.span.StartAttempt(ctx, w.told(r, w.reason, at))
	return ctx, w.sent
}

// tellRetry tells that the walk goes on after an answer. A metadata read gets
// its span only now: azcosmos reads metadata in the background too, where a
// span would be a root that belongs to nobody.
func (w *walk) tellRetry(ctx context.Context, r regions.Index) context.Context {
	if w.info.Metadata() && w.span != nil && w.answers == 1 {
		result := resultOf(w.first.response, w.first.err)
		result.At = w.first.ended()
		ctx = w.span.Wake(ctx, w.told(w.first.region, telemetry.Initial, w.first.start), result)
		w.request = w.request.WithContext(ctx) // the attempts after this one nest there too
	}
	t := w.view.Topology()
	w.decided(telemetry.Decision{
		Kind: telemetry.KindRetry, From: t.Name(w.last.region), To: t.Name(r),
		Cause: w.last.brief(), Change: string(w.reason),
	})
	return ctx
}

// brief is an answer in short: its status and sub-status, or why there was none.
func (a answer) brief() string {
	switch {
	case a.outcome.fault != answered:
		return classOf(a.err)
	case a.outcome.sub != 0:
		return fmt.Sprintf("%d/%d", a.outcome.status, a.outcome.sub)
	default:
		return strconv.Itoa(a.outcome.status)
	}
}

// endAttempt tells how an attempt of the walk ended. lost: a hedge was first.
func endAttempt(span *telemetry.AttemptSpan, a answer, lost bool) {
	if span == nil {
		return
	}
	r := resultOf(a.response, a.err)
	if lost && a.response == nil {
		r.Class = telemetry.ErrorLost
	}
	span.End(r)
}

// tellAnswer tells the region whose answer the caller gets.
func (w *walk) tellAnswer(r regions.Index) {
	if w.span != nil {
		w.span.Answered(w.view.Topology().Name(r))
	}
}

func (w *walk) told(r regions.Index, reason telemetry.Reason, at time.Time) telemetry.Attempt {
	t := w.view.Topology()
	return telemetry.Attempt{Region: t.Name(r), Host: t.Host(r), Reason: reason, At: at}
}

// refresh asks for a topology refresh because of what the last answer said.
func (w *walk) refresh(because answer, interval time.Duration) *flight {
	f := w.endpoint.account.refresh(time.Now(), interval)
	if f != nil && w.span.Recording() {
		w.span.RefreshAsked(w.endpoint.account.host, because.brief())
	}
	return f
}

// tellTransition tells a change of the circuit breaker that this operation
// brought about.
func (w *walk) tellTransition(t breaker.Transition) { w.endpoint.account.tell(w.span, t) }

// tellWithheld tells why the operation, or one hedge of it, is not hedged.
func (w *walk) tellWithheld(reason hedge.Reason) {
	if reason == hedge.ReasonOff && w.span == nil {
		return
	}
	w.endpoint.observer.HedgeWithheld(w.span, w.about(telemetry.Decision{Cause: reason.String()}))
}

// tellHedge tells a hedge that is on its way.
func (w *walk) tellHedge(r regions.Index) {
	w.endpoint.observer.HedgeStarted(w.span, w.about(telemetry.Decision{Region: w.view.Topology().Name(r)}))
}

// tellRace tells how the race ended.
func (w *walk) tellRace(s *hedge.Race, won regions.Index) {
	if w.span == nil && s.Hedges() == 0 {
		return
	}
	t := w.view.Topology()
	w.endpoint.observer.Raced(w.span, s.State().String(), s.Hedges(), s.State() == hedge.StateHedgeWon,
		w.about(telemetry.Decision{Region: t.Name(won), From: t.Name(w.last.region)}))
}
