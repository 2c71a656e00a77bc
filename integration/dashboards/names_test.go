package dashboards_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// series is a metric as Prometheus has it.
type series struct {
	histogram, gauge bool
	labels           []string
}

// metrics are the series by name: of histograms without the suffixes of their parts.
type metrics map[string]series

// recorded lets the library record something of everything, and returns the names under which Prometheus has it.
func recorded(t *testing.T) metrics {
	t.Helper()
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	recordAll(t, telemetry.New(telemetry.Options{MeterProvider: provider}))
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	units := map[string]string{}
	for _, m := range telemetry.Metrics() {
		units[m.Name] = m.Unit
	}
	known := metrics{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			require.Equal(t, units[m.Name], m.Unit, m.Name)
			known.add(t, m)
			delete(units, m.Name)
		}
	}
	require.Empty(t, units, "not recorded here")
	return known
}

// recordAll uses every instrument with every attribute.
func recordAll(t *testing.T, r *telemetry.Recorder) {
	t.Helper()
	start := telemetry.OperationStart{Name: "read_item", Database: "db", Container: "items", Server: "account.documents.azure.com"}
	for _, result := range []telemetry.Result{
		{Status: 200, Charge: 1},
		{Status: 404, SubStatus: 1002, Charge: 1},
		{Class: telemetry.ErrorTimeout},
	} {
		var span telemetry.OperationSpan
		ctx, operation := r.StartOperation(t.Context(), &span, start)
		for range 2 {
			_, attempt := operation.StartAttempt(ctx, telemetry.Attempt{Region: "West US", Host: "h", Reason: telemetry.Initial})
			attempt.End(result)
		}
		operation.End(result)
	}
	d := telemetry.Decision{
		Operation: "read_item", Region: "West US", From: "Healthy", To: "Unavailable", Change: "set", Cause: "failures", At: time.Now(),
	}
	for _, kind := range []telemetry.Kind{
		telemetry.KindFallback, telemetry.KindBreaker, telemetry.KindProbe, telemetry.KindOverride, telemetry.KindHealth,
		telemetry.KindTopology, telemetry.KindRefresh, telemetry.KindRanges,
	} {
		d.Kind = kind
		r.Decided(nil, d)
	}
	r.HedgeStarted(nil, d)
	d.Cause = "budget"
	r.HedgeWithheld(nil, d)
	r.Raced(nil, "alternate_won", 1, true, d)
	one := map[string]int{"West US": 1}
	t.Cleanup(r.Observe(func() telemetry.Gauges {
		return telemetry.Gauges{HedgeLimit: 1, OpenReads: one, OpenWrites: one, Overrides: one}
	}))
}

// add takes in a metric under the name that Prometheus gives it.
func (k metrics) add(t *testing.T, m metricdata.Metrics) {
	t.Helper()
	name := underscored(m.Name)
	if m.Unit == "s" {
		name += "_seconds"
	}
	var s series
	var sets []attribute.Set
	sum := func(monotonic bool) {
		if monotonic {
			name += "_total"
		}
		s.gauge = !monotonic
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		sum(data.IsMonotonic)
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Sum[float64]:
		sum(data.IsMonotonic)
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Histogram[float64]:
		s.histogram = true
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	default:
		require.Fail(t, "no such kind is known", "%s: %T", m.Name, data)
	}
	for _, set := range sets {
		for _, a := range set.ToSlice() {
			s.labels = append(s.labels, underscored(string(a.Key)))
		}
	}
	k[name] = s
}

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// base is the metric that a name of Prometheus is of; "" if there is none.
func (k metrics) base(name string) string {
	if s, ok := k[name]; ok && !s.histogram {
		return name
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, found := strings.CutSuffix(name, part); found && k[base].histogram {
			return base
		}
	}
	return ""
}

func (k metrics) exists(name string) bool { return k.base(name) != "" }

// carries reports whether a metric has a label.
func (k metrics) carries(name, label string) bool {
	if label == "le" {
		return strings.HasSuffix(name, "_bucket")
	}
	return slices.Contains(k[k.base(name)].labels, label)
}

// has requires that a metric exists and has labels.
func (k metrics) has(t *testing.T, name string, labels ...string) {
	t.Helper()
	require.True(t, k.exists(name), "no metric %s", name)
	for _, label := range labels {
		require.True(t, k.carries(name, label), "%s has no label %s", name, label)
	}
}
