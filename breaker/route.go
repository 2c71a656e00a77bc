package breaker

import "time"

// Route is what the breaker has to say about one request. It may name every region of the account: what the request does then
// is the planner's to decide (rule M and the fallback of package regions). The zero value says that nothing is opened.
type Route struct {
	Opened   [MaxRegions]Region // the first Count: opened regions, by the beginning of their opening, oldest first
	Count    int
	Mask     uint64 // the opened regions as bits
	Due      uint64 // those of them that wait for a probe, as bits
	Probe    Region // the oldest of those
	ProbeDue bool   // there is one
}

// Route says which regions are opened for the reads or the writes of k, and which of them wait for a probe. That a probe is
// due is an offer to every request that asks: ClaimProbe decides who makes it. While nothing is unwell it costs one load.
func (s *Store) Route(k Key, write bool, now time.Time) (route Route) {
	if s.Empty() {
		return route
	}
	at := s.at(now)
	var since [MaxRegions]time.Duration
	s.records.Siblings(slot{key: k, write: write}, func(id slot, rec *Record) {
		// Equal hashes do not make equal partitions.
		if id.key != k || id.write != write {
			return
		}
		opened, due := rec.Opened(s.rules, at)
		if opened {
			route.insert(&since, id.region, rec.since)
		}
		if due {
			route.Due |= 1 << id.region
		}
	})
	for _, r := range route.Opened[:route.Count] {
		if route.Due&(1<<r) != 0 {
			route.Probe, route.ProbeDue = r, true
			break
		}
	}
	return route
}

// insert keeps Opened in order: by time, then by index. since holds the times in the same order. There are as many slots of
// a partition as regions at most, so it never overflows.
func (route *Route) insert(since *[MaxRegions]time.Duration, r Region, at time.Duration) {
	i := route.Count
	for i > 0 && (since[i-1] > at || since[i-1] == at && route.Opened[i-1] > r) {
		route.Opened[i], since[i] = route.Opened[i-1], since[i-1]
		i--
	}
	route.Opened[i], since[i] = r, at
	route.Count++
	route.Mask |= 1 << r
}

// ClaimProbe asks for the one place of a probe of region r for k. ok is true for exactly one of all who ask while a probe is due,
// until that one has ended it: with EndProbe, always, and with this token.
func (s *Store) ClaimProbe(k Key, r Region, write bool, now time.Time) (token Token, ok bool) {
	if s.Empty() || r >= MaxRegions {
		return 0, false
	}
	at, mine := s.at(now), s.nextToken()
	s.records.Update(slot{k, r, write}, func(rec *Record) bool {
		*rec, ok = rec.Claim(s.rules, mine, at)
		return rec.state != Healthy
	})
	if !ok {
		return 0, false
	}
	return mine, true
}

// nextToken skips zero when the numbers begin anew.
func (s *Store) nextToken() Token {
	t := s.tokens.Add(1)
	for t == 0 {
		t = s.tokens.Add(1)
	}
	return Token(t)
}

// EndProbe ends the probe that ClaimProbe gave the token for. Success and Failure are the region's answer; Abandoned, and
// anything else, says that there was none that counts, and lets the next request probe. A token whose probe has
// ended, or whose record is gone, changes nothing. The transition is to be told if ok.
func (s *Store) EndProbe(
	k Key, r Region, write bool, token Token, outcome Event, now time.Time,
) (tr Transition, ok bool) {
	if s.Empty() || r >= MaxRegions {
		return Transition{}, false
	}
	id, at := slot{k, r, write}, s.at(now)
	jitter := s.jitter(id, at)
	var change Change
	var next Record
	s.records.Update(id, func(rec *Record) bool {
		next, change = rec.EndProbe(s.rules, token, outcome, at, jitter)
		*rec = next
		return next.state != Healthy
	})
	if change.Cause == NoCause {
		return Transition{}, false
	}
	return s.transition(id, next, change, at), true
}
