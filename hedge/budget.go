package hedge

import "sync/atomic"

// Budget bounds the hedges in flight of all requests of a client. Make it with [NewBudget]; the zero value has the
// default limit. It is safe for concurrent use and must not be copied.
type Budget struct {
	limit int64 // 0: the default
	// The counter has a cache line of its own: what lies beside it is read on every request.
	_     [64]byte
	inUse atomic.Int64
	_     [56]byte
}

// NewBudget returns the budget of a client: Options.MaxInFlight hedges, 64 if that is zero or less.
func NewBudget(o Options) *Budget { return &Budget{limit: int64(max(o.MaxInFlight, 0))} }

// Acquire takes a place for one hedge, to be given back with [Budget.Release] when the hedge has ended. False if all
// are taken: that hedge is not sent, and nothing else follows from it. It never waits.
func (b *Budget) Acquire() bool {
	limit := int64(b.Limit())
	for {
		n := b.inUse.Load()
		if n >= limit {
			return false
		}
		if b.inUse.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a place back. Without one taken it does nothing.
func (b *Budget) Release() {
	for {
		n := b.inUse.Load()
		if n <= 0 || b.inUse.CompareAndSwap(n, n-1) {
			return
		}
	}
}

// InFlight returns how many places are taken, 0 to Limit.
func (b *Budget) InFlight() int { return int(b.inUse.Load()) }

// Limit returns how many places there are.
func (b *Budget) Limit() int {
	if b.limit == 0 {
		return defaultMaxInFlight
	}
	return int(b.limit)
}
