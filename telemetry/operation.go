package telemetry

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
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
	Metadata            bool // it has no span until [OperationSpan.Wake]
}

// Result is how an attempt or an operation ended.
type Result struct {
	Status    int // HTTP status, 0 when there was no answer
	SubStatus int
	Class     string    // without an answer: one of the Error constants
	Charge    float64   // request units of the answer
	At        time.Time // when it ended; zero: now
}

// OperationSpan is an operation in flight: what its trace span, the metrics and
// its record have to be told. A nil one records nothing; all methods may be
// called on it. It is safe for concurrent use: an operation and its hedges
// share it. It must not be copied.
type OperationSpan struct {
	recorder *Recorder
	ctx      context.Context // with the span, if there is one
	start    OperationStart
	at       time.Time
	record   *callRecord // nil: nobody asked for it

	mutex     sync.Mutex // guards what follows; held for no call of anybody else's code
	span      trace.Span // nil: nothing is traced, or not yet
	contacted []string   // regions in the order of contact
	inline    [4]string  // where contacted begins
	charge    float64    // of all answers so far
	answered  string
	ended     bool
}

// Wants reports whether anything of an operation is recorded: by a tracer, a
// meter, or [Record]. It does not allocate.
func (r *Recorder) Wants(ctx context.Context) bool {
	return (r.tracer() != nil && !unsampled(ctx)) || r.metrics.enabled(ctx) || recordOf(ctx) != nil
}

// Listens reports whether a tracer or a meter records anything at all, of
// whatever operation.
func (r *Recorder) Listens() bool {
	return r.tracer() != nil || r.metrics.enabled(context.Background())
}

// StartOperation begins an operation in s, which must be zero, and returns a
// context that carries its span; it is ctx itself when there is none. It is to
// be called when [Recorder.Wants] says so.
func (r *Recorder) StartOperation(ctx context.Context, s *OperationSpan, o OperationStart) (context.Context, *OperationSpan) {
	s.recorder, s.ctx, s.start, s.at = r, ctx, o, time.Now()
	s.contacted = s.inline[:0]
	s.record = recordOf(ctx).begin(o, s.at)
	if !o.Metadata {
		s.trace()
	}
	return s.ctx, s
}

// trace begins the trace span, if there is anybody to record it.
func (s *OperationSpan) trace(options ...trace.SpanStartOption) {
	tracer := s.recorder.tracer()
	if tracer == nil || unsampled(s.ctx) {
		return
	}
	name := s.start.Name
	if s.start.Container != "" {
		name += " " + s.start.Container
	}
	options = append(options, asClient, trace.WithAttributes(s.start.attributes()...))
	ctx, span := tracer.Start(s.ctx, name, options...)
	s.ctx = ctx
	if span.IsRecording() {
		s.mutex.Lock()
		s.span = span
		s.mutex.Unlock()
	}
}

// Wake begins the span of an operation that had none yet, because it has left
// its first region, and tells the attempt that was already made. The returned
// context carries the span. No attempt may be in flight.
func (s *OperationSpan) Wake(ctx context.Context, first Attempt, r Result) context.Context {
	if s == nil || s.tracing() != nil {
		return ctx
	}
	s.ctx = ctx
	s.trace(trace.WithTimestamp(s.at))
	if span := s.tracing(); span != nil {
		_, attempt := s.startSpan(s.ctx, first, trace.WithTimestamp(first.At))
		endSpan(attempt, r, nil, trace.WithTimestamp(r.At))
	}
	return s.ctx
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
	if host, usual := strings.CutSuffix(hostport, ":443"); usual {
		return []attribute.KeyValue{semconv.ServerAddress(host)}
	}
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

// context is that of the operation's span, for what is told beside it.
func (s *OperationSpan) context() context.Context {
	if s == nil {
		return context.Background()
	}
	return s.ctx
}

// tracing is the trace span, nil when there is none.
func (s *OperationSpan) tracing() trace.Span {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.span
}

// End ends the operation with the answer that the caller sees.
func (s *OperationSpan) End(r Result) {
	if s == nil {
		return
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	s.mutex.Lock()
	s.ended = true
	contacted, answered, extra, span := s.contacted, s.answered, max(0, s.charge-r.Charge), s.span
	s.mutex.Unlock()
	s.record.end(r, answered, extra)
	s.recorder.metrics.operation(s.ctx, s.start, r, r.At.Sub(s.at), distinct(contacted), extra)
	if span == nil {
		return
	}
	list := append(make([]attribute.KeyValue, 0, 7), semconv.AzureCosmosDBOperationContactedRegions(contacted...))
	if answered != "" {
		list = append(list, AttrAnswered.String(answered))
	}
	if r.Charge > 0 {
		list = append(list, semconv.AzureCosmosDBOperationRequestCharge(r.Charge))
	}
	if extra > 0 {
		list = append(list, AttrExtraCharge.Float64(extra))
	}
	endSpan(span, r, list)
}

// distinct is how many regions there are in a list.
func distinct(regions []string) (n int) {
	for i, r := range regions {
		if !slices.Contains(regions[:i], r) {
			n++
		}
	}
	return n
}

// asClient is the kind of all spans.
var asClient = trace.WithSpanKind(trace.SpanKindClient)

// endSpan writes how it ended, together with what else there is to say. A
// status from 400 on is an error, as the semantic conventions have it; an
// attempt that lost is none.
func endSpan(span trace.Span, r Result, more []attribute.KeyValue, options ...trace.SpanEndOption) {
	failed := ""
	switch {
	case r.Status >= 400:
		failed = statusText(r.Status)
	case r.Status == 0 && r.Class == ErrorLost:
		more = append(more, AttrLost.Bool(true))
	case r.Status == 0:
		failed = boundedClass(r.Class)
	}
	if r.Status != 0 {
		more = append(more, semconv.DBResponseStatusCode(statusText(r.Status)))
	}
	if r.SubStatus != 0 {
		more = append(more, semconv.AzureCosmosDBResponseSubStatusCode(r.SubStatus))
	}
	if failed != "" {
		more = append(more, semconv.ErrorTypeKey.String(failed))
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(more...)
	span.End(options...)
}

// statusText is a status in digits.
func statusText(status int) string {
	if status == 200 {
		return "200"
	}
	return strconv.Itoa(status)
}
