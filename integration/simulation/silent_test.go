package simulation

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// newSilentByHand is the run by hand as it is in a bubble, with times that are
// exact, whose read by way of a region that failed nobody has recorded.
func newSilentByHand() *byHand {
	h := newByHand()
	h.Slack, h.Client.NoHedge = 0, false
	h.result("0.2").Silent = true
	h.result("0.2").End = h.result("0.2").Start.Add(time.Second)
	h.stubs = slices.DeleteFunc(h.stubs, func(s tracetest.SpanStub) bool {
		return s.Name == "0.2" || slices.ContainsFunc(h.of("0.2"), func(e *gateway.Entry) bool {
			return e.Header.Get(spanHeader) == s.SpanContext.SpanID().String()
		})
	})
	list := h.of("0.2")
	for _, e := range list {
		e.Header.Set(legHeader, string(telemetry.Initial))
		e.Header.Set(spanHeader, silentParent.SpanID().String())
	}
	list[1].At = list[0].At.Add(list[0].Duration)
	return h
}

// of are the lines of a call in the gateway's log.
func (h *byHand) of(id string) (list []*gateway.Entry) {
	for i := range h.Log {
		if h.Log[i].Header.Get(callHeader) == id {
			list = append(list, &h.Log[i])
		}
	}
	return list
}

// also adds an attempt of the silent read, at a time after its first one.
func (h *byHand) also(region string, leg telemetry.Reason, after time.Duration, status int) *gateway.Entry {
	first := h.of("0.2")[0]
	e := *first
	e.Seq, e.Region, e.Status, e.At, e.Header = 100+len(h.Log), region, status, first.At.Add(after), http.Header.Clone(first.Header)
	e.Header.Set(legHeader, string(leg))
	h.Log = slices.Insert(h.Log, 4, e)
	return &h.Log[4]
}

// reasonsOf are the reasons of the attempts of a call, as they are inferred.
func (h *byHand) reasonsOf(id string) (list []string) {
	h.Spans = h.stubs.Snapshots()
	for _, o := range newEvidence(h.Run).of[id] {
		for _, a := range o.attempts {
			list = append(list, a.reason)
		}
	}
	return list
}

// TestReasonsOfSilentAttempts: what the log tells of attempts that nobody recorded.
func TestReasonsOfSilentAttempts(t *testing.T) {
	h := newSilentByHand()
	require.Equal(t, []string{"initial", "next_region"}, h.reasonsOf("0.2"))
	require.Equal(t, []string{"initial"}, h.reasonsOf("0.1"), "a recorded one")
	h.also(west, telemetry.Hedge, 7*time.Millisecond, 200)
	require.Equal(t, []string{"initial", "next_region", "hedge"}, h.reasonsOf("0.2"))
	h.also(west, telemetry.Probe, 8*time.Millisecond, 200)
	require.Equal(t, []string{"initial", "next_region", "hedge"}, h.reasonsOf("0.2"), "a probe is nobody's")
	h.of("0.2")[1].Header.Set("x-ms-cosmos-hub-region-processing-only", "true")
	require.Equal(t, []string{"initial", "session", "hedge"}, h.reasonsOf("0.2"))
	for _, e := range h.of("0.2") {
		e.Write = true
	}
	require.Equal(t, []string{"initial", "session", "hedge"}, h.reasonsOf("0.2"))
	h.of("0.2")[1].Header.Del("x-ms-cosmos-hub-region-processing-only")
	require.Equal(t, []string{"initial", "failover", "hedge"}, h.reasonsOf("0.2"))
	h.Account.MultiWrite = true
	require.Equal(t, []string{"initial", "next_region", "hedge"}, h.reasonsOf("0.2"))
}

