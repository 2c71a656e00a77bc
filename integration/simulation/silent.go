package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// legHeader carries what a request is of a call that nobody records.
const legHeader = "x-simulation-leg"

// silentParent is the parent of every silent call: a span of a trace that was not
// sampled.
var silentParent = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{'s', 'i', 'l', 'e', 'n', 't'}, SpanID: trace.SpanID{'s', 'i', 'l', 'e', 'n', 't'},
})

// silenced is a context of which nothing is recorded.
func silenced(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, silentParent)
}

// legOf tells a request of the walk, as which it gives its first reason, from a
// hedge and a probe. Those two are private requests, whose context hides azcore's
// state under a type of its own; a probe has five seconds from the moment on at
// which it is sent.
func legOf(ctx context.Context) telemetry.Reason {
	if !strings.Contains(fmt.Sprintf("%T %v", ctx, ctx), "withoutURLState") {
		return telemetry.Initial
	}
	if until, ok := ctx.Deadline(); ok && until.Equal(time.Now().Add(5*time.Second)) {
		return telemetry.Probe
	}
	return telemetry.Hedge
}

// silent tells an attempt that nobody recorded.
func (a attempt) silent() bool { return a.Header.Get(legHeader) != "" }

// silent tells an operation that nobody was to record.
func (o *operation) silent() bool { return o.result.Silent }

// goingOn is the reason of an attempt of a walk after its first one, as far as it
// can be known of one that nobody recorded.
func (e *evidence) goingOn(a attempt) telemetry.Reason {
	switch {
	case a.asHub():
		return telemetry.Session
	case a.Write && e.ever(e.Ended, func(s state) bool { return !s.multi }):
		return telemetry.Failover // to the write region, or once more to the same
	default:
		return telemetry.NextRegion
	}
}

// passOf are the passes of the attempts, from 0, where times are exact: azcore's
// repetition begins when nothing is in flight any more, some time after an answer
// that it goes on with. A race has no other pause.
func (o *operation) passOf() []int {
	passes, raw, end := make([]int, len(o.attempts)), false, time.Time{}
	for i, a := range o.attempts {
		if i > 0 {
			passes[i] = passes[i-1]
		}
		if raw && a.At.After(end) {
			passes[i]++
			raw = false
		}
		raw = raw || a.raw()
		if a.end().After(end) {
			end = a.end()
		}
	}
	return passes
}

// hedgedAgain tells whether a pass was hedged after another one was.
func (o *operation) hedgedAgain() bool {
	passes, hedged := o.passOf(), -1
	for i, a := range o.attempts {
		if a.reason != string(telemetry.Hedge) {
			continue
		}
		if hedged >= 0 && hedged != passes[i] {
			return true
		}
		hedged = passes[i]
	}
	return false
}

// silenceIsKept: nothing is recorded of a silent call, neither in its trace nor
// with a link to it.
func (e *evidence) silenceIsKept(fail report) {
	silent := silentParent.TraceID()
	for _, s := range e.Spans {
		linked := slices.ContainsFunc(s.Links(), func(l sdktrace.Link) bool { return l.SpanContext.TraceID() == silent })
		if linked || s.SpanContext().TraceID() == silent {
			fail("nobody was to record %s %v", s.Name(), s.Attributes())
		}
	}
	for _, o := range e.operations {
		if o.silent() && o.span != nil {
			fail("nobody was to record it: %v", o)
		}
	}
}

// silentLetBack: of a silent read in the end only the region is known that it asks
// first. An override may have a say in that, and hedges that have just won open a
// region anew.
func (e *evidence) silentLetBack(fail report) {
	if len(e.AtEnd.Accounts) != 1 || e.AtEnd.Accounts[0].OverrideCount > 0 {
		return
	}
	list, want := e.openings(), e.expected(false)[0]
	for _, o := range e.operations {
		judged := o.result.Caller == quietCaller && o.silent() && !o.result.opened(list, want, false)
		if judged && o.attempts[0].Region != want {
			fail("not asked first: %s: %v", want, o)
		}
	}
}
