package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// attempt is a line of the gateway's log with what the middleware said about it.
type attempt struct {
	gateway.Entry
	call, span, reason string
}

// asHub tells an attempt under the header of the hub.
func (a attempt) asHub() bool { return a.Header.Get("x-ms-cosmos-hub-region-processing-only") != "" }

func (a attempt) end() time.Time { return a.At.Add(a.Duration) }

// refused tells a connection that was never made.
func (a attempt) refused() bool { return a.Status == 0 && (a.Fault == "refuse" || a.Fault == "down") }

// raw tells an answer that azcosmos or azcore goes on with.
func (a attempt) raw() bool {
	return a.Status == 429 && a.SubStatus != 3092 || a.Status == 449 || a.Status == 410 && slices.Contains([]int{1000, 1002, 1007, 1008}, a.SubStatus)
}

// String is the attempt in short.
func (a attempt) String() string {
	s := fmt.Sprintf("%s %s %s %s/%s", a.At.Format("04:05.000"), a.reason, a.Region, a.Operation, a.call)
	if a.Cancelled {
		return s + " cancelled"
	}
	return fmt.Sprintf("%s %d/%d %s", s, a.Status, a.SubStatus, a.Fault)
}

// operation is one HTTP operation of azcosmos about items: all that was sent
// for it but probes, in order.
type operation struct {
	activity string
	result   *Result
	attempts []attempt
	span     sdktrace.ReadOnlySpan // nil: none was made
}

func (o *operation) write() bool { return o.attempts[0].Write }

// passes is how many times the operation came to our policy at most: azcore
// repeats a 429.
func (o *operation) passes() int {
	n := 1
	for _, a := range o.attempts {
		if a.raw() {
			n++
		}
	}
	return n
}

// count is how many attempts were made for one of the reasons.
func (o *operation) count(reasons ...telemetry.Reason) int {
	n := 0
	for i, a := range o.attempts {
		if slices.Contains(reasons, telemetry.Reason(a.reason)) && !o.resent(i) {
			n++
		}
	}
	return n
}

// resent tells an attempt that net/http sent once more by itself, as it does with
// reads on connections that turn out to be broken.
func (o *operation) resent(i int) bool {
	return slices.ContainsFunc(o.attempts[:i], func(a attempt) bool { return a.span == o.attempts[i].span })
}

// String is the operation's attempts, a line each.
func (o *operation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s key %d until %s got %v", o.result.ID, o.result.Op, o.result.Key, o.result.Until.Format("04:05.000"), o.result.Answer)
	for _, a := range o.attempts {
		b.WriteString("\n\t\t" + a.String())
	}
	return b.String()
}

// evidence is a run, put together.
type evidence struct {
	*Run
	results    map[string]*Result
	operations []*operation
	of         map[string][]*operation // by the call's ID
	probes     []attempt
	spans      map[string]sdktrace.ReadOnlySpan
	states     []state
}

// put is the attribute of a span as a string, "" without it.
func put(s sdktrace.ReadOnlySpan, key attribute.Key) string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// isAttempt tells the spans of attempts and probes.
func isAttempt(s sdktrace.ReadOnlySpan) bool {
	return put(s, telemetry.AttrRegion) != "" && put(s, telemetry.AttrReason) != ""
}

func newEvidence(r *Run) *evidence {
	e := &evidence{
		Run: r, results: map[string]*Result{}, spans: map[string]sdktrace.ReadOnlySpan{},
		of: map[string][]*operation{}, states: r.states(),
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int { return a.Start.Compare(b.Start) })
	for i := range r.Results {
		e.results[r.Results[i].ID] = &r.Results[i]
	}
	for _, s := range r.Spans {
		e.spans[s.SpanContext().SpanID().String()] = s
	}
	byActivity := map[string]*operation{}
	for _, entry := range r.Log {
		e.add(entry, byActivity)
	}
	return e
}

