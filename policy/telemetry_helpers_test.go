package policy_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// told is a world with somebody who listens: spans, metrics and log lines.
type told struct {
	*world
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	log    *bytes.Buffer
}

// inTold runs a test in a world with the OpenTelemetry SDK and a logger.
func inTold(t *testing.T, s setup, test func(w *told)) {
	t.Helper()
	var log bytes.Buffer
	exporter, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	s.policy.Telemetry = telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Logger:         slog.New(slog.NewTextHandler(&log, nil)),
	}
	inWorld(t, s, func(w *world) {
		exporter.Reset()
		test(&told{w, exporter, reader, &log})
	})
}

// tell is the spans since the last time as a story, one line each, in the order
// of their beginning: name, then what is of interest of it, then its events.
func (w *told) tell() []string {
	list := w.spans.GetSpans()
	w.spans.Reset()
	child := func(s tracetest.SpanStub) int {
		if s.Parent.IsValid() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(child(a), child(b)))
	})
	lines := []string{}
	for _, s := range list {
		line := lettersOf([]string{s.Name})
		if reason := attr(s, "cosmos.ha.reason").AsString(); reason != "" {
			line += " " + reason + " " + attr(s, "db.response.status_code").AsString() + attr(s, "error.type").AsString()
			if attr(s, "cosmos.ha.lost").AsBool() {
				line += "lost"
			}
		} else {
			line += " [" + lettersOf(attr(s, "azure.cosmosdb.operation.contacted_regions").AsStringSlice()) + "] " + attr(s, "db.response.status_code").AsString() +
				" by " + lettersOf([]string{attr(s, "cosmos.ha.answered_region").AsString()}) + " rule " + attr(s, "cosmos.ha.rule").AsString()
		}
		lines = append(lines, line)
	}
	return lines
}

// events is the events of all spans since the last look, in short: name and
// what it says, as letters.
func (w *told) events() []string {
	lines := []string{}
	for _, s := range w.spans.GetSpans() {
		for _, e := range s.Events {
			line := strings.TrimPrefix(e.Name, "cosmos.ha.")
			for _, key := range []attribute.Key{"cosmos.ha.region", "cosmos.ha.access", "cosmos.ha.from", "cosmos.ha.to", "cosmos.ha.change", "cosmos.ha.cause"} {
				if v, ok := find(e.Attributes, key); ok {
					line += " " + v.AsString()
				}
			}
			lines = append(lines, lettersOf([]string{line}))
		}
	}
	return lines
}

// operation is the span of the one operation since the last look.
func (w *told) operation() tracetest.SpanStub {
	w.Helper()
	for _, s := range w.spans.GetSpans() {
		if _, ok := find(s.Attributes, "db.operation.name"); ok && !s.Parent.IsValid() && len(s.Links) == 0 {
			return s
		}
	}
	require.Fail(w, "no span of an operation")
	return tracetest.SpanStub{}
}

func attr(s tracetest.SpanStub, key attribute.Key) attribute.Value {
	v, _ := find(s.Attributes, key)
	return v
}

func find(list []attribute.KeyValue, key attribute.Key) (attribute.Value, bool) {
	for _, a := range list {
		if a.Key == key {
			return a.Value, true
		}
	}
	return attribute.Value{}, false
}

// collect is all metrics as they are now.
func (w *told) collect() map[string]metricdata.Aggregation {
	var data metricdata.ResourceMetrics
	require.NoError(w, w.reader.Collect(context.Background(), &data))
	all := map[string]metricdata.Aggregation{}
	for _, scope := range data.ScopeMetrics {
		require.Equal(w, telemetry.Scope, scope.Scope.Name)
		for _, m := range scope.Metrics {
			all[m.Name] = m.Data
		}
	}
	return all
}

// points is one metric, in short: "region=A reason=initial: 3". Histograms show
// their count.
func (w *told) points(name string) []string {
	w.Helper()
	lines := []string{}
	add := func(set attribute.Set, n any) {
		var parts []string
		for _, a := range set.ToSlice() {
			key := string(a.Key)[strings.LastIndex(string(a.Key), ".")+1:]
			parts = append(parts, key+"="+lettersOf([]string{a.Value.String()}))
		}
		lines = append(lines, fmt.Sprintf("%s: %v", strings.Join(parts, " "), n))
	}
	switch data := w.collect()[name].(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Value)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Count)
		}
	}
	slices.Sort(lines)
	return lines
}
