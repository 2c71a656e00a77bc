package main

import (
	"slices"
	"time"
)

// operation is one request of the application, and what became of it. Times count from the beginning of the run.
type operation struct {
	write      bool
	start, end time.Duration
	err        error    // what the application got
	perhaps    bool     // an attempt may have carried the write out without saying so
	contacted  []string // the regions of the attempts, in order
	answered   string   // the first region whose answer was a success; "": none
}

// span is a stretch of time; one that has not ended yet has the end forever.
type span struct{ from, to time.Duration }

const forever = time.Duration(1<<63 - 1)

// covers reports whether the stretch holds the whole operation.
func (s span) covers(o operation) bool { return s.from <= o.start && o.end <= s.to }

// touches reports whether the operation has a moment in the stretch.
func (s span) touches(o operation) bool { return o.start < s.to && s.from < o.end }

// stay is a stretch of time that a region was lost, or was the write region.
type stay struct {
	region string
	span
}

// chronicle is what the drill did to the account, and what decides who could have served a request: a value.
type chronicle struct {
	usable     []string // regions that the clients may use for what any region can take
	multiWrite bool
	lost       []stay // regions that had a fault
	primary    []stay // the write region, one after the other
}

// healthy reports whether a region had no fault while the operation lasted.
func (c *chronicle) healthy(region string, o operation) bool {
	return !slices.ContainsFunc(c.lost, func(s stay) bool { return s.region == region && s.touches(o) })
}

// servable reports whether a healthy region could have served the operation; see the package comment.
func (c *chronicle) servable(o operation) bool {
	if o.write && !c.multiWrite {
		return slices.ContainsFunc(c.primary, func(s stay) bool { return s.covers(o) && c.healthy(s.region, o) })
	}
	return slices.ContainsFunc(c.usable, func(region string) bool { return c.healthy(region, o) })
}

// verdict is what an operation counts as.
type verdict int

const (
	served   verdict = iota
	lost             // failed, and a healthy region could have served it
	unknown          // a failed write that may have been carried out
	hopeless         // failed, and no region could have served it
)

// judge is the rule of the package comment.
func (c *chronicle) judge(o operation) verdict {
	switch {
	case o.err == nil:
		return served
	case o.write && o.perhaps:
		return unknown
	case c.servable(o):
		return lost
	default:
		return hopeless
	}
}

// lose begins a fault of a region.
func (c *chronicle) lose(region string, at time.Duration) {
	c.lost = append(c.lost, stay{region, span{at, forever}})
}

// heal ends every fault.
func (c *chronicle) heal(at time.Duration) {
	for i := range c.lost {
		c.lost[i].to = min(c.lost[i].to, at)
	}
}

// leave ends the term of the write region, and follow begins the next one. What is under way in between has none.
func (c *chronicle) leave(at time.Duration) {
	for i := range c.primary {
		c.primary[i].to = min(c.primary[i].to, at)
	}
}

// follow makes a region the write region.
func (c *chronicle) follow(region string, at time.Duration) {
	c.primary = append(c.primary, stay{region, span{at, forever}})
}

// row is one line of the closing table: one side in one phase.
type row struct {
	phase, side                     string
	requests, failed, lost, unknown int
	p50, p99, max                   time.Duration
	contacted                       []count // the regions, those with the most requests first
}

// count is how many requests reached for a region.
type count struct {
	region string
	n      int
}

// tally makes the row of the operations of one side in one phase, and returns the errors of those that were lost.
func (c *chronicle) tally(phase, side string, operations []operation) (row, []error) {
	r := row{phase: phase, side: side, requests: len(operations)}
	times := make([]time.Duration, 0, len(operations))
	contacted := map[string]int{}
	var errs []error
	for _, o := range operations {
		times = append(times, o.end-o.start)
		for _, region := range o.contacted {
			contacted[region]++
		}
		v := c.judge(o)
		if v != served {
			r.failed++
		}
		switch v {
		case lost:
			r.lost++
			errs = append(errs, o.err)
		case unknown:
			r.unknown++
		}
	}
	slices.Sort(times)
	r.p50, r.p99, r.max = percentile(times, 50), percentile(times, 99), percentile(times, 100)
	r.contacted = ranked(contacted)
	return r, errs
}

// percentile is the nearest rank: the smallest of the sorted times that at least p per cent do not exceed; 0 of none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

// ranked sorts counts: the largest first, names decide between equal ones.
func ranked(counts map[string]int) []count {
	list := make([]count, 0, len(counts))
	for region, n := range counts {
		list = append(list, count{region, n})
	}
	slices.SortFunc(list, func(a, b count) int {
		if a.n != b.n {
			return b.n - a.n
		}
		if a.region < b.region {
			return -1
		}
		return 1
	})
	return list
}