// add puts a line of the log to its operation.
func (e *evidence) add(entry gateway.Entry, byActivity map[string]*operation) {
	a, s := e.attempt(entry)
	if !isData(entry.Operation) {
		return
	}
	if a.reason == string(telemetry.Probe) {
		e.probes = append(e.probes, a)
		return
	}
	id := entry.Header.Get("x-ms-activity-id")
	o := byActivity[id]
	if o == nil {
		o = &operation{activity: id, result: e.results[a.call]}
		byActivity[id] = o
		if o.result == nil {
			o.result = &Result{ID: a.call} // a reading of ranges, or unknown
		}
		e.operations = append(e.operations, o)
		e.of[a.call] = append(e.of[a.call], o)
	}
	if s != nil && isAttempt(s) && o.span == nil {
		o.span = e.spans[s.Parent().SpanID().String()]
	}
	if a.silent() && len(o.attempts) > 0 && a.reason == string(telemetry.Initial) {
		a.reason = string(e.goingOn(a))
	}
	o.attempts = append(o.attempts, a)
}

// attempt is a line of the log with its reason, and its span if it has one.
func (e *evidence) attempt(entry gateway.Entry) (attempt, sdktrace.ReadOnlySpan) {
	a := attempt{Entry: entry, call: entry.Header.Get(callHeader), span: entry.Header.Get(spanHeader)}
	if leg := entry.Header.Get(legHeader); leg != "" {
		a.reason, a.span = leg, "silent "+strconv.Itoa(entry.Seq) // all have the caller's span
		return a, nil
	}
	s := e.spans[a.span]
	if s != nil && isAttempt(s) {
		a.reason = put(s, telemetry.AttrReason)
	}
	return a, s
}

func isData(operation string) bool {
	return slices.Contains([]string{"create", "upsert", "replace", "patch", "delete", "batch", "read", "query", "changefeed", "readfeed"}, operation)
}

// state is the account and the client's exclusions from a moment on.
type state struct {
	from              time.Duration // since the world went live
	regions           []string
	hub               string
	multi             bool
	failover, noHedge *bool
	excluded          []string
}

// states are the account's, in order. The first one holds from the start.
func (w World) states() []state {
	s := state{
		regions: w.Account.Regions, hub: w.Account.Regions[0], multi: w.Account.MultiWrite,
		failover: w.Account.PartitionFailover, noHedge: w.Account.HedgingDisabled, excluded: w.Client.Excluded,
	}
	list := []state{s}
	events := slices.SortedStableFunc(slices.Values(w.Events), func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for _, v := range events {
		s.from = time.Duration(v.At)
		switch v.Do {
		case Primary:
			if slices.Contains(s.regions, v.Region) {
				s.hub = v.Region
			}
		case Regions:
			if s.regions = v.Names; !slices.Contains(v.Names, s.hub) {
				s.hub = v.Names[0]
			}
		case Multi:
			s.multi = v.On != nil && *v.On
		case Failover:
			s.failover = v.On
		case NoHedging:
			s.noHedge = v.On
		case Exclude:
			s.excluded = v.Names
		default:
			continue
		}
		list = append(list, s)
	}
	return list
}

// until are the states that have held by a moment: what the client knows of the
// account is one of them.
func (e *evidence) until(t time.Time) []state {
	n := 1
	for n < len(e.states) && !e.Live.Add(e.states[n].from).After(t) {
		n++
	}
	return e.states[:n]
}

// ever tells whether something held in some state until t, always whether in all.
func (e *evidence) ever(t time.Time, holds func(state) bool) bool {
	return slices.ContainsFunc(e.until(t), holds)
}

func (e *evidence) always(t time.Time, holds func(state) bool) bool {
	return !e.ever(t, func(s state) bool { return !holds(s) })
}

// status is the status that a span tells, "" for none.
func status(s sdktrace.ReadOnlySpan) string { return put(s, "db.response.status_code") }

// subStatusOf is the sub-status that a span tells, 0 for none.
func subStatusOf(s sdktrace.ReadOnlySpan) int {
	n, _ := strconv.Atoi(put(s, "azure.cosmosdb.response.sub_status_code"))
	return n
}

// stringsOf is an attribute of a span that is a list.
func stringsOf(s sdktrace.ReadOnlySpan, key attribute.Key) []string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return slices.Clone(a.Value.AsStringSlice())
		}
	}
	return nil
}
