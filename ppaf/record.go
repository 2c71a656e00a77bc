package ppaf

import "github.com/azcosmos-ha/azcosmos-ha/regions"

// record is what is known of a partition that is not as it should be. It holds no pointer and is stored inline; with its key
// it takes 88 bytes. The zero record says nothing.
//
// Times are milliseconds of the store's clock, which folds over after 49 days. Differences are taken modulo that; they
// may be slightly negative, since another goroutine can have looked at the clock later.
type record struct {
	at    Token                      // of the attempt that confirmed the override last; 0 if there is none
	times [maxTimeouts]uint32        // of the latest timeouts, oldest first
	from  [maxTimeouts]regions.Index // where they happened
	since uint32                     // of the last timeout in the slow region
	n     uint8                      // how many timeouts there are

	override, slow, hub maybe
}

// maybe is a region or none, with none as its zero value: an Index plus one.
type maybe uint8

func some(r regions.Index) maybe        { return maybe(r) + 1 } // None becomes 0
func (m maybe) index() regions.Index    { return regions.Index(m - 1) }
func (m maybe) is(r regions.Index) bool { return m != 0 && m.index() == r }

// blank reports whether the record says nothing and can go.
func (r *record) blank() bool { return r.override|r.slow|r.hub == 0 && r.n == 0 }

// forget drops the timeouts that keep does not want.
func (r *record) forget(keep func(from regions.Index, at uint32) bool) {
	n := r.n
	r.n = 0
	for i := range n {
		if keep(r.from[i], r.times[i]) {
			r.from[r.n], r.times[r.n] = r.from[i], r.times[i]
			r.n++
		}
	}
}

// answered notes an answer of a region that is no timeout: it clears the count.
func (r *record) answered(region regions.Index) {
	r.forget(func(from regions.Index, _ uint32) bool { return from != region })
	if r.slow.is(region) {
		r.slow = 0
	}
}

// lapse forgets what is too old by now to count.
func (r *record) lapse(now uint32, l limits) {
	r.forget(func(_ regions.Index, at uint32) bool { return within(now, at, l.window) })
	if r.slow != 0 && !within(now, r.since, l.slow) {
		r.slow = 0
	}
}

func within(now, at uint32, span int32) bool {
	d := int32(now - at)
	return -span <= d && d <= span
}

// timedOut counts a timeout and reports whether it was the one too many.
func (r *record) timedOut(region regions.Index, now uint32, l limits) bool {
	r.lapse(now, l)
	if r.slow.is(region) {
		r.since = now
	}
	count := 1
	for _, from := range r.from[:r.n] {
		if from == region {
			count++
		}
	}
	if count >= l.timeouts {
		r.answered(region)
		r.slow, r.since = some(region), now
		return true
	}
	if r.n == maxTimeouts {
		copy(r.times[:], r.times[1:])
		copy(r.from[:], r.from[1:])
		r.n--
	}
	r.times[r.n], r.from[r.n] = now, region
	r.n++
	return false
}

// confirmed notes that a region that can be an override took a write. An attempt that did not begin after the one
// that set the override, or after floor, changes nothing.
func (r *record) confirmed(region regions.Index, t, floor Token) {
	r.answered(region)
	if t <= max(r.at, floor) {
		return
	}
	r.at, r.override = t, some(region)
	r.slow, r.hub = 0, 0
}

// keep drops what is about regions outside the account, and an override or hub that needs none.
func (r *record) keep(a *Account) {
	known := a.regions()
	r.forget(func(from regions.Index, _ uint32) bool { return known.Has(from) })
	if !known.Has(r.slow.index()) {
		r.slow = 0
	}
	if !a.admits(r.override.index()) {
		r.override, r.at = 0, 0
	}
	if !known.Has(r.hub.index()) || (r.override == 0 && r.hub.is(a.Primary)) {
		r.hub = 0
	}
}
