package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

var start = telemetry.OperationStart{Name: "read_item", Database: "db", Container: "items", Server: "acct.documents.azure.test:443"}

var sent = telemetry.Attempt{Region: "West US", Host: "acct-westus.documents.azure.test:443", Reason: telemetry.Initial}

// operation is what a healthy operation tells. s is used anew each time, as it
// is a part of what a request allocates anyway.
func operation(ctx context.Context, r *telemetry.Recorder, s *telemetry.OperationSpan) {
	*s = telemetry.OperationSpan{}
	if !r.Wants(ctx) {
		return
	}
	ctx, span := r.StartOperation(ctx, s, start)
	_, attempt := span.StartAttempt(ctx, sent)
	attempt.End(telemetry.Result{Status: 200, Charge: 1})
	span.End(telemetry.Result{Status: 200, Charge: 1})
}

// silent is a recorder with no-op providers.
func silent() *telemetry.Recorder {
	return telemetry.New(telemetry.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
}

// measured is a recorder with a meter only.
func measured() (*telemetry.Recorder, *sdkmetric.ManualReader) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	return telemetry.New(telemetry.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: provider}), reader
}

// unsampledContext is a request whose parent was decided not to be sampled.
func unsampledContext() context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1},
	}))
}

// TestReport161_NothingIsAllocatedForNobody: dotnet#5945: failure logging
// serialised the whole trace though the sink was off. With no-op providers, or
// an unsampled parent, an operation allocates nothing, and with the SDK's meter
// neither.
func TestReport161_NothingIsAllocatedForNobody(t *testing.T) {
	traced := telemetry.New(telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
	metered, _ := measured()
	tests := []struct {
		name string
		r    *telemetry.Recorder
		ctx  context.Context
	}{
		{"no-op", silent(), context.Background()},
		{"unsampled", traced, unsampledContext()},
		{"metrics", metered, context.Background()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s telemetry.OperationSpan
			operation(test.ctx, test.r, &s)
			require.Zero(t, testing.AllocsPerRun(1000, func() { operation(test.ctx, test.r, &s) }))
		})
	}
}

// BenchmarkOperation is what a healthy operation costs, by who listens.
func BenchmarkOperation(b *testing.B) {
	traced := telemetry.New(telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
	metered, _ := measured()
	run := func(name string, ctx context.Context, r *telemetry.Recorder) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var s telemetry.OperationSpan
			for b.Loop() {
				operation(ctx, r, &s)
			}
		})
	}
	run("noop", context.Background(), silent())
	run("unsampled", unsampledContext(), traced)
	run("metrics", context.Background(), metered)
	run("sampled", context.Background(), traced)
}

// ratio runs two things in alternating rounds of one process and returns the
// median of the quotients of their times.
func ratio(rounds, each int, one, two func()) float64 {
	round := func(f func()) time.Duration {
		begin := time.Now()
		for range each {
			f()
		}
		return time.Since(begin)
	}
	list := make([]float64, 0, rounds)
	for range rounds {
		a1, b1 := round(one), round(two)
		b2, a2 := round(two), round(one)
		list = append(list, float64(a1+a2)/float64(b1+b2))
	}
	slices.Sort(list)
	return list[rounds/2]
}

// BenchmarkAgainstReadItem is the cost of telling a healthy operation to nobody,
// as a share of a ReadItem over a transport in memory.
func BenchmarkAgainstReadItem(b *testing.B) {
	container := instantContainer(b)
	read := func() {
		if _, err := container.ReadItem(context.Background(), azcosmos.NewPartitionKeyString("a"), "1", nil); err != nil {
			b.Fatal(err)
		}
	}
	traced := telemetry.New(telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()})
	var s telemetry.OperationSpan
	for _, test := range []struct {
		name string
		ctx  context.Context
		r    *telemetry.Recorder
	}{{"noop", context.Background(), silent()}, {"unsampled", unsampledContext(), traced}} {
		b.Run(test.name, func(b *testing.B) {
			const often = 100 // one is too short to be timed
			share := 0.0
			for b.Loop() {
				share = ratio(51, 5, func() {
					for range often {
						operation(test.ctx, test.r, &s)
					}
				}, read) / often
			}
			b.ReportMetric(100*share, "%-of-ReadItem")
		})
	}
}

