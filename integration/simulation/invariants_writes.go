package simulation

import (
	"net/http"
	"slices"
	"strings"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// perhapsCarriedOut tells whether a write may have taken effect: it did, or
// nobody knows (package policy).
func (a attempt) perhapsCarriedOut() bool {
	switch {
	case a.Executed:
		return true
	case a.Status == 0:
		return !a.refused()
	case a.Status == http.StatusRequestTimeout:
		return true
	default:
		return a.Status >= 500 && !slices.Contains([]int{501, 503, 505}, a.Status)
	}
}

// mayRepeat tells whether the caller has asked for it: RepeatWrites, or hedged
// writes, on a multi-write account.
func (e *evidence) mayRepeat(o *operation) bool {
	c := e.Client
	return (c.RepeatWrites || c.HedgeWrites) && e.ever(o.result.End, func(s state) bool { return s.multi })
}

// writtenOnce: a write is sent to a second region only when it surely was not
// carried out by the first, or when the caller has opted in (package policy).
func writtenOnce(e *evidence, fail report) {
	allowed := map[string]bool{}
	for _, o := range e.operations {
		if !o.write() {
			continue
		}
		if e.mayRepeat(o) {
			allowed[o.activity] = true
			continue
		}
		for i, a := range o.attempts[:len(o.attempts)-1] {
			if a.perhapsCarriedOut() {
				fail("attempt %d: %v", i+1, o)
			}
		}
	}
	for _, x := range e.Double {
		if !allowed[x.Activity] {
			fail("%s of %s/%s was carried out twice", x.Operation, x.Key, x.ID)
		}
	}
}

// acknowledgedIsStored: what the caller was told to be written is in the store.
func acknowledgedIsStored(e *evidence, fail report) {
	stored := map[string]bool{}
	for _, x := range e.Writes {
		stored[x.Activity] = true
	}
	for _, o := range e.operations {
		s := o.result.Answer.Status
		if o.write() && o.result.Answer.Err == "" && s < 300 && s != http.StatusMultiStatus && !stored[o.activity] {
			fail("%v", o)
		}
	}
}

// storedIsLast: in the end the store holds, of every item, what the last write
// that took effect has written: nothing that was written got lost.
func storedIsLast(e *evidence, fail report) {
	if e.Stored == nil {
		return
	}
	values, last := e.values(), map[string]gateway.Execution{}
	for _, x := range e.Writes {
		last[itemOf(x)] = x
	}
	for name, x := range last {
		n, found := e.Stored[name]
		if deleted := strings.HasSuffix(x.Operation, "delete"); found == deleted || found && n != values[x.Activity] {
			fail("%s is %d (there: %t) after %s of %d", name, n, found, x.Operation, values[x.Activity])
		}
	}
}

// values are what the writes wrote, by activity id.
func (e *evidence) values() map[string]int {
	list := map[string]int{}
	for _, o := range e.operations {
		list[o.activity] = o.result.N
	}
	return list
}

// sessionTokenKept: the session token of a request is never changed or dropped
// (package policy).
func sessionTokenKept(e *evidence, fail report) {
	check := func(a attempt, r *Result) {
		switch r.Op {
		case Batch, ReadMany, ChangeFeed, Container: // their calls have none
			return
		}
		if got := a.Header.Get("x-ms-session-token"); got != r.Token {
			fail("%v was sent with %q in the place of %q", a, got, r.Token)
		}
	}
	for _, o := range e.operations {
		for _, a := range o.attempts {
			check(a, o.result)
		}
	}
	for _, a := range e.probes {
		if r := e.results[a.call]; r != nil {
			check(a, r)
		}
	}
}

// history is the versions of the items: which write made them.
type history struct {
	first, last map[string]map[int]int // by item, the place of a value among the versions
	deleted     map[string]int         // the place of the last delete
}

func (e *evidence) history() history {
	h := history{map[string]map[int]int{}, map[string]map[int]int{}, map[string]int{}}
	values := e.values()
	for i, x := range e.Writes {
		name := itemOf(x)
		if h.first[name] == nil {
			h.first[name], h.last[name] = map[int]int{}, map[int]int{}
		}
		if strings.HasSuffix(x.Operation, "delete") {
			h.deleted[name] = i + 1
			continue
		}
		n := values[x.Activity]
		if _, known := h.first[name][n]; !known {
			h.first[name][n] = i + 1
		}
		h.last[name][n] = i + 1
	}
	return h
}

func itemOf(x gateway.Execution) string { return strings.Trim(x.Key, `[]"`) + "/" + x.ID }

// sessionNeverOlder: a read with a session token never gets an older answer
// than the ones the token came from.
func sessionNeverOlder(e *evidence, fail report) {
	h := e.history()
	known := map[int]map[string]int{} // by caller and item
	for i := range e.Results {
		r := &e.Results[i]
		if known[r.Caller] == nil {
			known[r.Caller] = map[string]int{}
		}
		k := known[r.Caller]
		if r.Token != "" && (r.Op == Read || r.Op == Query) {
			h.check(r, k, fail)
		}
		h.learn(r, k)
	}
}

// check compares what a read got with what its session knows.
func (h history) check(r *Result, known map[string]int, fail report) {
	for name, n := range r.Answer.Items {
		if at := h.last[name][n]; at < known[name] {
			fail("%s %s of %s got version %d after %d", r.ID, r.Op, name, at, known[name])
		}
	}
	name := keyName(r.Key) + "/" + itoa(r.Item)
	if r.Op == Read && r.Answer.Status == http.StatusNotFound && r.Answer.Sub == 0 && known[name] > h.deleted[name] {
		fail("%s %s of %s got nothing after version %d", r.ID, r.Op, name, known[name])
	}
}

// learn takes what an answer says to the session: only answers with a token.
func (h history) learn(r *Result, known map[string]int) {
	if r.Answer.Err != "" {
		return
	}
	if r.Op == Read {
		for name, n := range r.Answer.Items {
			known[name] = max(known[name], h.first[name][n])
		}
	}
	if r.Op.Write() && r.Op != Delete && r.Answer.Status != http.StatusMultiStatus {
		name := keyName(r.Key) + "/" + itoa(r.Item)
		known[name] = max(known[name], h.first[name][r.N])
	}
}
