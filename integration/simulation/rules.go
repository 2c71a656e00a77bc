package simulation

import (
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// base are the regions that a request could go to in a state of the account,
// before exclusions and the breaker: package regions, for everything but
// writes on single-write accounts.
func (w World) base(s state) []string {
	var list []string
	for _, p := range w.Client.Preferred {
		if slices.Contains(s.regions, p) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case w.Client.Regional == "": // a preference without a region of the account is none
		return s.regions
	case s.multi && slices.Contains(s.regions, w.Client.Regional):
		return []string{w.Client.Regional}
	default:
		return []string{s.hub}
	}
}

// excludedBy are the exclusions that hold for a call, and whether they are the
// same for all of it.
func (e *evidence) excludedBy(r *Result) (list []string, steady bool) {
	if r.Excluded != nil {
		return *r.Excluded, true
	}
	before, after := e.until(r.Start), e.until(r.End)
	return after[len(after)-1].excluded, slices.Equal(before[len(before)-1].excluded, after[len(after)-1].excluded)
}

// opening is a time in which the breaker had a region opened for a partition.
type opening struct {
	region   string
	write    bool
	from, to time.Time
}

// openings are read from the middleware's log.
func (e *evidence) openings() []opening {
	var list []opening
	open := map[string]int{} // the place in the list, from 1
	for _, c := range e.Changes {
		if c.Message != breakerLine {
			continue
		}
		key := c.Fields["container"] + c.Fields["partition"] + c.Fields["region"] + c.Fields["write"]
		if i := open[key]; i > 0 {
			list[i-1].to = c.At
			delete(open, key)
		}
		if c.Fields["to"] == "Unavailable" {
			list = append(list, opening{c.Fields["region"], c.Fields["write"] == "true", c.At, e.Ended})
			open[key] = len(list)
		}
	}
	for i := range list { // the line is written a moment after the change
		list[i].from, list[i].to = list[i].from.Add(-e.Slack), list[i].to.Add(e.Slack)
	}
	return list
}

// The lines of the middleware's log.
const (
	breakerLine  = "cosmos.ha circuit breaker"
	failoverLine = "cosmos.ha partition failover"
)

// opens tells whether the breaker had a region opened for some partition at some
// time. The middleware's log leaves lines out when there are many.
func opens(list []opening, region string, write bool, from, to time.Time) bool {
	return slices.ContainsFunc(list, func(o opening) bool {
		return o.region == region && o.write == write && !o.from.After(to) && !o.to.Before(from)
	})
}

// opened tells whether the breaker had a region opened for some partition during
// a request.
func (r *Result) opened(list []opening, region string, write bool) bool {
	name := region
	if write {
		name += ":w"
	}
	return slices.Contains(r.Opened, name) || opens(list, region, write, r.Start, r.End)
}

// excludedOnlyByRules: an excluded region is asked as the fallback of a request
// that has no other region, as the write region of a single-write account, and
// as the hub after a 404/1002 (packages regions and policy). Never by a hedge or a
// probe.
func excludedOnlyByRules(e *evidence, fail report) {
	list := e.openings()
	for _, o := range e.operations {
		excluded, steady := e.excludedBy(o.result)
		if !steady || o.result.Start.IsZero() {
			continue
		}
		for _, a := range o.attempts {
			if slices.Contains(excluded, a.Region) && !e.mayAskExcluded(o, a, excluded, list) {
				fail("%s is excluded (%v): %v", a.Region, excluded, o)
			}
		}
	}
	for _, a := range e.probes {
		if r := e.results[a.call]; r != nil {
			if excluded, steady := e.excludedBy(r); steady && slices.Contains(excluded, a.Region) {
				fail("%s is excluded: %v", a.Region, a)
			}
		}
	}
}

// mayAskExcluded are the rules, for an excluded region.
func (e *evidence) mayAskExcluded(o *operation, a attempt, excluded []string, list []opening) bool {
	end := o.result.End
	single := e.ever(end, func(s state) bool { return !s.multi })
	switch {
	case a.reason == "hedge":
		return false
	case single && (a.Write || a.reason == "session"):
		return true
	}
	// The fallback: everything that the request may go to is excluded or opened.
	return e.ever(end, func(s state) bool {
		if a.Region != s.hub && s.multi {
			return false
		}
		return !slices.ContainsFunc(e.base(s), func(r string) bool {
			return !slices.Contains(excluded, r) && !o.result.opened(list, r, a.Write)
		})
	})
}

// openedIsPassed: a read does not begin in a region that the breaker has opened for
// its partition, as long as another one is well (package regions, rule filter).
// Judged where one partition with one name is all there is, so that it is the one
// for which the region was opened.
func openedIsPassed(e *evidence, fail report) {
	split := slices.ContainsFunc(e.Events, func(v Event) bool { return v.Do == Split })
	if e.keys() > 1 || split || e.renamed() || len(e.states) > 1 || e.uses(CrossQuery, ReadMany, ChangeFeed) {
		return
	}
	list := e.openings()
	for _, o := range e.operations {
		first := o.attempts[0]
		if o.result.Op == Read && slices.Contains(o.result.Out, first.Region) && e.anotherIsWell(o, list) {
			fail("%s is opened: %v", first.Region, o)
		}
	}
}

// renamed tells whether a client may have known its partition by several names:
// one that is not bound learns late which range a key belongs to, and one that is
// told that the ranges have changed forgets them. Records under one name are none
// under another (packages partition and breaker).
func (e *evidence) renamed() bool {
	names := map[string]bool{}
	for _, c := range e.Changes {
		if c.Message == breakerLine {
			names[c.Fields["partition"]] = true
		}
	}
	return len(names) > 1 || slices.ContainsFunc(e.operations, func(o *operation) bool {
		return slices.ContainsFunc(o.attempts, func(a attempt) bool { return a.Status == 410 && a.raw() })
	})
}

// anotherIsWell tells whether an operation had a region that was neither excluded
// nor opened, and whose endpoint was never marked.
func (e *evidence) anotherIsWell(o *operation, list []opening) bool {
	excluded, steady := e.excludedBy(o.result)
	refuses := func(a attempt) bool { return a.refused() || a.Status == 403 }
	return steady && slices.ContainsFunc(e.base(e.states[0]), func(r string) bool {
		marked := e.blamed(r, false, o.result.End, refuses) || e.metadataRefused(r)
		return !marked && !slices.Contains(excluded, r) && !o.result.opened(list, r, false)
	})
}

// expected are the applicable regions when nothing is unwell.
func (e *evidence) expected(write bool) []string {
	s := e.states[len(e.states)-1]
	account := regions.Account{MultiWrite: s.multi}
	for _, r := range s.regions {
		account.Readable = append(account.Readable, regions.Region{Name: r})
	}
	account.Writable = []regions.Region{{Name: s.hub}}
	for _, r := range s.regions {
		if s.multi && r != s.hub {
			account.Writable = append(account.Writable, regions.Region{Name: r})
		}
	}
	return regions.Applicable(account, regions.Query{
		Write: write, Regional: e.Client.Regional, Preferred: e.Client.Preferred, Excluded: s.excluded,
	})
}
