package policy

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// sleeper is a race that only notes that it was woken: its caller has gone.
func sleeper(t *testing.T) *race {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return &race{caller: ctx}
}

func (r *race) woken() bool {
	synctest.Wait()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.ticked
}

// TestAlarm: whatever is added and removed meanwhile, each race is woken at its
// time, to the nanosecond, or not at all if it was removed before.
func TestAlarm(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not a secret
			var a alarm
			type entry struct {
				*race
				due     time.Time
				removed bool
			}
			var all []*entry
			for range 60 {
				now := time.Now()
				switch e := (&entry{race: sleeper(t), due: now.Add(time.Duration(dice.IntN(50)))}); {
				case dice.IntN(3) > 0:
					all = append(all, e)
					a.add(e.race, e.due, now)
				case len(all) > 0:
					e = all[dice.IntN(len(all))]
					waiting := !e.removed && !e.woken()
					require.Equal(t, waiting, a.remove(e.race))
					e.removed = e.removed || waiting
				}
				for range dice.IntN(20) {
					for _, e := range all {
						require.Equal(t, !e.removed && !time.Now().Before(e.due), e.woken(), "seed %d", seed)
					}
					time.Sleep(1 * time.Nanosecond)
				}
			}
			time.Sleep(50 * time.Nanosecond)
			for _, e := range all {
				require.Equal(t, !e.removed, e.woken())
			}
			require.Empty(t, a.waiting)
			time.Sleep(time.Hour)
			synctest.Wait()
			a.mutex.Lock()
			defer a.mutex.Unlock()
			require.Zero(t, a.due, "nothing is set for nobody")
		})
	}
}

// TestAlarmSharesItsTimer: as long as races are over before their time, there is
// one timer in a threshold, not one in a race.
func TestAlarmSharesItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarm
		set := map[time.Time]bool{}
		r := sleeper(t)
		for range 1000 {
			now := time.Now()
			a.add(r, now.Add(time.Second), now)
			a.mutex.Lock()
			set[a.due] = true
			a.mutex.Unlock()
			time.Sleep(5 * time.Millisecond)
			require.True(t, a.remove(r))
			require.False(t, a.remove(r), "once")
		}
		require.LessOrEqual(t, len(set), 6, "in five seconds")
		require.False(t, r.woken())
	})
}

// TestAlarmInAnotherBubble: the timer that was left behind in one bubble does
// not keep races of another, which is earlier, asleep.
func TestAlarmInAnotherBubble(t *testing.T) {
	var a alarm
	for _, started := range []time.Duration{time.Minute, 0} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(started)
			gone, r, now := sleeper(t), sleeper(t), time.Now()
			a.add(gone, now.Add(time.Second), now)
			require.True(t, a.remove(gone))
			a.add(r, now.Add(time.Second), now)
			if started == 0 {
				time.Sleep(time.Second)
				require.True(t, r.woken())
			}
			a.remove(r)
		})
	}
}

// TestAlarmBehindItsTimer: a race is added when the timer is due but has not got
// its turn, or by a caller that looked at the clock long ago. Nobody who waits is
// forgotten for that.
func TestAlarmBehindItsTimer(t *testing.T) {
	const second = time.Second
	for name, at := range map[string]time.Duration{"after it was due": second + 1, "long after": 3 * second, "before it was set": -second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Minute)
				var a alarm
				start := time.Now()
				gone, waits, added := sleeper(t), sleeper(t), sleeper(t)
				a.add(gone, start.Add(second), start)
				a.add(waits, start.Add(second+100*time.Millisecond), start)
				require.True(t, a.remove(gone))
				now := start.Add(at)
				a.add(added, now.Add(2*second), now)
				require.Equal(t, at > 2*second, waits.woken(), "at once, if it was due by then")
				time.Sleep(second + 100*time.Millisecond)
				require.True(t, waits.woken(), "in time")
				time.Sleep(4 * second)
				require.True(t, added.woken())
			})
		})
	}
}

// TestAlarmInRealTime: many races come and go on one alarm while some wait for
// their time. However late the machine is, it is not a threshold late.
func TestAlarmInRealTime(t *testing.T) {
	const threshold, waiting = 300 * time.Millisecond, 60
	var a alarm
	end := make(chan struct{})
	var busy sync.WaitGroup
	for range 2 {
		busy.Go(func() {
			for r := sleeper(t); ; {
				select {
				case <-end:
					return
				default:
				}
				now := time.Now()
				a.add(r, now.Add(threshold), now)
				runtime.Gosched()
				if !a.remove(r) {
					r = sleeper(t)
				}
			}
		})
	}
	var late atomic.Int32
	var woken sync.WaitGroup
	pace := time.NewTicker(7 * time.Millisecond)
	defer pace.Stop()
	for range waiting {
		<-pace.C
		now := time.Now()
		due, r := now.Add(threshold), sleeper(t)
		a.add(r, due, now)
		woken.Add(1)
		time.AfterFunc(threshold+threshold/2, func() {
			defer woken.Done()
			r.mutex.Lock()
			defer r.mutex.Unlock()
			if !r.ticked {
				late.Add(1)
			}
		})
	}
	woken.Wait()
	close(end)
	busy.Wait()
	require.LessOrEqual(t, late.Load(), int32(waiting/10), "of %d were more than %v late", waiting, threshold/2)
}
