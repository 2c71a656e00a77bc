package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// maxDecisions is how many decisions are remembered.
	maxDecisions = 200
	// mergeAmong and mergeWithin say how recent a decision must be for one that
	// differs by its partition only to be counted with it: a region that is lost
	// would wash out all else.
	mergeAmong  = 16
	mergeWithin = time.Minute
)

// DecisionState is a decision as [State] tells it, with those like it that
// followed within a minute.
type DecisionState struct {
	Decision
	Since time.Time `json:"since"` // of the first; At is of the last
	Count int       `json:"count"`
	Text  string    `json:"text"` // as a sentence
}

// ring remembers the last decisions. The zero value is ready.
type ring struct {
	mutex   sync.Mutex // guards all; held for no call of anybody else's code
	entries [maxDecisions]DecisionState
	total   int // added so far; the newest is at total-1
}

func (r *ring) add(d Decision) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	key := d.key()
	for back := 1; back <= min(mergeAmong, r.total); back++ {
		e := &r.entries[(r.total-back)%maxDecisions]
		if e.key() == key && d.At.Sub(e.At).Abs() < mergeWithin {
			if e.Partition != d.Partition {
				e.Partition = ""
			}
			e.Count++
			e.At, e.Detail, e.Failures, e.OpenFor = d.At, d.Detail, d.Failures, d.OpenFor
			return
		}
	}
	r.entries[r.total%maxDecisions] = DecisionState{Decision: d, Since: d.At, Count: 1}
	r.total++
}

// key is the decision without what may differ among decisions that are told as one.
func (d Decision) key() Decision {
	d.At, d.Partition, d.Failures, d.OpenFor = time.Time{}, "", 0, 0
	if d.Kind == KindRefresh || d.Kind == KindRanges {
		d.Detail = "" // the text of an error
	}
	return d
}

// list is the decisions, the newest first.
func (r *ring) list() []DecisionState {
	r.mutex.Lock()
	list := make([]DecisionState, 0, min(r.total, maxDecisions))
	for back := 1; back <= min(maxDecisions, r.total); back++ {
		list = append(list, r.entries[(r.total-back)%maxDecisions])
	}
	r.mutex.Unlock()
	for i := range list {
		list[i].Text = list[i].String()
	}
	slices.SortStableFunc(list, func(a, b DecisionState) int { return cmp.Compare(b.At.UnixNano(), a.At.UnixNano()) })
	return list
}
