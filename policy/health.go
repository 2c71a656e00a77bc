package policy

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
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

func (a *account) mark(r regions.Index, write bool, now time.Time) {
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Mark(r, write, now) })
}

func (a *account) clear(r regions.Index, write bool) {
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Clear(r, write) })
}

func (a *account) release(r regions.Index, write bool) {
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Release(r, write) })
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
