package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Attempt is one request to one region.
type Attempt struct {
	Region string // as the account spells it
	Host   string // of the region's endpoint, with or without a port
	Reason Reason
	At     time.Time // when it was sent; zero: now
}

// AttemptSpan is an attempt in flight. The zero value records nothing.
type AttemptSpan struct {
	recorder  *Recorder
	ctx       context.Context
	operation *OperationSpan // nil: a probe
	span      trace.Span     // nil: not traced
	place     int            // in the operation's record
	attempt   Attempt
	start     OperationStart // of a probe
}

// StartAttempt begins an attempt and returns a context that carries its span.
// It returns ctx and the zero value when nothing records.
func (s *OperationSpan) StartAttempt(ctx context.Context, a Attempt) (context.Context, AttemptSpan) {
	if s == nil {
		return ctx, AttemptSpan{}
	}
	if a.At.IsZero() {
		a.At = time.Now()
	}
	s.mutex.Lock()
	if n := len(s.contacted); !s.ended && (n == 0 || s.contacted[n-1] != a.Region) {
		s.contacted = append(s.contacted, a.Region)
	}
	traced := s.span != nil
	s.mutex.Unlock()
	t := AttemptSpan{recorder: s.recorder, operation: s, attempt: a, place: s.record.contact(a)}
	if traced {
		ctx, t.span = s.startSpan(ctx, a)
	}
	t.ctx = ctx
	return ctx, t
}

func (s *OperationSpan) startSpan(ctx context.Context, a Attempt, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	list := append(make([]attribute.KeyValue, 0, 4), AttrRegion.String(a.Region), AttrReason.String(string(a.Reason)))
	options = append(options, asClient, trace.WithAttributes(append(list, server(a.Host)...)...))
	return s.recorder.tracer().Start(ctx, "attempt "+a.Region, options...)
}

// StartProbe begins a shadow probe: its span is a root of its own, because it
// outlives the operation, with a link to the span in ctx.
func (r *Recorder) StartProbe(ctx context.Context, o OperationStart, a Attempt) (context.Context, AttemptSpan) {
	if a.At.IsZero() {
		a.At = time.Now()
	}
	t := AttemptSpan{recorder: r, ctx: ctx, attempt: a, start: o}
	tracer := r.tracer()
	if tracer == nil || unsampled(ctx) {
		return ctx, t
	}
	attributes := append(o.attributes(), AttrRegion.String(a.Region), AttrReason.String(string(a.Reason)))
	ctx, t.span = tracer.Start(ctx, "probe "+a.Region, trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)),
		asClient, trace.WithAttributes(attributes...))
	t.ctx = ctx
	return ctx, t
}

// Recording reports whether End has anybody to tell.
func (t AttemptSpan) Recording() bool { return t.recorder != nil }

// End ends the attempt. An answer that comes after the operation's end cost
// request units that no caller got anything for, as a probe's does.
func (t AttemptSpan) End(r Result) {
	if t.recorder == nil {
		return
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	start, late := t.start, true
	if s := t.operation; s != nil {
		start = s.start
		s.mutex.Lock()
		late = s.ended
		s.charge += r.Charge
		s.mutex.Unlock()
		s.record.contacted(t.place, r)
	}
	t.recorder.metrics.attempt(t.ctx, start.Name, t.attempt, r, r.At.Sub(t.attempt.At))
	if late {
		t.recorder.metrics.extraCharge(t.ctx, start, r.Charge)
	}
	if t.span == nil {
		return
	}
	list := make([]attribute.KeyValue, 0, 4)
	if r.Charge > 0 {
		list = append(list, AttrCharge.Float64(r.Charge))
	}
	endSpan(t.span, r, list)
}
