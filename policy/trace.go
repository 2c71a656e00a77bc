package policy

import (
	"context"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// tellPlan puts the applicable regions and the rule behind them on the span.
func (w *walk) tellPlan() {
	if w.span.Recording() {
		w.span.Planned(names(w.view.Topology(), w.list), w.rule.String())
	}
}

// startAttempt begins the span of an attempt, if the operation has one.
func (w *walk) startAttempt(ctx context.Context, r regions.Index, at time.Time) (context.Context, *telemetry.AttemptSpan) {
	if w.info.Metadata() && w.answers == 1 {
		ctx = w.traceMetadata(ctx)
	}
	if w.span == nil {
		return ctx, nil
	}
	return w.span.StartAttempt(ctx, w.told(r, w.reason, at))
}

// traceMetadata begins the span of a metadata read that has to leave its first
// region, and tells the attempt that it has already made.
func (w *walk) traceMetadata(ctx context.Context) context.Context {
	start := w.start()
	start.At = w.first.start
	ctx, w.span = w.endpoint.observer.StartOperation(ctx, start)
	if w.span == nil {
		return ctx
	}
	w.request = w.request.WithContext(ctx) // the attempts after this one nest there too
	w.tellPlan()
	_, span := w.span.StartAttempt(ctx, w.told(w.first.region, telemetry.Initial, w.first.start))
	result := resultOf(w.first.response, w.first.err)
	result.At = w.first.ended()
	span.End(result)
	return ctx
}

// endMetadata ends the span of a metadata read, which PerCall does not know of.
func (w *walk) endMetadata(a answer) {
	if w.info.Metadata() && w.span != nil {
		w.span.End(resultOf(a.response, a.err))
		w.span = nil
	}
}

func (w *walk) told(r regions.Index, reason telemetry.Reason, at time.Time) telemetry.Attempt {
	t := w.view.Topology()
	return telemetry.Attempt{Region: t.Name(r), Host: t.Host(r), Reason: reason, At: at}
}
