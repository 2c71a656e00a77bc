package simulation

import (
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// telemetryTellsTheSockets is what telemetryTellsTheLog is in a bubble. Over
// sockets a request can be lost on its way to the gateway, and its answer on the
// way back: then the span tells no status.
//
// The contacted regions of an operation are those of its attempts, every request
// that the gateway saw is one of them, with the same region and answer, and an
// attempt that had an answer was seen by the gateway.
func telemetryTellsTheSockets(e *evidence, fail report) {
	children, seen := map[string][]sdktrace.ReadOnlySpan{}, map[string]bool{}
	for _, s := range e.Spans {
		if isAttempt(s) && put(s, telemetry.AttrReason) != string(telemetry.Probe) {
			parent := s.Parent().SpanID().String()
			children[parent] = append(children[parent], s)
		}
	}
	for _, a := range e.Log {
		seen[a.Header.Get(spanHeader)] = true
	}
	e.silenceIsKept(fail)
	for _, o := range e.operations {
		if o.silent() {
			continue
		}
		if o.span == nil {
			fail("no span: %v", o)
			continue
		}
		list := children[o.span.SpanContext().SpanID().String()]
		slices.SortStableFunc(list, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
		if told := o.toldOf(list); told != "" {
			fail("%s: %v", told, o)
		}
		for _, s := range list {
			if status(s) != "" && !seen[s.SpanContext().SpanID().String()] {
				fail("nobody gave the answer %s of %s: %v", status(s), put(s, telemetry.AttrRegion), o)
			}
		}
		e.attemptsAreTold(o, fail)
	}
}

func (e *evidence) attemptsAreTold(o *operation, fail report) {
	for _, a := range o.attempts {
		if told := e.toldOverSockets(o, a); told != "" {
			fail("%s: %v in %v", told, a, o)
		}
	}
}

// toldOf compares the contacted regions of an operation with its attempts' spans;
// the order of a hedged operation's is chance. A hedge that begins at the moment at
// which the operation ends is too late to be told: it outlives the operation, with
// no answer.
func (o *operation) toldOf(attempts []sdktrace.ReadOnlySpan) string {
	var sent []string
	for _, s := range attempts {
		late := put(s, telemetry.AttrReason) == string(telemetry.Hedge) && status(s) == "" && s.EndTime().After(o.span.EndTime())
		if region := put(s, telemetry.AttrRegion); !late || slices.Contains(stringsOf(o.span, contacted), region) {
			sent = append(sent, region)
		}
	}
	told := stringsOf(o.span, contacted)
	if slices.ContainsFunc(attempts, func(s sdktrace.ReadOnlySpan) bool { return put(s, telemetry.AttrReason) == string(telemetry.Hedge) }) {
		slices.Sort(sent)
		slices.Sort(told)
	}
	if slices.Equal(slices.Compact(sent), slices.Compact(told)) {
		return ""
	}
	return "contacted are " + strings.Join(told, ", ") + ", attempts were made in " + strings.Join(sent, ", ")
}

// toldOverSockets is what is wrong with the span of an attempt, "" for nothing.
func (e *evidence) toldOverSockets(o *operation, a attempt) string {
	s := e.spans[a.span]
	switch {
	case s == nil || !isAttempt(s) || put(s, telemetry.AttrRegion) != a.Region:
		return "no span of its own"
	case s.Parent().SpanID() != o.span.SpanContext().SpanID():
		return "the span is another operation's"
	case status(s) == "" && (a.Status == 0 || e.mayLose(o, a)):
		return ""
	case o.resentLater(a):
		return "" // the span tells of the last one
	case status(s) != statusOf(a) || subStatusOf(s) != a.SubStatus:
		return "the span tells " + status(s) + "/" + itoa(subStatusOf(s))
	default:
		return ""
	}
}

// mayLose tells whether an answer may not have arrived: the client did not wait
// any more, or its connection was broken.
func (e *evidence) mayLose(o *operation, a attempt) bool {
	ended := o.result.Answer.Err == "deadline" || o.result.Answer.Err == "cancelled"
	timedOut := e.Client.AttemptTimeout > 0 && a.Duration+e.Slack > time.Duration(e.Client.AttemptTimeout)
	return ended || timedOut || o.count(telemetry.Hedge) > 0 || slices.ContainsFunc(e.Events, func(v Event) bool {
		return v.Do == Down || e.Shared && v.Do == Fault && v.Rule.breaks(a.Region)
	})
}

// resentLater tells whether net/http sent an attempt once more.
func (o *operation) resentLater(a attempt) bool {
	return slices.ContainsFunc(o.attempts, func(b attempt) bool { return b.span == a.span && b.Seq > a.Seq })
}
