package traces_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// drill runs the drill with our side alone, which sends its traces to Jaeger.
func (j *jaeger) drill(flags ...string) {
	j.Helper()
	command := filepath.Join(j.TempDir(), "drill")
	build := exec.CommandContext(j.Context(), "go", "build", "-o", command, ".")
	build.Dir = "../drill"
	output, err := build.CombinedOutput()
	require.NoError(j, err, string(output))
	output, err = exec.CommandContext(j.Context(), command, append(flags, "-plain=false", "-rate", "50", "-otlp", j.otlp)...).CombinedOutput()
	require.NoError(j, err, string(output))
	require.Contains(j, string(output), "takes no metrics") // which is not taken for a failure
	j.Log("\n" + string(output))
}

// story is a routed operation with its attempts in the order of their beginning.
type story struct {
	operation *span
	attempts  []*span
}

// stories finds the operations of the middleware, which are not azcosmos's own spans around them.
func (j *jaeger) stories(operation string) (list []story) {
	j.Helper()
	for _, t := range j.traces(operation) {
		for _, s := range t.Spans {
			if s.OperationName != operation || get(s.Tags, "otel.scope.name") != telemetry.Scope {
				continue
			}
			list = append(list, story{s, t.below(s)})
		}
	}
	return list
}

// below are the children of a span that the middleware made.
func (t trace) below(parent *span) (list []*span) {
	for _, s := range t.Spans {
		for _, r := range s.References {
			if r.RefType == "CHILD_OF" && r.SpanID == parent.SpanID && get(s.Tags, "otel.scope.name") == telemetry.Scope {
				list = append(list, s)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *span) int { return int(a.StartTime - b.StartTime) })
	return list
}

// told is the attempts in words.
func (s story) told() string {
	var words []string
	for _, a := range s.attempts {
		outcome := get(a.Tags, string(semconv.DBResponseStatusCodeKey))
		if outcome == "" {
			outcome = get(a.Tags, string(semconv.ErrorTypeKey))
		}
		if get(a.Tags, string(telemetry.AttrLost)) == "true" {
			outcome = telemetry.ErrorLost
		}
		words = append(words, strings.Join([]string{get(a.Tags, string(telemetry.AttrRegion)), get(a.Tags, string(telemetry.AttrReason)), outcome}, " "))
	}
	return strings.Join(words, ", ")
}

// regions reads a list of regions.
func (s story) regions(t *testing.T, key string) (list []string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(get(s.operation.Tags, key)), &list), key)
	return list
}

// event reports whether the operation's span has an event with a name.
func (s story) event(name string) bool {
	return slices.ContainsFunc(s.operation.Logs, func(l struct{ Fields []tag }) bool { return get(l.Fields, "event") == name })
}

// TestFailover: an engineer on call sees in a trace where a read went, why, and what was tried.
func TestFailover(t *testing.T) {
	j := start(t)
	j.drill("-phase", "800ms", "-faults", "503", "-attempt-timeout", "2s")
	stories := j.stories("read_item items")
	require.NotEmpty(t, stories)
	plain, failovers := 0, 0
	for _, s := range stories {
		require.NotEmpty(t, s.attempts)
		switch s.told() {
		case "West US initial 200", "Central US initial 200", "North Central US initial 200":
			plain++
		case "West US initial 503, Central US next_region 200":
			failovers++
			require.Equal(t, []string{"West US", "Central US", "North Central US"}, s.regions(t, string(telemetry.AttrApplicableRegions)))
			require.Equal(t, []string{"West US", "Central US"}, s.regions(t, string(semconv.AzureCosmosDBOperationContactedRegionsKey)))
			require.Equal(t, "Central US", get(s.operation.Tags, string(telemetry.AttrAnswered)))
			require.NotEmpty(t, get(s.operation.Tags, string(telemetry.AttrRule)))
			require.Equal(t, "200", get(s.operation.Tags, string(semconv.DBResponseStatusCodeKey)))
			require.Equal(t, "client", get(s.operation.Tags, "span.kind"))
			require.True(t, s.event("cosmos.ha."+string(telemetry.KindRetry)), s.operation.Logs)
			require.NotEmpty(t, s.operation.References, "azcosmos's own span is around it")
		default:
			require.Fail(t, "a story that nobody told", s.told())
		}
	}
	require.NotZero(t, plain)
	require.GreaterOrEqual(t, failovers, 10, "the breaker opens at the tenth")
	require.True(t, slices.ContainsFunc(stories, func(s story) bool {
		return s.event("cosmos.ha." + string(telemetry.KindBreaker))
	}), "the transition is on the operation that led to it")
	t.Logf("%d of %d reads failed over", failovers, len(stories))
}

// TestHedge: a region that is slow is seen to be, and who answered in its place.
func TestHedge(t *testing.T) {
	j := start(t)
	j.drill("-phase", "800ms", "-faults", "slow", "-slow", "4s", "-timeout", "6s", "-attempt-timeout", "0")
	hedged := 0
	for _, s := range j.stories("read_item items") {
		if !strings.Contains(s.told(), "Central US "+string(telemetry.Hedge)) {
			continue
		}
		hedged++
		require.Equal(t, "West US initial lost, Central US hedge 200", s.told())
		require.Equal(t, "Central US", get(s.operation.Tags, string(telemetry.AttrAnswered)))
		require.NotEmpty(t, get(s.operation.Tags, string(telemetry.AttrHedge)))
		require.True(t, s.event("cosmos.ha."+string(telemetry.KindHedgeStarted)))
		require.True(t, s.event("cosmos.ha."+string(telemetry.KindHedgeWon)))
	}
	require.NotZero(t, hedged)
	t.Logf("%d reads were hedged", hedged)
}
