package policy

import (
	"container/heap"
	"sync"
	"time"
)

// alarms wake the races of a binding at their times. Nearly every race is over
// long before, and a timer of its own would be the dearest part of it: so some
// share one, which is set when there is none that fires early enough, and left
// to fire in vain when its race is gone. There is one in a threshold then,
// whatever the traffic.
//
// A timer that a synctest bubble has left behind never fires. Going back in
// time shows it, but for a client that serves two bubbles at the same virtual
// moment: its first hedges may not come.
type alarms struct{ stripes [alarmStripes]alarm }

// alarmStripes keep processors from waiting for each other. The time of a race
// chooses the stripe: its digits above alarmShift are as good as chance.
const (
	alarmStripes = 8
	alarmShift   = 5
)

// alarm is the races of one stripe that wait for their time.
type alarm struct {
	mutex    sync.Mutex
	waiting  waiting
	set, due time.Time // of the timer that is next to fire; due is zero when there is none
	_        [64]byte  // of no stripe's processor but this one's
}

// of is the alarm for a race that begins at a time.
func (a *alarms) of(began time.Time) *alarm {
	return &a.stripes[began.Nanosecond()>>alarmShift%alarmStripes]
}

// add lets a race be woken when it is due. It is not waiting yet.
func (a *alarm) add(r *race, due, now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	r.due = due
	heap.Push(&a.waiting, r)
	if a.due.IsZero() || due.Before(a.due) || now.After(a.due) || now.Before(a.set) {
		a.settle(now)
	}
}

// remove reports whether the race was still waiting; it will not be woken then.
func (a *alarm) remove(r *race) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if r.place == 0 {
		return false
	}
	heap.Remove(&a.waiting, r.place-1)
	return true
}

// ring is what a timer does.
func (a *alarm) ring() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.settle(time.Now())
}

// settle wakes the races that are due and sees to it that a timer is set for the
// first of all others. A timer that should have fired by now, or was set later
// than now, does not count: it is late, or another bubble's. One that is not
// needed any more fires in vain. The caller holds the mutex.
func (a *alarm) settle(now time.Time) {
	for len(a.waiting) > 0 && !a.waiting[0].due.After(now) {
		go heap.Pop(&a.waiting).(*race).tick()
	}
	if !a.due.After(now) || now.Before(a.set) {
		a.due = time.Time{}
	}
	if len(a.waiting) == 0 {
		return
	}
	if first := a.waiting[0].due; a.due.IsZero() || first.Before(a.due) {
		a.set, a.due = now, first
		time.AfterFunc(time.Until(first), a.ring)
	}
}

// waiting is a heap of races, the first one due at its top. Each race knows its
// place, from 1.
type waiting []*race

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].due.Before(w[j].due) }

func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i+1, j+1
}

// Push implements [heap.Interface].
func (w *waiting) Push(r any) {
	*w = append(*w, r.(*race))
	r.(*race).place = len(*w)
}

// Pop implements [heap.Interface].
func (w *waiting) Pop() any {
	last := len(*w) - 1
	r := (*w)[last]
	(*w)[last], *w = nil, (*w)[:last]
	r.place = 0
	return r
}
