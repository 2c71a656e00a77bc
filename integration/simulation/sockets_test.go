package simulation

import (
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// The regions of a run by hand, and what it is forgiven.
const (
	east, west = "East US", "West US 2"
	slack      = 2 * time.Second
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// byHand is a run over sockets, made by hand.
type byHand struct {
	*Run
	stubs tracetest.SpanStubs
}

// newByHand is a run in which nothing is wrong: a write and two reads with its
// session, the second of them by way of a region that failed, and two calls after
// everything has healed.
func newByHand() *byHand {
	h := &byHand{Run: &Run{
		World: World{Account: Account{Regions: []string{east, west}}, Callers: [][]Call{{}, {}}},
		Live:  noon, Healed: noon.Add(time.Minute), Ended: noon.Add(2 * time.Minute), Slack: slack,
	}}
	h.Events = []Event{{At: Duration(20 * time.Second), For: Duration(20 * time.Second), Do: Fault, Rule: &Rule{
		Region: east, Operations: []string{"readop"}, Kind: "status", Status: 503,
	}}}
	write := h.call(10*time.Second, "0.0", Upsert, answer{Status: 200})
	h.attempt(write, east, telemetry.Initial, 200)
	read := h.call(15*time.Second, "0.1", Read, answer{Status: 200, Items: map[string]int{"k0/0": 10}})
	h.attempt(read, east, telemetry.Initial, 200)
	again := h.call(30*time.Second, "0.2", Read, answer{Status: 200, Items: map[string]int{"k0/0": 10}})
	h.attempt(again, east, telemetry.Initial, 503)
	h.attempt(again, west, telemetry.NextRegion, 200)
	h.attempt(h.call(70*time.Second, "-2.0", Upsert, answer{Status: 200}), east, telemetry.Initial, 200)
	h.attempt(h.call(71*time.Second, "-2.1", Read, answer{Status: 200, Items: map[string]int{"k0/0": 70}}), east, telemetry.Initial, 200)
	h.Stored = map[string]int{"k0/0": 70}
	h.AtEnd = telemetry.State{At: h.Ended, Accounts: []telemetry.AccountState{{}}}
	return h
}

// call adds a call at a time. A write writes the number of the second.
func (h *byHand) call(at time.Duration, id string, op Op, a answer) *Result {
	start := noon.Add(at)
	r := Result{
		Call: Call{Op: op, Deadline: Duration(5 * time.Second)}, ID: id, N: int(at / time.Second), Start: start,
		End: start.Add(100 * time.Millisecond), Until: start.Add(5 * time.Second), Answer: a,
	}
	if id[0] == '-' {
		r.Caller = healCaller
	}
	h.Results = append(h.Results, r)
	h.stubs = append(h.stubs, tracetest.SpanStub{
		Name: id, SpanContext: h.context(), StartTime: start, EndTime: r.End,
		Attributes: []attribute.KeyValue{
			attribute.StringSlice(contacted, nil), telemetry.AttrApplicableRegions.StringSlice([]string{east, west}),
		},
	})
	if op.Write() {
		h.stubs[len(h.stubs)-1].Attributes[1] = telemetry.AttrApplicableRegions.StringSlice([]string{east})
	}
	return &h.Results[len(h.Results)-1]
}

func (h *byHand) context() trace.SpanContext {
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(len(h.stubs)+1)) //nolint:gosec // small
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id})
}

// operation is the span of a call.
func (h *byHand) operation(id string) *tracetest.SpanStub {
	return &h.stubs[slices.IndexFunc(h.stubs, func(s tracetest.SpanStub) bool { return s.Name == id })]
}

// attempt adds an attempt of a call, to the gateway's log and to the spans.
func (h *byHand) attempt(r *Result, region string, reason telemetry.Reason, status int) *gateway.Entry {
	o := h.operation(r.ID)
	if reason != telemetry.Probe {
		o.Attributes[0] = attribute.StringSlice(contacted, append(o.Attributes[0].Value.AsStringSlice(), region))
	}
	at := r.Start.Add(time.Duration(len(o.Attributes[0].Value.AsStringSlice())) * 10 * time.Millisecond)
	s := tracetest.SpanStub{
		Name: "attempt", SpanContext: h.context(), Parent: o.SpanContext, StartTime: at, EndTime: at.Add(5 * time.Millisecond),
		Attributes: []attribute.KeyValue{telemetry.AttrRegion.String(region), telemetry.AttrReason.String(string(reason))},
	}
	if status != 0 {
		s.Attributes = append(s.Attributes, attribute.String("db.response.status_code", strconv.Itoa(status)))
	}
	h.stubs = append(h.stubs, s)
	header := http.Header{}
	for name, value := range map[string]string{
		callHeader: r.ID, spanHeader: s.SpanContext.SpanID().String(), "x-ms-activity-id": r.ID, "x-ms-session-token": r.Token,
	} {
		header.Set(name, value)
	}
	h.Log = append(h.Log, gateway.Entry{
		Seq: len(h.Log) + 1, At: at, Duration: 5 * time.Millisecond, Region: region, Operation: string(r.Op), Write: r.Op.Write(),
		Key: `["k0"]`, Header: header, Status: status, Done: true, Executed: status == 200,
	})
	if r.Op.Write() && status == 200 {
		h.Writes = append(h.Writes, gateway.Execution{Operation: string(r.Op), Key: `["k0"]`, ID: "0", Activity: r.ID})
	}
	return &h.Log[len(h.Log)-1]
}

