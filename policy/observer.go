package policy

import (
	"context"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/given"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// observer is all that this package knows of telemetry: what happened is told
// to it as values, and nothing comes back but the context of a span, and what
// a state page shows of it. Operation spans may be nil, which records nothing
// and costs nothing. No lock that another request waits for is held while it
// is called: behind it are an application's tracer, meter and logger.
type observer interface {
	// Wants reports whether anything of an operation would be recorded. While
	// it is false, a healthy operation costs nothing more.
	Wants(ctx context.Context) bool
	// Listens reports whether a tracer or a meter records anything of any operation.
	Listens() bool
	// StartOperation begins one routed operation in s. The returned context
	// carries its span; it is ctx itself when there is none.
	StartOperation(ctx context.Context, s *telemetry.OperationSpan, o telemetry.OperationStart) (context.Context, *telemetry.OperationSpan)
	// StartProbe begins a shadow probe, with a span of its own that is linked to
	// the operation that it copies.
	StartProbe(ctx context.Context, o telemetry.OperationStart, a telemetry.Attempt) (context.Context, telemetry.AttemptSpan)
	// Decided tells a decision other than the ordinary plan, and the operation
	// that it was taken in, nil if it was none.
	Decided(s *telemetry.OperationSpan, d telemetry.Decision)

	// HedgeStarted, HedgeWithheld and Raced tell how hedging goes.
	HedgeStarted(s *telemetry.OperationSpan, d telemetry.Decision)
	HedgeWithheld(s *telemetry.OperationSpan, d telemetry.Decision)
	Raced(s *telemetry.OperationSpan, state string, sent int, won bool, d telemetry.Decision)

	// Observe lets the meter read gauges until stop is called.
	Observe(read func() telemetry.Gauges) (stop func())
	// Decisions and Hedging are for the state page.
	Decisions() []telemetry.DecisionState
	Hedging(now time.Time) telemetry.HedgingState
}

// lookInterval is how long it may take until healthy requests are recorded by
// a tracer or meter that was installed after the account was read: a second,
// which nobody notices who installs one by hand.
const lookInterval = time.Second

// look looks whether anybody listens, and at the time.
func (b *binding) look() time.Time {
	now := time.Now()
	b.looked.Store(&now)
	if b.observer.Listens() {
		b.recorded.Store(true)
	}
	return now
}

// now is the time, for healthy requests: once in a lookInterval they look.
// In between the monotonic clock tells how long ago that was. Looking at both
// clocks, and asking who listens, would be the dearest parts of such a read.
func (b *binding) now() time.Time {
	if last := b.looked.Load(); last != nil {
		if since := time.Since(*last); 0 <= since && since < lookInterval {
			return last.Add(since)
		}
	}
	return b.look()
}

// records reports whether anything of a request may be recorded.
func (b *binding) records(ctx context.Context) bool {
	return b.recorded.Load() && b.observer.Wants(ctx) || given.Has(given.Record) && telemetry.Asked(ctx)
}
