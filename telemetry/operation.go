package telemetry

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// OperationStart is what is known of an operation before it is routed.
type OperationStart struct {
	Name                string // db.operation.name, such as read_item
	Database, Container string // ids, "" when the operation has none
	Server              string // host of the client endpoint, with or without a port
	Write               bool
	At                  time.Time // when it began; zero: now
}

// Attempt is one request to one region.
type Attempt struct {
	Region string // as the account spells it
	Host   string // of the region's endpoint, with or without a port
	Reason Reason
	At     time.Time // when it was sent; zero: now
}

// Result is how an attempt or an operation ended.
type Result struct {
	Status    int // HTTP status, 0 when there was no answer
	SubStatus int
	Err       error     // when there was no answer
	At        time.Time // when it ended; zero: now
}

// OperationSpan is the span of an operation in flight. A nil one records
// nothing; all methods may be called on it. It is safe for concurrent use: an
// operation and its hedges share it.
type OperationSpan struct {
	tracer trace.Tracer
	span   trace.Span

	mutex     sync.Mutex // guards contacted
	contacted []string
}

// StartOperation begins the span of an operation. It returns ctx and nil when
// nothing records.
func (r *Recorder) StartOperation(ctx context.Context, o OperationStart) (context.Context, *OperationSpan) {
	tracer := r.tracer()
	if tracer == nil || unsampled(ctx) {
		return ctx, nil
	}
	name := o.Name
	if o.Container != "" {
		name += " " + o.Container
	}
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(o.attributes()...), trace.WithTimestamp(o.At))
	return ctx, &OperationSpan{tracer: tracer, span: span}
}

// attributes are those that the conventions ask for when a span starts.
func (o OperationStart) attributes() []attribute.KeyValue {
	list := append(make([]attribute.KeyValue, 0, 8), semconv.DBSystemNameAzureCosmosDB, semconv.DBOperationName(o.Name))
	if o.Database != "" {
		list = append(list, semconv.DBNamespace(o.Database))
	}
	if o.Container != "" {
		list = append(list, semconv.DBCollectionName(o.Container))
	}
	return append(list, server(o.Server)...)
}

// server is server.address, and server.port unless it is the usual one.
func server(hostport string) []attribute.KeyValue {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(hostport)}
	}
	number, err := strconv.Atoi(port)
	if err != nil || number == 443 {
		return []attribute.KeyValue{semconv.ServerAddress(host)}
	}
	return []attribute.KeyValue{semconv.ServerAddress(host), semconv.ServerPort(number)}
}

// Recording reports whether anything that is told to the span is kept.
func (s *OperationSpan) Recording() bool { return s != nil && s.span.IsRecording() }

// Planned tells the applicable regions, in order, and the rule that made the
// list. A later plan of the same operation replaces it.
func (s *OperationSpan) Planned(applicable []string, rule string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(AttrApplicableRegions.StringSlice(applicable), AttrRule.String(rule))
}

// HedgeWithheld tells why the operation, or one hedge of it, was not hedged.
func (s *OperationSpan) HedgeWithheld(reason string) {
	if s != nil {
		s.span.SetAttributes(AttrHedgeWithheld.String(reason))
	}
}

// Raced tells how the race between the walk and its hedges ended.
func (s *OperationSpan) Raced(state string) {
	if s != nil {
		s.span.SetAttributes(AttrHedge.String(state))
	}
}

// AttemptSpan is the span of an attempt in flight. A nil one records nothing.
type AttemptSpan struct{ span trace.Span }

// StartAttempt begins the span of an attempt. It returns ctx and nil when
// nothing records.
func (s *OperationSpan) StartAttempt(ctx context.Context, a Attempt) (context.Context, *AttemptSpan) {
	if s == nil {
		return ctx, nil
	}
	s.mutex.Lock()
	s.contacted = append(s.contacted, a.Region)
	s.mutex.Unlock()
	attributes := append([]attribute.KeyValue{AttrRegion.String(a.Region), AttrReason.String(string(a.Reason))}, server(a.Host)...)
	ctx, span := s.tracer.Start(ctx, "attempt "+a.Region, trace.WithAttributes(attributes...), trace.WithTimestamp(a.At))
	return ctx, &AttemptSpan{span}
}

// StartProbe begins the span of a shadow probe: a root of its own, because it
// outlives the operation, with a link to the span in ctx. It returns ctx and
// nil when nothing records.
func (r *Recorder) StartProbe(ctx context.Context, o OperationStart, a Attempt) (context.Context, *AttemptSpan) {
	tracer := r.tracer()
	if tracer == nil || unsampled(ctx) {
		return ctx, nil
	}
	attributes := append(o.attributes(), AttrRegion.String(a.Region), AttrReason.String(string(a.Reason)))
	ctx, span := tracer.Start(ctx, "probe "+a.Region, trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)),
		trace.WithAttributes(attributes...))
	return ctx, &AttemptSpan{span}
}

// End ends the attempt.
func (s *AttemptSpan) End(r Result) {
	if s != nil {
		end(s.span, r)
	}
}

// End ends the operation with the answer that the caller sees.
func (s *OperationSpan) End(r Result) {
	if s == nil {
		return
	}
	s.mutex.Lock()
	contacted := slices.Clone(s.contacted)
	s.mutex.Unlock()
	s.span.SetAttributes(semconv.AzureCosmosDBOperationContactedRegions(contacted...))
	end(s.span, r)
}

// end writes how it ended. A status from 400 on is an error, as the semantic
// conventions have it.
func end(span trace.Span, r Result) {
	if r.Status != 0 {
		span.SetAttributes(semconv.DBResponseStatusCode(strconv.Itoa(r.Status)))
	}
	if r.SubStatus != 0 {
		span.SetAttributes(semconv.AzureCosmosDBResponseSubStatusCode(r.SubStatus))
	}
	switch {
	case r.Err != nil:
		span.SetAttributes(semconv.ErrorType(r.Err))
		span.SetStatus(codes.Error, "")
	case r.Status >= 400:
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(r.Status)))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(r.At))
}
