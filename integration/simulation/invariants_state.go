package simulation

import (
	"slices"
	"strconv"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// failed tells an attempt that can speak against its region: the rows of package
// policy that say "failure", or that mark it.
func (a attempt) failed() bool {
	switch a.Status {
	case 0, 408, 410, 429:
		return true
	case 403:
		return a.SubStatus == 3 || a.SubStatus == 1008
	default:
		return a.Status >= 500 && a.Status != 501 && a.Status != 505
	}
}

// brief tells an attempt that the caller's deadline, or its cancellation, ended
// too early to count (package policy); one that lost to a hedge may count.
func (o *operation) brief(a attempt) bool {
	return a.Cancelled && a.Duration < 100*time.Millisecond && o.count(telemetry.Hedge) == 0
}

// blamed tells whether something spoke against a region before t.
func (e *evidence) blamed(region string, write bool, t time.Time, against func(attempt) bool) bool {
	for _, o := range e.operations {
		for _, a := range o.attempts {
			if a.Region == region && a.Write == write && !a.end().After(t) && against(a) && !o.brief(a) {
				return true
			}
		}
	}
	return slices.ContainsFunc(e.probes, func(a attempt) bool {
		return a.Region == region && !write && !a.end().After(t) && against(a)
	})
}

// blameIsDeserved: the breaker opens, and keeps a record of, a region that has
// failed, or that a hedge has won against; an endpoint is marked that has refused
// (packages regions and breaker). A hedge's failure is its own region's.
func blameIsDeserved(e *evidence, fail report) {
	for _, c := range e.Changes {
		if c.Message == breakerLine && c.Fields["to"] == "Unavailable" &&
			!e.blamed(c.Fields["region"], c.Fields["write"] == "true", c.At, attempt.failed) {
			fail("%s was opened for nothing: %v", c.Fields["region"], c.Fields)
		}
	}
	for _, a := range e.AtHeal.Accounts {
		for _, p := range a.Unwell {
			if !e.blamed(p.Region, p.Write, e.Healed, attempt.failed) {
				fail("%s has a record for nothing: %+v", p.Region, p)
			}
		}
		e.marksAreDeserved(a, fail)
	}
}

// marksAreDeserved is the same for the marks of endpoints.
func (e *evidence) marksAreDeserved(a telemetry.AccountState, fail report) {
	refused := func(a attempt) bool { return a.refused() || a.Status == 403 }
	for _, r := range a.Regions {
		if r.UnwellReads != nil && !e.blamed(r.Name, false, e.Healed, refused) && !e.metadataRefused(r.Name) {
			fail("%s is marked for nothing", r.Name)
		}
		if r.UnwellWrites != nil && !e.blamed(r.Name, true, e.Healed, refused) {
			fail("%s is marked for writes for nothing", r.Name)
		}
	}
}

// metadataRefused tells whether a region refused a read of metadata.
func (e *evidence) metadataRefused(region string) bool {
	for _, x := range e.Log {
		if x.Region == region && !isData(x.Operation) && (x.Status == 0 || x.Status == 403) {
			return true
		}
	}
	return false
}

// overrideIsConfirmed: an override is recorded when a region confirms, so that a
// blip of the write region moves nothing (package ppaf).
func overrideIsConfirmed(e *evidence, fail report) {
	for _, c := range e.Changes {
		if c.Message != failoverLine || c.Fields["change"] != "set" && c.Fields["change"] != "moved" {
			continue
		}
		confirms := func(a attempt) bool {
			return a.Write && a.Region == c.Fields["to"] && c.At.Sub(a.end()).Abs() <= e.Slack && a.Status != 0 && !a.failed()
		}
		if !slices.ContainsFunc(e.operations, func(o *operation) bool { return slices.ContainsFunc(o.attempts, confirms) }) {
			fail("%v", c.Fields)
		}
	}
}

// letBack: a region that is well again is let back, one probe at a time; after
// the longest opening every request has its applicable regions (package breaker).
// Of writes only the first region is let back by a probe: no write would come to
// the others.
func letBack(e *evidence, fail report) {
	for _, caller := range []int{healCaller, quietCaller} {
		for _, write := range []bool{false, true} {
			o := e.lastOf(caller, write)
			stale := caller == healCaller && len(e.states) > 1 // the client learns of a change within five minutes
			if o == nil || o.span == nil || e.Cold || stale {
				continue
			}
			got, want := stringsOf(o.span, telemetry.AttrApplicableRegions), e.expected(write)
			if caller == healCaller && write && slices.Contains(got, want[0]) {
				continue
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				fail("applicable at %s: %v, expected %v: %v", o.result.ID, got, want, o)
			}
		}
	}
	e.silentLetBack(fail)
}

// lastOf is the last operation of a caller.
func (e *evidence) lastOf(caller int, write bool) (last *operation) {
	for _, o := range e.operations {
		if o.result.Caller == caller && o.write() == write && o.result.ID != "" && !o.silent() {
			last = o
		}
	}
	return last
}

// quietIsEmpty: breaker and overrides are empty after a quiet hour, and no
// endpoint is marked. In real time there is no such hour, the marks stay for five
// minutes, and options are short: see [Stage.Quiet].
//
// An override of a range that was split stays: no request names that range any
// more. So does one of a range that has got another name since, because its
// container's ranges were read.
func quietIsEmpty(e *evidence, fail report) {
	split := slices.ContainsFunc(e.Events, func(v Event) bool { return v.Do == Split })
	if e.Slack > 0 {
		if left := held(e.AtEnd, e.Patient, !slices.ContainsFunc(e.Events, Event.overridesLast)); left != "" {
			fail("%s", left)
		}
		return
	}
	for _, a := range e.AtEnd.Accounts {
		if a.UnwellCount != 0 {
			fail("unwell: %+v", a.Unwell)
		}
		for _, r := range a.Regions {
			if r.UnwellReads != nil || r.UnwellWrites != nil {
				fail("marked: %+v", r)
			}
		}
		renamed := e.Client.Bind || e.uses(ReadMany, ChangeFeed) || split
		if a.OverrideCount != 0 && !renamed {
			fail("overrides: %+v", a.Overrides)
		}
	}
}

// topologyIsKnown: what changed is known five minutes and one request later.
func topologyIsKnown(e *evidence, fail report) {
	if len(e.AtEnd.Accounts) != 1 {
		fail("%d accounts", len(e.AtEnd.Accounts))
		return
	}
	s, a := e.states[len(e.states)-1], e.AtEnd.Accounts[0]
	var readable []string
	hub := ""
	for _, r := range a.Regions {
		if r.Readable {
			readable = append(readable, r.Name)
		}
		if r.Primary {
			hub = r.Name
		}
	}
	if !slices.Equal(readable, s.regions) || hub != s.hub || a.MultiWrite != s.multi {
		fail("%v, %s, %v; in fact %v, %s, %v", readable, hub, a.MultiWrite, s.regions, s.hub, s.multi)
	}
}

// telemetryTellsTheLog: every request that the gateway saw has its span, every
// span its request, with the same region and answer, in the same order (package
// telemetry).
//
// The first attempt of a metadata read has no span, and nothing of a silent call.
func telemetryTellsTheLog(e *evidence, fail report) {
	seen := map[string]int{}
	for _, a := range e.Log {
		seen[a.Header.Get(spanHeader)]++
	}
	for id, s := range e.spans {
		if isAttempt(s) && seen[id] != 1 && put(s, telemetry.AttrReason) != "initial" {
			fail("%d requests for the span %s %v", seen[id], s.Name(), s.Attributes())
		}
	}
	e.silenceIsKept(fail)
	for _, o := range e.operations {
		if o.silent() {
			continue
		}
		for _, a := range append(slices.Clone(o.attempts), e.probesOf(o)...) {
			if told := e.told(a); told != "" {
				fail("%s: %v in %v", told, a, o)
			}
		}
		if !o.toldInOrder() {
			fail("the span tells another order: %v", o)
		}
	}
}

// told is what is wrong with the span of an attempt, "" for nothing.
func (e *evidence) told(a attempt) string {
	s := e.spans[a.span]
	switch {
	case s == nil || !isAttempt(s) || put(s, telemetry.AttrRegion) != a.Region:
		return "no span of its own"
	case status(s) == "" && e.results[a.call] != nil && e.results[a.call].Op == ReadMany:
		return "" // azcosmos cancels its other queries at the very moment in which one fails
	case !a.Cancelled && (status(s) != statusOf(a) || subStatusOf(s) != a.SubStatus):
		return "the span tells " + status(s) + "/" + itoa(subStatusOf(s))
	default:
		return ""
	}
}

func statusOf(a attempt) string {
	if a.Status == 0 {
		return ""
	}
	return strconv.Itoa(a.Status)
}

// probesOf are the probes with an operation's activity id.
func (e *evidence) probesOf(o *operation) []attempt {
	return slices.DeleteFunc(slices.Clone(e.probes), func(a attempt) bool { return a.Header.Get("x-ms-activity-id") != o.activity })
}

const contacted = "azure.cosmosdb.operation.contacted_regions"

// toldInOrder compares the contacted regions of the span, where one that is asked
// again at once stands once, with the attempts; of a hedged operation the order
// is chance when two are sent at the same moment.
func (o *operation) toldInOrder() bool {
	if o.span == nil {
		return false
	}
	var sent []string
	for _, a := range o.attempts {
		sent = append(sent, a.Region)
	}
	told := stringsOf(o.span, contacted)
	if o.count(telemetry.Hedge) > 0 {
		slices.Sort(sent)
		slices.Sort(told)
	}
	return slices.Equal(slices.Compact(sent), slices.Compact(told))
}