// result is a call by its id.
func (h *byHand) result(id string) *Result {
	return &h.Results[slices.IndexFunc(h.Results, func(r Result) bool { return r.ID == id })]
}

// broken are the names of the invariants that the run breaks, each once.
func (h *byHand) broken() []string {
	h.Spans = h.stubs.Snapshots()
	var names []string
	for _, v := range Judge(h.Run) {
		names = append(names, v.Invariant)
	}
	return slices.Compact(names)
}

// TestOverSocketsNothingIsWrong judges runs in which only happens what sockets and
// busy machines do.
func TestOverSocketsNothingIsWrong(t *testing.T) {
	require.Empty(t, newByHand().broken())
	for name, change := range map[string]func(*byHand){
		"a call ends late": func(h *byHand) { h.result("0.1").End = h.result("0.1").Until.Add(slack) },
		"net/http sends a read again": func(h *byHand) {
			first := h.Log[1]
			first.Status, first.Fault = 0, "reset"
			h.Log[1].Seq = 100
			h.Log = slices.Insert(h.Log, 1, first)
		},
		"an attempt does not arrive": func(h *byHand) {
			h.attempt(h.result("0.1"), west, telemetry.NextRegion, 0)
			h.Log = h.Log[:len(h.Log)-1]
		},
		"an answer comes too late": func(h *byHand) {
			h.result("0.1").Answer, h.result("0.1").Deadline = answer{Err: "deadline"}, Duration(slack)
			h.stubs[3].Attributes = h.stubs[3].Attributes[:2]
		},
		"a hedge begins as the call ends": func(h *byHand) {
			h.attempt(h.result("0.1"), west, telemetry.Hedge, 0)
			h.Log[len(h.Log)-1].Fault = "down"
			h.operation("0.1").Attributes[0] = attribute.StringSlice(contacted, []string{east})
			h.stubs[len(h.stubs)-1].EndTime = h.operation("0.1").EndTime.Add(time.Millisecond)
		},
		"what is left has no effect": func(h *byHand) {
			due := h.AtEnd.At.Add(-time.Second)
			h.AtEnd.Accounts[0].Unwell = []telemetry.PartitionState{{Region: east, NextProbe: &due}}
			h.AtEnd.Accounts[0].Overrides = []telemetry.OverrideState{{Timeouts: 1}}
		},
		"a client need not know where the writes are": func(h *byHand) {
			h.Events = append(h.Events, Event{At: Duration(50 * time.Second), Do: Primary, Region: east})
			h.AtEnd.Accounts[0].Overrides = []telemetry.OverrideState{{Region: east}}
		},
		"a request had no time": func(h *byHand) {
			r := h.result("0.2")
			r.Deadline, r.Answer = Duration(slack), answer{Status: 503, Err: "answer"}
		},
		"the connections of a region broke": func(h *byHand) {
			h.Shared = true
			h.Events = append(h.Events, Event{
				At: Duration(14 * time.Second), For: Duration(2 * time.Second), Do: Fault,
				Rule: &Rule{Operations: []string{"account"}, Kind: "reset"},
			})
			h.result("0.1").Answer = answer{Err: "transport"}
			h.stubs[3].Attributes = h.stubs[3].Attributes[:2]
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newByHand()
			change(h)
			require.Empty(t, h.broken())
		})
	}
}