// TestSilentIsJudged judges runs in which one thing is wrong with a silent call.
func TestSilentIsJudged(t *testing.T) {
	right := newSilentByHand().broken()
	for _, w := range []struct {
		name, invariant string
		change          func(*byHand)
	}{
		{"a span in its trace", "telemetry tells what the gateway saw", func(h *byHand) {
			h.stubs = append(h.stubs, tracetest.SpanStub{Name: "attempt", SpanContext: silentParent})
		}},
		{"a span with a link to it", "telemetry tells what the gateway saw", func(h *byHand) {
			h.stubs = append(h.stubs, tracetest.SpanStub{Name: "probe", SpanContext: h.context(), Links: []trace.Link{{SpanContext: silentParent}}})
		}},
		{"a region twice", "each region is visited once", func(h *byHand) { h.of("0.2")[1].Region = east }},
		{"too many attempts", "attempts are bounded", func(h *byHand) { h.Client.MaxAttempts = 1 }},
		{"an excluded region", "an excluded region is contacted only by the rules", func(h *byHand) {
			h.result("0.2").Excluded = &[]string{west}
		}},
		{"an opened region", "an opened region is passed", func(h *byHand) {
			h.result("0.2").Opened, h.result("0.2").Out = []string{east}, []string{east}
		}},
		{"a pause", "the next region is asked at once", func(h *byHand) { h.of("0.2")[1].At = h.of("0.2")[1].At.Add(1) }},
		{"a hedge that nobody wants", "hedges are within bounds", func(h *byHand) {
			h.also(west, telemetry.Hedge, 6*time.Millisecond, 200)
			h.result("0.2").Hedge = HedgeOff
		}},
		{"a hedge too early", "hedges are within bounds", func(h *byHand) {
			h.of("0.2")[1].Header.Set(legHeader, string(telemetry.Hedge))
			h.of("0.2")[1].At = h.of("0.2")[0].At.Add(time.Millisecond)
		}},
		{"hedged once more", "hedges are within bounds", func(h *byHand) {
			h.Account.Regions = []string{east, west, "Japan East"}
			h.of("0.2")[0].Status = 429
			h.of("0.2")[1].Header.Set(legHeader, string(telemetry.Hedge))
			h.also(east, telemetry.Initial, 50*time.Millisecond, 503)
			h.also("Japan East", telemetry.Hedge, 55*time.Millisecond, 200)
			slices.SortStableFunc(h.Log, func(a, b gateway.Entry) int { return a.At.Compare(b.At) })
		}},
		{"no hedge after one that failed", "a hedge that fails is followed at once", func(h *byHand) {
			h.Account.Regions = []string{east, west, "Japan East"}
			first, hedge := h.of("0.2")[0], h.of("0.2")[1]
			first.Duration, first.Status = 500*time.Millisecond, 200
			hedge.Header.Set(legHeader, string(telemetry.Hedge))
			hedge.At, hedge.Status = first.At.Add(10*time.Millisecond), 503
			h.Client.Threshold, h.Callers = Duration(10*time.Millisecond), [][]Call{{}}
		}},
		{"no hedge", "a hedge comes at its time", func(h *byHand) {
			h.of("0.2")[0].Duration, h.Client.Threshold = 20*time.Millisecond, Duration(10*time.Millisecond)
			h.of("0.2")[1].At = h.of("0.2")[0].At.Add(20 * time.Millisecond)
		}},
		{"a region that is not let back", "a region that is well again is let back", func(h *byHand) {
			h.result("0.2").Caller = quietCaller
			h.of("0.2")[0].Region = west
			h.AtEnd.Accounts = []telemetry.AccountState{{}}
		}},
	} {
		t.Run(w.name, func(t *testing.T) {
			require.NotContains(t, right, w.invariant)
			h := newSilentByHand()
			w.change(h)
			require.Contains(t, h.broken(), w.invariant)
		})
	}
}

// TestPasses: a pass is what follows an answer that azcore goes on with, some time
// after everything has ended.
func TestPasses(t *testing.T) {
	at := func(ms, took, status int) attempt {
		return attempt{Entry: gateway.Entry{At: noon.Add(time.Duration(ms) * time.Millisecond), Duration: time.Duration(took) * time.Millisecond, Status: status}}
	}
	for _, test := range []struct {
		attempts []attempt
		want     []int
	}{
		{[]attempt{at(0, 5, 200)}, []int{0}},
		{[]attempt{at(0, 5, 429), at(15, 5, 200)}, []int{0, 1}},
		{[]attempt{at(0, 5, 429), at(5, 5, 503)}, []int{0, 0}},
		{[]attempt{at(0, 5, 429), at(5, 5, 503), at(20, 5, 200)}, []int{0, 0, 1}},
		{[]attempt{at(0, 5, 503), at(15, 5, 200)}, []int{0, 0}},
		{[]attempt{at(0, 50, 503), at(5, 5, 429), at(30, 5, 503), at(60, 5, 429), at(80, 5, 200)}, []int{0, 0, 0, 1, 2}},
	} {
		o := operation{attempts: test.attempts}
		require.Equal(t, test.want, o.passOf(), "%v", test.attempts)
	}
}

// TestShrinkKeepsSilence: a world whose failure needs a silent call shrinks to one
// that has it, and any other to one without.
func TestShrinkKeepsSilence(t *testing.T) {
	w := Generate(3, 1)
	w.Callers[0][0].Silent = true
	small := Shrink(w, 2000, func(w World) bool { return calls(w) > 0 && w.Callers[0][0].Silent })
	require.Equal(t, 1, calls(small))
	require.True(t, small.Callers[0][0].Silent)
	small = Shrink(w, 2000, func(w World) bool { return calls(w) > 0 })
	require.False(t, small.Callers[0][0].Silent)
}

// TestSilentCallsAreDrawn: about half of the calls are silent.
func TestSilentCallsAreDrawn(t *testing.T) {
	silent, all := 0, 0
	for s := range uint64(100) {
		w := Generate(s, 1)
		for _, c := range w.Callers[0] {
			if all++; c.Silent {
				silent++
			}
		}
	}
	require.InDelta(t, 0.5, float64(silent)/float64(all), 0.05)
}
