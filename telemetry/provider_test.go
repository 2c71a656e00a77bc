package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// calling is a tracer provider whose tracers do something of their own first.
type calling struct {
	embedded.TracerProvider
	start func()
}

func (p *calling) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return &callingTracer{start: p.start}
}

type callingTracer struct {
	embedded.Tracer
	start func()
}

func (c *callingTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	c.start()
	return tracenoop.NewTracerProvider().Tracer("").Start(ctx, name, o...)
}

// TestProviderThatPanics: the panic is the caller's to see, and the recorder
// goes on.
func TestProviderThatPanics(t *testing.T) {
	panics := true
	r := telemetry.New(telemetry.Options{MeterProvider: metricnoop.NewMeterProvider(), TracerProvider: &calling{start: func() {
		if panics {
			panic("of the provider")
		}
	}}})
	require.PanicsWithValue(t, "of the provider", func() { operation(t.Context(), r, new(telemetry.OperationSpan)) })
	panics = false
	operation(t.Context(), r, new(telemetry.OperationSpan))
}

// TestProviderThatBlocks: whoever is in the provider is held up, and nobody else.
func TestProviderThatBlocks(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	r := telemetry.New(telemetry.Options{MeterProvider: metricnoop.NewMeterProvider(), TracerProvider: &calling{start: func() {
		if first {
			first = false
			close(entered)
			<-release
		}
	}}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		operation(context.Background(), r, new(telemetry.OperationSpan))
	}()
	<-entered
	operation(t.Context(), r, new(telemetry.OperationSpan))
	r.Decided(nil, telemetry.Decision{Kind: telemetry.KindTopology})
	require.Len(t, r.Decisions(), 1)
	close(release)
	<-done
}

// TestLogThatBlocks: a log handler that blocks holds up neither another line
// nor the list of decisions.
func TestLogThatBlocks(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	h := &stuck{entered: entered, release: release}
	r := telemetry.New(telemetry.Options{Logger: slog.New(h)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Decided(nil, telemetry.Decision{Kind: telemetry.KindTopology, Detail: "stuck"})
	}()
	<-entered
	r.Decided(nil, telemetry.Decision{Kind: telemetry.KindTopology, Detail: "free"})
	require.Len(t, r.Decisions(), 2)
	close(release)
	<-done
}

type stuck struct{ entered, release chan struct{} }

func (*stuck) Enabled(context.Context, slog.Level) bool { return true }
func (h *stuck) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h *stuck) WithGroup(string) slog.Handler          { return h }

func (h *stuck) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.String() == "stuck" {
			close(h.entered)
			<-h.release
		}
		return true
	})
	return nil
}

// refusing is a meter provider that makes no instrument.
type refusing struct{ metricnoop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metricnoop.Meter }

func (refusingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, context.Canceled
}

// TestProviderThatRefuses: an instrument that is not made is not used.
func TestProviderThatRefuses(t *testing.T) {
	before, refusals := otel.GetErrorHandler(), 0
	defer otel.SetErrorHandler(before)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { refusals++ }))
	r := telemetry.New(telemetry.Options{MeterProvider: refusing{}})
	require.Positive(t, refusals)
	operation(t.Context(), r, new(telemetry.OperationSpan))
	r.Decided(nil, telemetry.Decision{Kind: telemetry.KindBreaker})
}

// TestLogSuppresses: of a storm of transitions the log gets 50 lines, then one a
// second, which tells how many were suppressed; other kinds are not held up.
func TestLogSuppresses(t *testing.T) {
	var b bytes.Buffer
	r := telemetry.New(telemetry.Options{Logger: slog.New(slog.NewTextHandler(&b, nil))})
	now := time.Unix(1000, 0)
	for range 1000 {
		r.Decided(nil, telemetry.Decision{Kind: telemetry.KindBreaker, At: now, Region: "West US"})
	}
	require.Equal(t, 50, strings.Count(b.String(), "circuit breaker"))
	r.Decided(nil, telemetry.Decision{Kind: telemetry.KindTopology, At: now})
	require.Contains(t, b.String(), "topology changed")
	r.Decided(nil, telemetry.Decision{Kind: telemetry.KindBreaker, At: now.Add(time.Second)})
	require.Contains(t, b.String(), "suppressed=950")
	require.Equal(t, 1000+1, r.Decisions()[0].Count+r.Decisions()[1].Count+r.Decisions()[2].Count-1, "all are counted")
	r.Decided(nil, telemetry.Decision{Kind: telemetry.KindRefresh, At: now})
	require.NotContains(t, b.String(), "refresh", "a refresh that succeeds is no line")
}

// TestMetadataHasNoSpan until it leaves its first region; then the attempt that
// was already made is told with the time it was made at.
func TestMetadataHasNoSpan(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	r := telemetry.New(telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)), MeterProvider: metricnoop.NewMeterProvider(),
	})
	metadata := start
	metadata.Name, metadata.Metadata = "read_container", true
	for _, wakes := range []bool{false, true} {
		ctx, span := r.StartOperation(context.Background(), new(telemetry.OperationSpan), metadata)
		at := time.Now()
		_, attempt := span.StartAttempt(ctx, sent)
		attempt.End(telemetry.Result{Status: 503})
		if wakes {
			first := sent
			first.At = at
			ctx = span.Wake(ctx, first, telemetry.Result{Status: 503, At: at.Add(time.Second)})
			_, attempt = span.StartAttempt(ctx, sent)
			attempt.End(telemetry.Result{Status: 200})
		}
		span.End(telemetry.Result{Status: 200})
		list := exporter.GetSpans()
		if !wakes {
			require.Empty(t, list)
			continue
		}
		require.Len(t, list, 3)
		require.Equal(t, time.Second, list[0].EndTime.Sub(list[0].StartTime))
		require.Equal(t, list[2].SpanContext.SpanID(), list[0].Parent.SpanID())
		require.Equal(t, list[2].SpanContext.SpanID(), list[1].Parent.SpanID())
	}
}
