package hedge

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBudget(t *testing.T) {
	budget := NewBudget(Options{MaxInFlight: 2})
	assert.True(t, budget.Acquire())
	assert.True(t, budget.Acquire())
	assert.False(t, budget.Acquire(), "both places are taken")
	assert.Equal(t, 2, budget.InFlight(), "a refusal takes nothing")
	budget.Release()
	assert.True(t, budget.Acquire())
	for range 5 {
		budget.Release()
	}
	assert.Zero(t, budget.InFlight(), "what was not taken is not given back")
	assert.True(t, budget.Acquire())
	assert.True(t, budget.Acquire())
	assert.False(t, budget.Acquire(), "the limit has not grown")
}

func TestBudgetLimit(t *testing.T) {
	var zero Budget
	assert.Equal(t, 64, zero.Limit())
	assert.True(t, zero.Acquire())
	assert.Equal(t, 64, NewBudget(Options{}).Limit())
	assert.Equal(t, 64, NewBudget(Options{MaxInFlight: -1}).Limit())
	assert.Equal(t, 1000, NewBudget(Options{MaxInFlight: 1000}).Limit())
}

// TestBudgetTogether: at no moment are more places taken than there are, and none is lost.
func TestBudgetTogether(t *testing.T) {
	const limit = 3
	budget := NewBudget(Options{MaxInFlight: limit})
	var inside, most, granted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5_000 {
				if !budget.Acquire() {
					continue
				}
				granted.Add(1)
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				budget.Release()
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, most.Load(), int64(limit))
	assert.Positive(t, granted.Load())
	require.Zero(t, budget.InFlight())
}

func TestBudgetIsAlone(t *testing.T) {
	var b Budget
	assert.GreaterOrEqual(t, unsafe.Offsetof(b.inUse), uintptr(64), "from what lies before it")
	assert.GreaterOrEqual(t, unsafe.Sizeof(b)-unsafe.Offsetof(b.inUse), uintptr(64), "from what lies behind it")
}
