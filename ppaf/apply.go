package ppaf

import "time"

// Apply takes the account as it is from now on. It is to be called with every topology, also one that has not changed: it
// forgets what has lapsed, too. It returns the overrides this changed:
//
//	failover was switched on or off                            all go, and older attempts record nothing any more
//	the account became one without a movable write region      all go, likewise; or the reverse
//	the override is the new primary                            it goes
//	the override's region has left the account                 it goes
//
// Calls must come in the order of the topologies.
func (s *Store) Apply(a Account, now time.Time) []Change {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	before := s.current.Load()
	after := &account{Account: a, on: s.options.Enabled(a.Flag), base: before.base, epoch: before.epoch}
	after.active = after.on && a.eligible()
	if after.base.IsZero() {
		after.base = now
	}
	cause := ByTopology
	switch {
	case after.on != before.on:
		cause = ByFlag
	case after.active != before.active:
		cause = ByAccount
	}
	if cause != ByTopology {
		after.epoch = Token(s.begun.Add(1))
	}
	s.current.Store(after)
	return s.sweep(after, cause, now)
}

// sweep drops what the account no longer bears, with the overrides' changes. Attempts that end meanwhile see the new account.
func (s *Store) sweep(a *account, cause Cause, now time.Time) []Change {
	var changes []Change
	s.records.DeleteFunc(func(k Key, rec *record) bool {
		from, at := rec.override, rec.at
		if cause == ByTopology {
			rec.keep(&a.Account)
			rec.lapse(a.clock(now), s.limits)
		} else {
			*rec = record{}
		}
		if from != rec.override {
			s.bury(k, at)
			changes = append(changes, Change{Key: k, From: from.index(), To: rec.override.index(), Cause: cause})
		}
		return rec.blank()
	})
	return changes
}
