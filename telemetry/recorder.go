package telemetry

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options says where telemetry goes. The zero value is OpenTelemetry's global
// providers and no log.
//
// The providers are called on the goroutine of the request, or of the
// background work, that has something to tell, and no lock that another request
// waits for is held meanwhile: a provider that blocks holds up what it was
// called for and nothing else. A provider or a handler that panics does so on
// that goroutine; the panic is not hidden. On a request's goroutine the
// application may recover it, on one of ours (a topology refresh, a hedge's
// timer) it ends the process.
type Options struct {
	// TracerProvider makes the spans. Nil: the global one of OpenTelemetry, as
	// it is when a request passes, so an SDK may be installed later.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the instruments, once. Nil: the global one of
	// OpenTelemetry; its instruments start to work when an SDK is installed.
	MeterProvider metric.MeterProvider

	// Logger gets what changes seldom: transitions of the circuit breaker,
	// changes of write regions, of the topology and of the health of regions,
	// failed refreshes, unknown region names. Never a line per request. Of each
	// kind 50 lines at once and then one a second are written; the next line
	// tells how many were suppressed. Nil: none.
	Logger *slog.Logger
}

// Recorder turns what happened into spans, metrics and log lines, and remembers
// the last decisions. Make one with [New]; it is safe for concurrent use.
type Recorder struct {
	options Options
	cached  atomic.Pointer[source]
	meter   metric.Meter
	metrics *metrics
	log     log
	ring    ring
	hedging minutes // by the hedge numbers
}

// source is a tracer with the provider that it came from; its tracer is nil
// when that provider records nothing.
type source struct {
	provider trace.TracerProvider
	tracer   trace.Tracer
}

// New makes a Recorder.
func New(o Options) *Recorder {
	meters := o.MeterProvider
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	meter := meters.Meter(Scope)
	r := &Recorder{options: o, meter: meter, metrics: newMetrics(meter), hedging: newMinutes(hedgeNumbers)}
	r.log.logger = o.Logger
	if r.log.logger == nil {
		r.log.logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// tracer returns the tracer to use now, nil when nobody records.
func (r *Recorder) tracer() trace.Tracer {
	provider := r.options.TracerProvider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	if c := r.cached.Load(); c != nil && c.provider == provider {
		return c.tracer
	}
	s := &source{provider: provider}
	if !recordsNothing(provider) {
		s.tracer = provider.Tracer(Scope)
	}
	if reflect.TypeOf(provider).Comparable() {
		r.cached.Store(s)
	}
	return s.tracer
}

// recordsNothing knows the API's no-op provider, and the global one as it is
// until an SDK is installed; it has no exported type.
func recordsNothing(p trace.TracerProvider) bool {
	if _, ok := p.(noop.TracerProvider); ok {
		return true
	}
	t := reflect.TypeOf(p)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.HasPrefix(t.PkgPath(), "go.opentelemetry.io/otel/internal/global")
}

// unsampled reports a parent span that was decided not to be recorded: the
// children follow it, as with every parent-based sampler.
func unsampled(ctx context.Context) bool {
	parent := trace.SpanContextFromContext(ctx)
	return parent.IsValid() && !parent.IsSampled()
}

// Decided tells a decision: to the ring of the last ones, the metrics, the log
// and, as an event, the span of the operation that it was taken in, nil if it
// was none.
func (r *Recorder) Decided(s *OperationSpan, d Decision) {
	if d.At.IsZero() {
		d.At = time.Now()
	}
	ctx := s.context()
	if d.Kind != KindRefresh && d.Kind != KindRanges || d.failed() {
		r.ring.add(d)
	}
	r.metrics.decided(ctx, d)
	r.log.write(ctx, d)
	s.event(d)
}

// Decisions are the last 200 decisions, the newest first.
func (r *Recorder) Decisions() []DecisionState { return r.ring.list() }
