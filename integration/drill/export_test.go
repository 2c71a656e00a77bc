package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

func TestTargets(t *testing.T) {
	const general, traces, metrics = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	for name, c := range map[string]struct {
		flag            string
		environment     map[string]string
		traces, metrics string
		err             string
	}{
		"off by default":           {},
		"the flag":                 {flag: "http://127.0.0.1:4318", traces: "http://127.0.0.1:4318/v1/traces", metrics: "http://127.0.0.1:4318/v1/metrics"},
		"a path":                   {flag: "https://a/otlp/", traces: "https://a/otlp/v1/traces", metrics: "https://a/otlp/v1/metrics"},
		"the variable":             {environment: map[string]string{general: "http://b:1/"}, traces: "http://b:1/v1/traces", metrics: "http://b:1/v1/metrics"},
		"the flag wins":            {flag: "http://a", environment: map[string]string{general: "http://b", traces: "http://c"}, traces: "http://a/v1/traces", metrics: "http://a/v1/metrics"},
		"one's own, as it is":      {environment: map[string]string{general: "http://b", traces: "http://c/x"}, traces: "http://c/x", metrics: "http://b/v1/metrics"},
		"traces alone":             {environment: map[string]string{traces: "http://c/x"}, traces: "http://c/x"},
		"metrics alone":            {environment: map[string]string{metrics: "http://c/x"}, metrics: "http://c/x"},
		"none of one":              {flag: "http://a", environment: map[string]string{"OTEL_METRICS_EXPORTER": "none"}, traces: "http://a/v1/traces"},
		"switched off":             {flag: "http://a", environment: map[string]string{"OTEL_SDK_DISABLED": "TRUE"}},
		"the protocol it speaks":   {flag: "http://a", environment: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, traces: "http://a/v1/traces", metrics: "http://a/v1/metrics"},
		"another protocol":         {flag: "http://a", environment: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, err: `OTEL_EXPORTER_OTLP_PROTOCOL "grpc": must be http/protobuf, all that the drill speaks`},
		"another protocol for one": {environment: map[string]string{metrics: "http://a", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, err: `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL "grpc": must be http/protobuf, all that the drill speaks`},
		"another exporter":         {flag: "http://a", environment: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, err: `OTEL_TRACES_EXPORTER "zipkin": must be otlp or none`},
		"no address":               {environment: map[string]string{general: "127.0.0.1:4317"}, err: general + ` "127.0.0.1:4317": must be http:// or https:// with a host`},
		"no address of one's own":  {environment: map[string]string{traces: "ftp://a/b"}, err: traces + ` "ftp://a/b": must be http:// or https:// with a host`},
	} {
		t.Run(name, func(t *testing.T) {
			got, more, err := targets(c.flag, func(name string) string { return c.environment[name] })
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.traces, got.address)
			require.Equal(t, c.metrics, more.address)
		})
	}
}

// collector answers with a status by path, and remembers what it was sent.
type collector struct {
	*httptest.Server
	mu   sync.Mutex // guards all below
	sent map[string]string
}

func newCollector(t *testing.T, status map[string]int) *collector {
	t.Helper()
	c := &collector{sent: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		content, err := io.ReadAll(body)
		assert.NoError(t, err)
		c.mu.Lock()
		c.sent[r.URL.Path] += string(content)
		c.mu.Unlock()
		if s := status[r.URL.Path]; s != 0 {
			w.WriteHeader(s)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) got(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[path]
}

// TestExport: what our side does arrives at the collector, all of it by the end.
func TestExport(t *testing.T) {
	t.Parallel()
	c := newCollector(t, nil)
	status, r := play(t, "-faults", "503", "-otlp", c.URL+"/base")
	require.Equal(t, 0, status)
	traces, metrics := c.got("/base/v1/traces"), c.got("/base/v1/metrics")
	require.Empty(t, missing(traces, "azcosmos-ha-drill", telemetry.Scope, "attempt Central US", string(telemetry.AttrReason), string(telemetry.NextRegion)))
	attempts := 0
	for _, row := range r.Rows {
		for _, n := range row.Regions {
			attempts += n
		}
	}
	require.GreaterOrEqual(t, strings.Count(traces, "attempt "), attempts)
	for _, m := range telemetry.Metrics()[:5] {
		require.Empty(t, missing(metrics, m.Name))
	}
}

// missing are the texts that are not in a content, which is too long to be printed.
func missing(content string, texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(content, text) })
}

// TestExportFails: a collector that is not there, or wants none of it, is told in a line, and does not spoil the drill.
func TestExportFails(t *testing.T) {
	t.Parallel()
	broken := newCollector(t, map[string]int{"/v1/traces": http.StatusBadRequest})
	jaeger := newCollector(t, map[string]int{"/v1/metrics": http.StatusNotFound})
	for name, c := range map[string]struct {
		url    string
		status int
		want   string
	}{
		"refuses traces": {broken.URL, 1, "batches of traces were not taken by " + broken.URL + "/v1/traces: "},
		"traces alone":   {jaeger.URL, 0, "drill: " + jaeger.URL + "/v1/metrics takes no metrics; OTEL_METRICS_EXPORTER=none sends it none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.status, run(append(slices.Clip(brisk), "-faults", "", "-otlp", c.url), &stdout, &stderr))
			require.Contains(t, stderr.String(), c.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.Contains(t, stdout.String(), `"passed": true`)
		})
	}
}

// TestExportVariable: a variable that cannot be used is told before anything runs.
func TestExportVariable(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run(nil, &stdout, &stderr))
	require.Equal(t, "drill: OTEL_EXPORTER_OTLP_ENDPOINT \"localhost:4317\": must be http:// or https:// with a host\n", stderr.String())
	require.Empty(t, stdout.String())
}