// begin is some attributes.
func begin(n int) []attribute.KeyValue {
	list := make([]attribute.KeyValue, n)
	for i := range list {
		list[i] = attribute.String("attribute."+string(rune('a'+i)), "value of it")
	}
	return list
}

// BenchmarkAgainstBareAdd is the metrics of a healthy operation against as many
// bare measurements with a prebuilt set of attributes.
func BenchmarkAgainstBareAdd(b *testing.B) {
	metered, _ := measured()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	counter, err := provider.Meter("bare").Int64Counter("bare")
	require.NoError(b, err)
	histogram, err := provider.Meter("bare").Float64Histogram("bare.seconds")
	require.NoError(b, err)
	// As many attributes as ours have: the SDK looks at each of them.
	all := begin(5)
	few, some, many := metric.WithAttributeSet(attribute.NewSet(all[:1]...)), metric.WithAttributeSet(attribute.NewSet(all[:2]...)),
		metric.WithAttributeSet(attribute.NewSet(all...))
	add := []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(all[:4]...))}
	one, two, five := []metric.RecordOption{few}, []metric.RecordOption{some}, []metric.RecordOption{many}
	var s telemetry.OperationSpan
	ctx, share := context.Background(), 0.0
	for b.Loop() {
		share = ratio(301, 50, func() { operation(ctx, metered, &s) }, func() {
			counter.Add(ctx, 1, add...)
			histogram.Record(ctx, 0.01, one...)
			histogram.Record(ctx, 0.01, two...)
			histogram.Record(ctx, 0.01, five...)
			histogram.Record(ctx, 0.01, five...)
		})
	}
	b.ReportMetric(share, "times-bare")
}

// BenchmarkAgainstBareSpan is the two spans of a healthy operation against two
// bare ones with as many attributes.
func BenchmarkAgainstBareSpan(b *testing.B) {
	provider := sdktrace.NewTracerProvider()
	ours := telemetry.New(telemetry.Options{TracerProvider: provider, MeterProvider: metricnoop.NewMeterProvider()})
	tracer := provider.Tracer("bare")
	atStart, regions := begin(5), []string{"West US"}
	var s telemetry.OperationSpan
	ctx, share := context.Background(), 0.0
	for b.Loop() {
		share = ratio(301, 20, func() { operation(ctx, ours, &s) }, func() {
			ctx, outer := tracer.Start(ctx, "read_item items", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(atStart...))
			_, inner := tracer.Start(ctx, "attempt West US", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(atStart[:3]...))
			inner.SetAttributes(attribute.Float64("charge", 1), attribute.String("status", "200"))
			inner.End()
			outer.SetAttributes(attribute.StringSlice("regions", regions), attribute.Float64("charge", 1), attribute.String("status", "200"))
			outer.End()
		})
	}
	b.ReportMetric(share, "times-bare")
}

type instant struct{}

const accountJSON = `{"id":"acct","writableLocations":[{"name":"West US","databaseAccountEndpoint":"https://acct-westus.documents.azure.test:443/"}],
"readableLocations":[{"name":"West US","databaseAccountEndpoint":"https://acct-westus.documents.azure.test:443/"}]}`

func (instant) Do(r *http.Request) (*http.Response, error) {
	content := []byte(`{"id":"1","pk":"a"}`)
	if r.URL.Path == "" || r.URL.Path == "/" {
		content = []byte(accountJSON)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)),
	}, nil
}

// instantContainer is of plain azcosmos, over a transport that answers at once.
func instantContainer(tb testing.TB) *azcosmos.ContainerClient {
	credential, err := azcosmos.NewKeyCredential("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==")
	require.NoError(tb, err)
	client, err := azcosmos.NewClientWithKey("https://acct.documents.azure.test:443/", credential,
		&azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: instant{}}, PreferredRegions: []string{"West US"}})
	require.NoError(tb, err)
	container, err := client.NewContainer("db", "items")
	require.NoError(tb, err)
	return container
}
