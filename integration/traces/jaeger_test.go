package traces_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// guarded tells this binary that it is not to test but to run a command that must not outlive it.
const guarded = "AZCOSMOS_HA_GUARD"

func TestMain(m *testing.M) {
	if os.Getenv(guarded) != "" {
		os.Exit(guard(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// guard runs a command until standard input ends, as it does when the tests end in whatever way.
func guard(command []string) int {
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = c.Process.Kill() // it has nothing to save
	}()
	_ = c.Wait()
	return 0
}

// jaeger is a running Jaeger.
type jaeger struct {
	*testing.T
	api  string // URL of its HTTP API
	otlp string // URL that takes traces
}

// configuration is all in memory and on ports that are filled in.
const configuration = `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [jaeger_storage_exporter]
  telemetry:
    metrics: {level: none}
    logs: {level: info}
extensions:
  jaeger_storage:
    backends:
      memory: {memory: {max_traces: 100000}}
  jaeger_query:
    storage: {traces: memory}
    http: {endpoint: %q}
    grpc: {endpoint: %q}
receivers:
  otlp:
    protocols:
      http: {endpoint: %q}
exporters:
  jaeger_storage_exporter: {trace_storage: memory}
`

// start builds Jaeger, starts it, and stops it when the test ends.
func start(t *testing.T) *jaeger {
	t.Helper()
	if os.Getenv("JAEGER") != "required" {
		t.Skip("JAEGER=required builds and starts Jaeger, which takes minutes the first time")
	}
	command := build(t)
	for range 3 { // a port that was free may be taken in between
		ports := free(t, 3)
		config := filepath.Join(t.TempDir(), "jaeger.yaml")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, configuration, ports[0], ports[1], ports[2]), 0o600))
		err := launch(t, command, config)
		if err == nil {
			return &jaeger{t, "http://" + ports[0], "http://" + ports[2]}
		}
		t.Log(err)
	}
	require.Fail(t, "Jaeger does not start")
	return nil
}

// build returns the path of the command, built unless it was before.
func build(t *testing.T) string {
	t.Helper()
	began := time.Now()
	c := exec.CommandContext(t.Context(), "go", "tool", "-modfile=jaeger.mod", "-n", "jaeger")
	c.Stderr = os.Stderr
	out, err := c.Output()
	require.NoError(t, err, "build Jaeger")
	t.Logf("Jaeger was built, or found, in %.0f s", time.Since(began).Seconds())
	return strings.TrimSpace(string(out))
}

// launch starts Jaeger and returns when it says that it is ready.
func launch(t *testing.T, command, config string) error {
	t.Helper()
	c := exec.Command(os.Args[0], command, "--config="+config) // no context: it ends with its standard input
	c.Env = append(os.Environ(), guarded+"=1")
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	ended := make(chan struct{})
	stop := func() {
		stdin.Close()
		<-ended
	}
	t.Cleanup(stop)
	ready := make(chan error, 1)
	go func() {
		defer close(ended)
		ready <- listen(stderr)
		_, _ = io.Copy(io.Discard, stderr)
		_ = c.Wait()
	}()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case err = <-ready:
	case <-timer.C:
		err = context.DeadlineExceeded
	}
	if err != nil {
		stop()
		return fmt.Errorf("start Jaeger: %w", err)
	}
	return nil
}

// listen reads the log until it says that all has been started.
func listen(log io.Reader) error {
	var last []string
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Everything is ready") {
			return nil
		}
		last = append(last[max(0, len(last)-9):], lines.Text())
	}
	return fmt.Errorf("it has ended: %s", strings.Join(last, "\n"))
}

// free returns addresses that nobody listens on.
func free(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// trace is a trace as the API tells it.
type trace struct {
	TraceID string
	Spans   []*span
}

// span is one of its spans.
type span struct {
	SpanID        string
	OperationName string
	StartTime     int64 // microseconds
	Duration      int64
	References    []struct{ RefType, SpanID string }
	Tags          []tag
	Logs          []struct{ Fields []tag }
}

// tag is an attribute.
type tag struct {
	Key   string
	Value any
}

// get is an attribute as text; "" if there is none.
func get(tags []tag, key string) string {
	i := slices.IndexFunc(tags, func(t tag) bool { return t.Key == key })
	if i < 0 {
		return ""
	}
	return fmt.Sprint(tags[i].Value)
}

// traces asks for the traces that have a span with a name.
func (j *jaeger) traces(operation string) []trace {
	j.Helper()
	query := url.Values{"service": {"azcosmos-ha-drill"}, "operation": {operation}, "limit": {"10000"}, "lookback": {"1h"}}
	request, err := http.NewRequestWithContext(j.Context(), http.MethodGet, j.api+"/api/traces?"+query.Encode(), nil)
	require.NoError(j, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(j, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(j, err)
	require.Equal(j, http.StatusOK, response.StatusCode, string(body))
	var answer struct{ Data []trace }
	require.NoError(j, json.Unmarshal(body, &answer))
	return answer.Data
}
