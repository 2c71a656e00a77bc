package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/tracing/azotel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Limits of the export.
const (
	spanQueue    = 1 << 16 // spans that wait to be sent: more than a collector that stalls for a while makes wait
	flushTimeout = 10 * time.Second
	metricsEvery = 5 * time.Second
)

// target is where one signal goes to.
type target struct {
	signal  string // traces or metrics
	address string // "": not exported
}

// targets reads -otlp and, for what it does not say, the standard variables. The exporters read headers, certificates, the
// compression and timeouts from their variables themselves.
func targets(base string, getenv func(string) string) (traces, metrics target, err error) {
	traces, metrics = target{signal: "traces"}, target{signal: "metrics"}
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return traces, metrics, nil
	}
	for _, t := range []*target{&traces, &metrics} {
		if err := t.read(base, getenv); err != nil {
			return traces, metrics, err
		}
	}
	return traces, metrics, nil
}

func (t *target) read(base string, getenv func(string) string) error {
	name := strings.ToUpper(t.signal)
	switch exporter := getenv("OTEL_" + name + "_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return nil
	default:
		return &variableError{"OTEL_" + name + "_EXPORTER", exporter, "must be otlp or none"}
	}
	var address, from string
	general := "OTEL_EXPORTER_OTLP_ENDPOINT"
	own := "OTEL_EXPORTER_OTLP_" + name + "_ENDPOINT"
	switch {
	case base != "":
		address, from = strings.TrimRight(base, "/")+"/v1/"+t.signal, "-otlp"
	case getenv(own) != "": // taken as it is, as the specification has it
		address, from = getenv(own), own
	case getenv(general) != "":
		address, from = strings.TrimRight(getenv(general), "/")+"/v1/"+t.signal, general
	default:
		return nil
	}
	if err := checkCollector(address); err != nil {
		return &variableError{from, strings.TrimSuffix(address, "/v1/"+t.signal), err.Error()}
	}
	for _, v := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_" + name + "_PROTOCOL"} {
		if p := getenv(v); p != "" && p != "http/protobuf" {
			return &variableError{v, p, "must be http/protobuf, all that the drill speaks"}
		}
	}
	t.address = address
	return nil
}

// variableError is an environment variable, or the flag in its place, that cannot be used.
type variableError struct{ name, value, reason string }

func (e *variableError) Error() string { return fmt.Sprintf("%s %q: %s", e.name, e.value, e.reason) }

// checkCollector returns why an address cannot be a collector's.
func checkCollector(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be http:// or https:// with a host")
	}
	return nil
}

// export sends the traces and metrics of our side to a collector. A nil one sends nothing; all methods may be called on it.
type export struct {
	tracing  *trace.TracerProvider // nil: no traces
	metering *metric.MeterProvider // nil: no metrics
	told     []*delivery
}

// newExport returns nil when nothing is exported. Nothing is sent yet: a collector that is not there is told by close.
func newExport(ctx context.Context, base string) (*export, error) {
	traces, metrics, err := targets(base, os.Getenv)
	if err != nil || (traces.address == "" && metrics.address == "") {
		return nil, err
	}
	r, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "azcosmos-ha-drill")), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	e := &export{}
	if traces.address != "" {
		sender, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(traces.address))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", traces.address, err)
		}
		d := e.deliver(traces)
		e.tracing = trace.NewTracerProvider(trace.WithResource(r),
			trace.WithBatcher(spanSender{sender, d}, trace.WithMaxQueueSize(spanQueue), trace.WithBatchTimeout(time.Second)))
	}
	if metrics.address != "" {
		sender, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(metrics.address))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metrics.address, err)
		}
		d := e.deliver(metrics)
		e.metering = metric.NewMeterProvider(metric.WithResource(r),
			metric.WithReader(metric.NewPeriodicReader(metricSender{sender, d}, metric.WithInterval(metricsEvery))))
	}
	return e, nil
}

func (e *export) deliver(t target) *delivery {
	d := &delivery{target: t}
	e.told = append(e.told, d)
	return d
}

// close sends what is left, and returns what could not be sent. That a collector takes traces alone is a note and no error.
func (e *export) close(notes io.Writer) error {
	if e == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var errs []error
	if e.tracing != nil {
		errs = append(errs, e.tracing.Shutdown(ctx))
	}
	if e.metering != nil {
		errs = append(errs, e.metering.Shutdown(ctx))
	}
	for _, d := range e.told {
		if d.unwanted() {
			fmt.Fprintf(notes, "drill: %s takes no metrics; OTEL_METRICS_EXPORTER=none sends it none\n", d.address)
			continue
		}
		errs = append(errs, d.result())
	}
	return errors.Join(errs...)
}

// delivery remembers what became of one signal. The SDK would only log it.
type delivery struct {
	target
	mu    sync.Mutex // guards all below
	sent  int
	lost  int
	first error
}

func (d *delivery) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.sent++
		return
	}
	d.lost++
	if d.first == nil {
		d.first = err
	}
}

// result is one error for all batches that were lost.
func (d *delivery) result() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == 0 {
		return nil
	}
	text := strings.TrimSpace(d.first.Error())
	return fmt.Errorf("%d of %d batches of %s were not taken by %s: %s", d.lost, d.lost+d.sent, d.signal, d.address, text)
}

// unwanted reports whether the collector knows nothing of metrics, as Jaeger does not.
func (d *delivery) unwanted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.signal == "metrics" && d.sent == 0 && d.lost > 0 && strings.Contains(d.first.Error(), "404")
}

// spanSender sends spans, and remembers what could not be sent.
type spanSender struct {
	trace.SpanExporter
	d *delivery
}

// ExportSpans sends a batch.
func (s spanSender) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	s.d.note(s.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// metricSender does the same for metrics.
type metricSender struct {
	metric.Exporter
	d *delivery
}

// Export sends what was collected.
func (s metricSender) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	s.d.note(s.Exporter.Export(ctx, m))
	return nil
}

// options makes a client's own spans and the middleware's go the same way.
func (e *export) options(o *azcosmos.ClientOptions) (t telemetry.Options) {
	if e == nil {
		return t
	}
	if e.tracing != nil {
		o.TracingProvider = azotel.NewTracingProvider(e.tracing, nil)
		t.TracerProvider = e.tracing
	}
	if e.metering != nil {
		t.MeterProvider = e.metering
	}
	return t
}
