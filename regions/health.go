package regions

import (
	"slices"
	"time"
)

// MarkFor is how long a mark lasts when nothing renews or clears it: 5 minutes, as in the Java and .NET SDKs and in
// azcosmos.
const MarkFor = 5 * time.Minute

// TrialAfter is the age from which a mark lets one request at a time through to the region: 30 seconds, the same as
// the breaker's first wait. The peers wait the whole 5 minutes (Java, .NET), or probe (Rust, Python).
const TrialAfter = 30 * time.Second

// Mark says that a region refused: it could not be reached, or answered 403/3 to a write or 403/1008.
type Mark struct {
	Region Index
	Write  bool      // the mark concerns writes; else reads
	At     time.Time // when it was set or last renewed
	Trial  bool      // a request is on its way to find out whether the region is well again
}

// Health is the marks of an account's regions. Marks order lists and never shorten them: a marked region goes behind
// the others ([Health.Order]), for reads and writes apart.
//
//	age of the mark       place of the region
//	0 to TrialAfter       behind the others
//	from TrialAfter on    its usual place for one request at a time (the trial), behind the others for the rest
//	from MarkFor on       its usual place: the mark has lapsed
//
// A trial's verdict is [Health.Clear] (well), [Health.Mark] (refused again: both times start again) or
// [Health.Release] (none: cancelled, say). A trial that is never given one ends with its mark.
//
// A Health is immutable; nil means that all regions are well, and every method works on nil. Changes return a new value,
// nil when no mark is left, and the same one when there is nothing to change, so that it can be kept behind an atomic
// pointer and changed by compare-and-swap.
//
// A mark set after now counts as set now, for requests look at the clock before others mark; one more than MarkFor
// ahead has lapsed. So a clock that jumps back keeps a mark for at most twice MarkFor.
type Health struct {
	marked [2]Set // regions with a mark, lapsed or not, by way: the quick look
	marks  []Mark // in the order of setting; at most one per region and way
}

// way is the place of reads and writes in Health.marked.
func way(write bool) int {
	if write {
		return 1
	}
	return 0
}

// find returns the place of a mark in h.marks, -1 if there is none.
func (h *Health) find(r Index, write bool) int {
	if h == nil || !h.marked[way(write)].Has(r) {
		return -1
	}
	return slices.IndexFunc(h.marks, func(m Mark) bool { return m.Region == r && m.Write == write })
}

// age returns how old the mark is, below zero if it was set after now, and whether it still holds.
func (m *Mark) age(now time.Time) (time.Duration, bool) {
	age := now.Sub(m.At)
	return age, age < MarkFor && age >= -MarkFor
}

// mayTry reports whether a trial may begin.
func (m *Mark) mayTry(now time.Time) bool {
	age, holds := m.age(now)
	return holds && age >= TrialAfter && !m.Trial
}

// build makes a Health of marks that nobody else has; nil if there are none.
func build(marks []Mark) *Health {
	if len(marks) == 0 {
		return nil
	}
	h := &Health{marks: marks}
	for _, m := range marks {
		h.marked[way(m.Write)] = h.marked[way(m.Write)].With(m.Region)
	}
	return h
}

// Mark returns h with the region marked from now on; an older mark is renewed and a trial in flight ends. Marks that
// have lapsed by now are forgotten. An index that is no region changes nothing.
func (h *Health) Mark(r Index, write bool, now time.Time) *Health {
	if r >= MaxRegions {
		return h
	}
	var marks []Mark
	for _, m := range h.Marks() {
		_, holds := m.age(now)
		if holds && (m.Region != r || m.Write != write) {
			marks = append(marks, m)
		}
	}
	return build(append(marks, Mark{Region: r, Write: write, At: now}))
}

// Clear returns h without the region's mark.
func (h *Health) Clear(r Index, write bool) *Health {
	i := h.find(r, write)
	if i < 0 {
		return h
	}
	return build(slices.Delete(h.Marks(), i, i+1))
}

// Claim makes this request the region's one trial. It returns false, and h as it was, when no trial may begin: there
// is no mark, it is younger than [TrialAfter], it has lapsed, or a trial is in flight.
func (h *Health) Claim(r Index, write bool, now time.Time) (*Health, bool) {
	i := h.find(r, write)
	if i < 0 || !h.marks[i].mayTry(now) {
		return h, false
	}
	return h.withTrial(i, true), true
}

// Release returns h after a trial that ended without a verdict: the next request may try. The mark stays as it was.
func (h *Health) Release(r Index, write bool) *Health {
	i := h.find(r, write)
	if i < 0 || !h.marks[i].Trial {
		return h
	}
	return h.withTrial(i, false)
}

// withTrial returns h with the trial of mark i begun or ended.
func (h *Health) withTrial(i int, on bool) *Health {
	marks := h.Marks()
	marks[i].Trial = on
	return build(marks)
}

// Keep returns h without the marks of regions outside the set. To be called with [Topology.Known] when the topology
// changes: an index may come to mean another region, and a region that left and returns starts well.
func (h *Health) Keep(known Set) *Health {
	if h == nil || (h.marked[0]|h.marked[1])&^known == 0 {
		return h
	}
	return build(slices.DeleteFunc(h.Marks(), func(m Mark) bool { return !known.Has(m.Region) }))
}

// Order returns the list as it is to be asked: regions whose mark holds behind the others, otherwise as they were.
// At most one of them, the first whose mark is old enough and has no trial in flight, keeps its usual place and is
// returned as trial; [None] if there is none. A request that is about to ask the trial must [Health.Claim] it first,
// and order again if another one was quicker. Order changes nothing and does not allocate.
func (h *Health) Order(l List, write bool, now time.Time) (ordered List, trial Index) {
	trial = None
	if h == nil || l.set&h.marked[way(write)] == 0 {
		return l, trial
	}
	var behind Set
	for _, r := range l.at[:l.n] {
		i := h.find(r, write)
		if i < 0 {
			continue
		}
		m := &h.marks[i]
		if trial == None && m.mayTry(now) {
			trial = r
		} else if _, holds := m.age(now); holds {
			behind = behind.With(r)
		}
	}
	ordered.fillBehind(&l, behind)
	return ordered, trial
}

// Marked returns the regions whose mark holds at this time.
func (h *Health) Marked(write bool, now time.Time) Set {
	var s Set
	if h == nil {
		return s
	}
	for i := range h.marks {
		m := &h.marks[i]
		if _, holds := m.age(now); holds && m.Write == write {
			s = s.With(m.Region)
		}
	}
	return s
}

// Marks returns a copy of all marks in the order of setting, those that have lapsed but are not yet forgotten included.
func (h *Health) Marks() []Mark {
	if h == nil {
		return nil
	}
	return slices.Clone(h.marks)
}
