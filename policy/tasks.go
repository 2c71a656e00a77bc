package policy

import (
	"sync"
	"time"
)

// tasks keeps the readings of a loader apart: one a container at a time, and
// a pause between two. The zero value is ready.
type tasks struct {
	mutex  sync.Mutex // guards byLink
	byLink map[string]*task
}

// task is the state of one container's readings.
type task struct {
	running bool
	forcing bool      // the reading in flight goes past azcosmos's cache
	stale   bool      // seen to be out of date: what azcosmos has cached is, too
	last    time.Time // when the last reading began
}

// begin reports whether the caller is to read the container now, and whether
// it has to force azcosmos past its cache; it then owes an end.
func (t *tasks) begin(link string, now time.Time) (force, ok bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	k := t.task(link)
	if k == nil || k.running || (!k.last.IsZero() && now.Sub(k.last).Abs() < loadPause) {
		return false, false
	}
	k.running, k.last = true, now
	k.forcing = k.stale
	return k.forcing, true
}

// outdated notes that what was read of a container is out of date.
func (t *tasks) outdated(link string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if k := t.task(link); k != nil {
		k.stale = true
	}
}

// end closes a reading. What was seen to be out of date while azcosmos's cache
// was read still is: outdated reports that what was read is not to be used.
func (t *tasks) end(link string, ok bool) (outdated bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	k := t.byLink[link]
	k.running = false
	if ok && k.forcing {
		k.stale = false
	}
	return k.stale
}

// task is the container's state, nil when there are too many. The caller holds
// the mutex.
func (t *tasks) task(link string) *task {
	if k := t.byLink[link]; k != nil || len(t.byLink) >= maxContainers {
		return k
	}
	if t.byLink == nil {
		t.byLink = make(map[string]*task)
	}
	t.byLink[link] = &task{}
	return t.byLink[link]
}