// wrongs are runs in which one thing is wrong, with the invariant that tells.
var wrongs = []struct {
	invariant string
	change    func(*byHand)
}{
	{"every request ends by its deadline", func(h *byHand) { h.result("0.1").End = h.result("0.1").Until.Add(slack + 1) }},
	{"every request ends by its deadline", func(h *byHand) {
		r := h.result("0.1")
		r.Cancel, r.End = Duration(time.Second), r.Start.Add(time.Second+slack+1)
	}},
	{"nothing outlives its request", func(h *byHand) { h.Log[1].Duration = slack + time.Second }},
	{"nothing is sent for a deadline already past", func(h *byHand) {
		r := h.result("0.1")
		r.Deadline, r.Until = Duration(-time.Second), r.Start.Add(-time.Second)
	}},
	{"no ambiguous write is sent again", func(h *byHand) {
		h.Log[0].Status, h.Log[0].Fault = 0, "lost"
		h.stubs[1].Attributes = h.stubs[1].Attributes[:2]
		h.Log = slices.Insert(h.Log, 1, *h.attempt(h.result("0.0"), west, telemetry.Failover, 200))
		h.Log, h.Writes = h.Log[:len(h.Log)-1], slices.Delete(h.Writes, 2, 3)
	}},
	{"no ambiguous write is sent again", func(h *byHand) { h.Double = h.Writes[:1] }},
	{"every acknowledged write is in the store", func(h *byHand) { h.Writes = h.Writes[1:] }},
	{"the store holds what was written last", func(h *byHand) { h.Stored["k0/0"] = 10 }},
	{"the store holds what was written last", func(h *byHand) { delete(h.Stored, "k0/0") }},
	{"the store holds what was written last", func(h *byHand) { h.Writes[1].Operation = "delete" }},
	{"a session never gets an older answer", func(h *byHand) {
		r := h.result("0.1")
		r.Token, r.Answer.Items = "0:-1#1", map[string]int{"k0/0": 0}
		h.Log[1].Header.Set("x-ms-session-token", r.Token)
	}},
	{"the session token is kept", func(h *byHand) { h.result("0.1").Token = "0:-1#1" }},
	{"an excluded region is contacted only by the rules", func(h *byHand) { h.result("0.1").Excluded = &[]string{east} }},
	{"a healthy applicable region means success", func(h *byHand) {
		h.result("0.2").Answer = answer{Status: 503, Err: "answer"}
	}},
	{"after the troubles everything succeeds", func(h *byHand) {
		h.result("-2.1").Answer = answer{Err: "transport"}
	}},
	{"attempts are bounded", func(h *byHand) {
		for range 3 {
			h.attempt(h.result("0.2"), west, telemetry.Session, 200)
		}
	}},
	{"each region is visited once", func(h *byHand) { h.attempt(h.result("0.2"), west, telemetry.NextRegion, 200) }},
	{"the next region is asked at once", func(h *byHand) {
		h.Log[3].At = h.Log[3].At.Add(slack + 50*time.Millisecond)
		h.result("0.2").End = h.Log[3].At.Add(time.Second)
	}},
	{"hedges are within bounds", func(h *byHand) {
		h.Client.NoHedge = true
		h.attempt(h.result("0.1"), west, telemetry.Hedge, 200)
	}},
	{"probes are within bounds", func(h *byHand) { h.attempt(h.result("0.1"), west, telemetry.Probe, 200) }},
	{"the caller gets an answer that was given", func(h *byHand) { h.result("0.1").Answer.Status = 304 }},
	{"an override is confirmed", func(h *byHand) {
		h.Changes = []Change{{At: noon, Message: failoverLine, Fields: map[string]string{"change": "set", "to": west}}}
	}},
	{"a region that is well again is let back", func(h *byHand) {
		h.operation("-2.1").Attributes[1] = telemetry.AttrApplicableRegions.StringSlice([]string{west})
	}},
	{"nothing is left after a quiet hour", func(h *byHand) {
		later := h.AtEnd.At.Add(time.Second)
		h.AtEnd.Accounts[0].Unwell = []telemetry.PartitionState{{Region: east, NextProbe: &later}}
	}},
	{"nothing is left after a quiet hour", func(h *byHand) {
		h.AtEnd.Accounts[0].Overrides = []telemetry.OverrideState{{Region: west}}
	}},
	{"nothing is left after a quiet hour", func(h *byHand) {
		h.Patient = true
		h.AtEnd.Accounts[0].Unwell = []telemetry.PartitionState{{Region: east}}
	}},
	{"account reads are within the rate", func(h *byHand) {
		for range 17 {
			h.Log = append(h.Log, gateway.Entry{At: noon, Region: gateway.Global, Operation: "account"})
		}
	}},
	{"telemetry tells what the gateway saw", func(h *byHand) {
		h.operation("0.1").Attributes[0] = attribute.StringSlice(contacted, []string{west})
	}},
	{"telemetry tells what the gateway saw", func(h *byHand) {
		h.attempt(h.result("0.1"), west, telemetry.Hedge, 0) // that ended before its call
		h.operation("0.1").Attributes[0] = attribute.StringSlice(contacted, []string{east})
	}},
	{"telemetry tells what the gateway saw", func(h *byHand) { h.Log[3].Status = 304 }},
	{"telemetry tells what the gateway saw", func(h *byHand) { h.Log = slices.Delete(h.Log, 2, 3) }},
	{"telemetry tells what the gateway saw", func(h *byHand) { h.Log[2].Header.Set(spanHeader, "0") }},
	{"telemetry tells what the gateway saw", func(h *byHand) {
		h.stubs[3].Attributes = h.stubs[3].Attributes[:2] // an answer that nothing could lose
	}},
}

// TestOverSocketsWhatIsWrongIsFound judges runs in which one thing is wrong.
func TestOverSocketsWhatIsWrongIsFound(t *testing.T) {
	for _, w := range wrongs {
		t.Run(w.invariant, func(t *testing.T) {
			h := newByHand()
			w.change(h)
			require.Contains(t, h.broken(), w.invariant)
		})
	}
	for _, i := range invariants {
		tried := slices.ContainsFunc(wrongs, func(w struct {
			invariant string
			change    func(*byHand)
		},
		) bool {
			return w.invariant == i.name
		})
		require.True(t, tried || i.where == inBubble || i.name == "the global endpoint carries no data", i.name)
	}
}
