package simulation

import (
	"slices"
)

// Shrink makes a world smaller as long as it still fails: with fewer callers,
// calls, events, regions and options. budget bounds the runs that it may take.
// fails is told a candidate; it runs it, more than once if chance has a part.
func Shrink(w World, budget int, fails func(World) bool) World {
	s := &shrinker{world: w, left: budget, fails: fails}
	for again := true; again && s.left > 0; {
		again = s.callers() || s.calls() || s.events() || s.options() || s.details()
	}
	return s.world
}

// shrinker holds the smallest world so far.
type shrinker struct {
	world World
	left  int
	fails func(World) bool
}

// try takes a candidate if it still fails.
func (s *shrinker) try(change func(*World)) bool {
	if s.left <= 0 {
		return false
	}
	s.left--
	w := s.world.clone()
	change(&w)
	if !s.fails(w) {
		return false
	}
	s.world = w
	return true
}

// clone is a copy whose lists are its own.
func (w World) clone() World {
	w.Account.Regions = slices.Clone(w.Account.Regions)
	w.Events = slices.Clone(w.Events)
	w.Callers = slices.Clone(w.Callers)
	for i := range w.Callers {
		w.Callers[i] = slices.Clone(w.Callers[i])
	}
	return w
}

// parts tries to cut parts out of n things, big ones first. The number of things
// is asked for again after each success.
func (s *shrinker) parts(count func() int, cut func(w *World, from, to int)) bool {
	shrunk := false
	for size := max(count()/2, 1); ; size /= 2 {
		for from := 0; from < count(); {
			to := min(from+size, count())
			if s.try(func(w *World) { cut(w, from, to) }) {
				shrunk = true
			} else {
				from = to
			}
		}
		if size <= 1 {
			return shrunk
		}
	}
}

func (s *shrinker) callers() bool {
	return s.parts(func() int { return len(s.world.Callers) - 1 },
		func(w *World, from, to int) { w.Callers = slices.Delete(w.Callers, from+1, to+1) })
}

// calls drops calls; the pause before a call that goes is added to the next one.
func (s *shrinker) calls() bool {
	shrunk := false
	for i := range s.world.Callers {
		cut := func(w *World, from, to int) {
			list := w.Callers[i]
			if to < len(list) {
				for _, c := range list[from:to] {
					list[to].Wait += c.Wait
				}
			}
			w.Callers[i] = slices.Delete(list, from, to)
		}
		shrunk = s.parts(func() int { return len(s.world.Callers[i]) }, cut) || shrunk
	}
	return shrunk
}

func (s *shrinker) events() bool {
	return s.parts(func() int { return len(s.world.Events) },
		func(w *World, from, to int) { w.Events = slices.Delete(w.Events, from, to) })
}

// options tries to set every option to its default.
func (s *shrinker) options() bool {
	shrunk := false
	for _, o := range []struct {
		set   bool
		clear func(*World)
	}{
		{s.world.Cold, func(w *World) { w.Cold = false }},
		{s.world.Account.Lag != nil, func(w *World) { w.Account.Lag = nil }},
		{s.world.Account.HedgingDisabled != nil, func(w *World) { w.Account.HedgingDisabled = nil }},
		{s.world.Account.PartitionFailover != nil, func(w *World) { w.Account.PartitionFailover = nil }},
		{s.world.Account.MultiWrite, func(w *World) { w.Account.MultiWrite = false }},
		{s.world.Account.Ranges > 1, func(w *World) { w.Account.Ranges = 1 }},
		{s.world.Client.Preferred != nil, func(w *World) { w.Client.Preferred = nil }},
		{s.world.Client.Excluded != nil, func(w *World) { w.Client.Excluded = nil }},
		{s.world.Client.Regional != "", func(w *World) { w.Client.Regional = "" }},
		{s.world.Client.MaxAttempts != 0, func(w *World) { w.Client.MaxAttempts = 0 }},
		{s.world.Client.AttemptTimeout != 0, func(w *World) { w.Client.AttemptTimeout = 0 }},
		{s.world.Client.RepeatWrites, func(w *World) { w.Client.RepeatWrites = false }},
		{s.world.Client.Bind, func(w *World) { w.Client.Bind = false }},
		{!s.world.Client.NoBreaker, func(w *World) { w.Client.NoBreaker = true }},
		{s.world.Client.ReadFailures != 0, func(w *World) { w.Client.ReadFailures = 0 }},
		{s.world.Client.WriteFailures != 0, func(w *World) { w.Client.WriteFailures = 0 }},
		{s.world.Client.SlowWins != 0, func(w *World) { w.Client.SlowWins = 0 }},
		{s.world.Client.OpenFor != 0, func(w *World) { w.Client.OpenFor = 0 }},
		{s.world.Client.Failover != 0, func(w *World) { w.Client.Failover = 0 }},
		{s.world.Client.Timeouts != 0, func(w *World) { w.Client.Timeouts = 0 }},
		{!s.world.Client.NoHedge, func(w *World) { w.Client.NoHedge = true }},
		{s.world.Client.Threshold != 0, func(w *World) { w.Client.Threshold = 0 }},
		{s.world.Client.Step != 0, func(w *World) { w.Client.Step = 0 }},
		{s.world.Client.MaxHedges != 0, func(w *World) { w.Client.MaxHedges = 0 }},
		{s.world.Client.HedgeWrites, func(w *World) { w.Client.HedgeWrites = false }},
		{s.world.Client.MaxInFlight != 0, func(w *World) { w.Client.MaxInFlight = 0 }},
	} {
		shrunk = o.set && s.try(o.clear) || shrunk
	}
	return shrunk
}

// details drops regions and what single calls and rules say.
func (s *shrinker) details() bool {
	shrunk := false
	for i := len(s.world.Account.Regions) - 1; i > 0; i-- {
		if s.world.Account.Regions[i] != s.world.Client.Regional {
			shrunk = s.try(func(w *World) { w.Account.Regions = slices.Delete(w.Account.Regions, i, i+1) }) || shrunk
		}
	}
	for i, calls := range s.world.Callers {
		for n := range calls {
			shrunk = s.call(i, n) || shrunk
		}
	}
	for i, e := range s.world.Events {
		shrunk = e.Rule != nil && s.rule(i) || shrunk
	}
	return shrunk
}

// call tries a call of a caller without what it says for itself, and then recorded.
func (s *shrinker) call(i, n int) bool {
	c := s.world.Callers[i][n]
	plain := Call{Wait: c.Wait, Op: c.Op, Key: c.Key, Item: c.Item, Deadline: c.Deadline, Silent: c.Silent}
	shrunk := c != plain && s.try(func(w *World) { w.Callers[i][n] = plain })
	return c.Silent && s.try(func(w *World) { w.Callers[i][n].Silent = false }) || shrunk
}

// rule tries the rule of an event without its refinements.
func (s *shrinker) rule(i int) bool {
	r := *s.world.Events[i].Rule
	if r.Probability == 0 && r.Hits == 0 && r.Delay == 0 && r.Key == 0 {
		return false
	}
	r.Probability, r.Hits, r.Delay, r.Key = 0, 0, 0, 0
	return s.try(func(w *World) { w.Events[i].Rule = &r })
}
