package policy

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// counting is a context that counts who waits for its end.
type counting struct {
	context.Context
	waiting atomic.Int32
}

func (c *counting) AfterFunc(f func()) func() bool {
	c.waiting.Add(1)
	gone := sync.OnceFunc(func() { c.waiting.Add(-1) })
	stop := context.AfterFunc(c.Context, func() {
		gone()
		f()
	})
	return func() bool {
		gone()
		return stop()
	}
}

// Value hides the context inside from package context, which would go past AfterFunc.
func (c *counting) Value(key any) any {
	if key == (keyOfTest{}) {
		return c.Context.Value(key)
	}
	return nil
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

type keyOfTest struct{}

// TestLegContext states what a first leg, and contexts that derive from its, see: after each step Err of the leg's
// context, Err of the one derived at the start, and Err of one derived now.
func TestLegContext(t *testing.T) {
	type saw struct{ leg, derived, now error }
	reason := errors.New("the caller's reason")
	none, over, late := error(nil), context.Canceled, context.DeadlineExceeded
	const finish, pass, cancel = "finish", "the deadline passes", "the caller cancels"
	tests := []struct {
		name  string
		steps []string
		saw   []saw
	}{
		{"nothing", nil, nil},
		{"finished", []string{finish, cancel}, []saw{{over, over, over}, {over, over, over}}},
		{"finished twice", []string{finish, finish}, []saw{{over, over, over}, {over, over, over}}},
		{"finished, then late", []string{finish, pass}, []saw{{over, over, over}, {late, over, late}}},
		{"deadline", []string{pass, finish}, []saw{{late, late, late}, {late, late, late}}},
		{"cancelled", []string{cancel, finish}, []saw{{over, over, over}, {over, over, over}}},
		{"neither", []string{"nothing"}, []saw{{none, none, none}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, timeout := context.WithTimeout(context.WithValue(t.Context(), keyOfTest{}, 1), time.Second)
				defer timeout()
				ctx, stop := context.WithCancelCause(ctx)
				defer stop(nil)
				caller := &counting{Context: ctx}
				leg := &legContext{Context: caller}
				derived, end := context.WithCancel(leg)
				defer end()
				require.EqualValues(t, 1, caller.waiting.Load())
				act := map[string]func(){
					finish: leg.finish, pass: func() { time.Sleep(time.Second) }, cancel: func() { stop(reason) }, "nothing": func() {},
				}
				for i, step := range test.steps {
					act[step]()
					synctest.Wait()
					now, end := context.WithCancel(leg)
					got := saw{leg.Err(), derived.Err(), now.Err()}
					require.Equal(t, test.saw[i], got, step)
					require.Equal(t, leg.Err() != nil, closed(leg.Done()), step)
					require.Equal(t, 1, leg.Value(keyOfTest{}))
					end()
				}
				leg.finish()
				synctest.Wait()
				require.Zero(t, caller.waiting.Load(), "the caller's context has let go")
			})
		})
	}
}

// TestLegContextCause: the reason that a caller gives for cancelling gets through.
func TestLegContextCause(t *testing.T) {
	reason := errors.New("the caller's reason")
	synctest.Test(t, func(t *testing.T) {
		caller, stop := context.WithCancelCause(t.Context())
		leg := &legContext{Context: caller}
		derived, end := context.WithCancel(leg)
		defer end()
		stop(reason)
		synctest.Wait()
		require.Equal(t, reason, context.Cause(leg))
		require.Equal(t, reason, context.Cause(derived))
	})
}

// TestLegContextCosts: nothing is made until somebody waits, and no goroutine then.
func TestLegContextCosts(t *testing.T) {
	caller, stop := context.WithCancel(t.Context())
	defer stop()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		leg := &legContext{Context: caller}
		_, _ = leg.Err(), leg.Value(keyOfTest{})
		leg.finish()
	}), 1.0, "itself")
	before := runtime.NumGoroutine()
	for range 100 {
		leg := &legContext{Context: caller}
		_, end := context.WithTimeout(leg, time.Hour)
		defer end()
		defer leg.finish()
	}
	require.Less(t, runtime.NumGoroutine(), before+100)
}

// TestLegContextAtOnce: whatever happens at the same time, who has seen the end
// finds a reason for it, and contexts that derive from it can be made.
func TestLegContextAtOnce(t *testing.T) {
	for i := range 2000 {
		caller, stop := context.WithCancel(t.Context())
		leg := &legContext{Context: caller}
		var group sync.WaitGroup
		group.Go(func() {
			if i%2 == 0 {
				leg.finish()
			}
			leg.finish()
		})
		if i%3 == 0 {
			group.Go(stop)
		}
		for range 2 {
			group.Go(func() {
				if closed(leg.Done()) && leg.Err() == nil {
					t.Error("an end without a reason")
				}
			})
			group.Go(func() {
				ctx, end := context.WithCancel(leg)
				defer end()
				if closed(ctx.Done()) && ctx.Err() == nil {
					t.Error("an end without a reason")
				}
			})
		}
		group.Wait()
		stop()
	}
}
