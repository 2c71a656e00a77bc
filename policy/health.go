package policy

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// changeHealth applies a transition to the health of the account's regions.
func (a *account) changeHealth(transition func(*regions.Health) *regions.Health) {
	for {
		before := a.health.Load()
		if a.health.CompareAndSwap(before, transition(before)) {
			return
		}
	}
}

// mark puts the region of an answer behind the others. That is told when it was
// not there already.
func (a *account) mark(s *telemetry.OperationSpan, of answer, write bool) {
	now, news := time.Now(), false
	a.changeHealth(func(h *regions.Health) *regions.Health {
		news = !h.Marked(write, now).Has(of.region)
		return h.Mark(of.region, write, now)
	})
	if news {
		a.tellHealth(s, of.region, write, "marked", of.brief())
	}
}

// clear puts a region back into its usual place.
func (a *account) clear(s *telemetry.OperationSpan, r regions.Index, write bool) {
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Clear(r, write) })
	a.tellHealth(s, r, write, "cleared", "")
}

func (a *account) release(r regions.Index, write bool) {
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Release(r, write) })
}

// marked reports whether a region has a mark, for reads or for writes, that holds.
func (a *account) marked(r regions.Index, write bool) bool {
	h := a.health.Load()
	return h != nil && h.Marked(write, time.Now()).Has(r)
}

// order puts unwell regions behind the others. When one of them is due for a
// trial and this request wins its place, the region keeps its own and is
// returned: the caller owes a mark, a clear or a release.
func (a *account) order(list regions.List, write bool, now time.Time) (regions.List, regions.Index) {
	for {
		h := a.health.Load()
		if h == nil {
			return list, regions.None
		}
		ordered, trial := h.Order(list, write, now)
		if trial == regions.None {
			return ordered, regions.None
		}
		claimed, ok := h.Claim(trial, write, now)
		if !ok {
			return ordered, regions.None
		}
		if a.health.CompareAndSwap(h, claimed) {
			return ordered, trial
		}
	}
}
