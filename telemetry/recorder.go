package telemetry

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options says where telemetry goes. The zero value is OpenTelemetry's global
// tracer provider and no log.
type Options struct {
	// TracerProvider makes the spans. Nil: the global one of OpenTelemetry, as
	// it is when a request passes, so an SDK may be installed later.
	TracerProvider trace.TracerProvider

	// Logger gets what changes rarely: topology changes, failed refreshes,
	// unknown region names. Never a line per request. Nil: none.
	Logger *slog.Logger
}

// Recorder turns what happened into spans and log lines. Make one with [New];
// it is safe for concurrent use.
type Recorder struct {
	options Options
	cached  atomic.Pointer[source]
	logger  *slog.Logger
}

// source is a tracer with the provider that it came from; its tracer is nil
// when that provider records nothing.
type source struct {
	provider trace.TracerProvider
	tracer   trace.Tracer
}

// New makes a Recorder.
func New(o Options) *Recorder {
	r := &Recorder{options: o, logger: o.Logger}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
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

// Topology is an account's regions, as they stand from now on.
type Topology struct {
	Account    string   // host of the client endpoint
	Readable   []string // in the service's order
	Writable   []string // the first is the write region
	MultiWrite bool
	Ignored    []string // parts of the account's answer that could not be used, and why
}

// TopologyChanged tells a new topology of an account.
func (r *Recorder) TopologyChanged(t Topology) {
	r.logger.Info("cosmos.ha topology changed", "account", t.Account, "readable", t.Readable,
		"writable", t.Writable, "multi_write", t.MultiWrite, "ignored", t.Ignored)
}

// RefreshEnded tells the end of a topology refresh; only a failure is worth a line.
func (r *Recorder) RefreshEnded(account string, err error) {
	if err != nil {
		r.logger.Warn("cosmos.ha topology refresh failed", "account", account, "error", err)
	}
}

// RangesLoaded tells the end of a reading of a container's partition key
// ranges; only a failure is worth a line.
func (r *Recorder) RangesLoaded(account string, err error) {
	if err != nil {
		r.logger.Warn("cosmos.ha partition key ranges not read", "account", account, "error", err)
	}
}

// BreakerChange is a region that the circuit breaker opened, tries again or
// closed for one partition.
type BreakerChange struct {
	Account   string // host of the client endpoint
	Container string // its link, "" when it is not known
	Partition string // its range, or a hash of the logical partition key
	Region    string
	Write     bool // for writes; else for reads
	From, To  string
	Cause     string
	Failures  int           // that led to it
	OpenFor   time.Duration // until the next probe, 0 unless the region was opened
}

// BreakerChanged tells a transition of the circuit breaker.
func (r *Recorder) BreakerChanged(c BreakerChange) {
	r.logger.Info("cosmos.ha circuit breaker", "account", c.Account, "container", c.Container, "partition", c.Partition,
		"region", c.Region, "write", c.Write, "from", c.From, "to", c.To, "cause", c.Cause,
		"failures", c.Failures, "open_for", c.OpenFor)
}

// FailoverChange is a change of one partition's write region.
type FailoverChange struct {
	Account   string // host of the client endpoint
	Container string // its link, "" when it is not known
	Partition string // its range, or a hash of the logical partition key
	Kind      string // set, moved, dropped, cleared, or slow: writes start elsewhere, nothing is confirmed
	From, To  string // regions, "" for the account's write region
	Cause     string
}

// FailoverChanged tells a change of a partition's write region.
func (r *Recorder) FailoverChanged(c FailoverChange) {
	r.logger.Info("cosmos.ha partition failover", "account", c.Account, "container", c.Container, "partition", c.Partition,
		"kind", c.Kind, "from", c.From, "to", c.To, "cause", c.Cause)
}

// UnknownRegion tells a preferred or excluded region that the account does not have.
func (r *Recorder) UnknownRegion(name string) {
	r.logger.Warn("cosmos.ha unknown region ignored", "region", name)
}

// PreferredRegionsDiffer tells that the middleware's preferred regions win
// over different ones in the client's options.
func (r *Recorder) PreferredRegionsDiffer(ours, clients []string) {
	r.logger.Warn("cosmos.ha preferred regions of the client are overruled", "used", ours, "client", clients)
}
