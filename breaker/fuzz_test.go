package breaker

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world drives all implementations at once and fails as soon as two of them differ or a law is broken.
type world struct {
	t        *testing.T
	now      time.Time
	machines []machine
	claims   map[slot]Token // the probes that are in flight
	highest  Token
	jitter   uint8
}

func newWorld(t *testing.T, o Options) *world {
	require.NoError(t, o.Validate())
	w := &world{t: t, now: started, claims: map[slot]Token{}}
	jitter := func(slot, time.Duration) uint8 { return w.jitter }
	s := newStore(o, limit, jitter)
	s.at(started) // the epoch of the others
	w.machines = []machine{s, newReference(o, jitter), newTwin(o, jitter)}
	return w
}

// do has f done by every machine and checks that they agree on what it returns, and on everything else.
func do[T any](w *world, touched slot, f func(machine) T) T {
	before := entries(w.machines[0])
	first := f(w.machines[0])
	for _, m := range w.machines[1:] {
		require.Equal(w.t, first, f(m), "%T", m)
	}
	w.agree(touched.key)
	w.laws(before, touched)
	return first
}

type told struct {
	tr Transition
	ok bool
}

func (w *world) record(id slot, e Event) told {
	return do(w, id, func(m machine) told {
		tr, ok := m.Record(id.key, id.region, id.write, e, w.now)
		return told{tr, ok}
	})
}

func (w *world) claim(id slot) (Token, bool) {
	due := w.machines[0].Route(id.key, id.write, w.now).Due&(1<<id.region) != 0
	// Tokens are numbers of the implementation; what must agree is whether there is one.
	tokens := make([]Token, 0, len(w.machines))
	ok := do(w, id, func(m machine) bool {
		token, ok := m.ClaimProbe(id.key, id.region, id.write, w.now)
		tokens = append(tokens, token)
		return ok
	})
	require.Equal(w.t, due, ok, "a probe is given exactly if Route offered it")
	if ok {
		require.Zero(w.t, w.claims[id], "at most one probe")
		require.Greater(w.t, tokens[0], w.highest, "tokens only grow")
		w.highest, w.claims[id] = tokens[0], tokens[0]
		// From here on all know it by the same token.
		w.machines[1].(*reference).adopt(id, tokens[0])
		w.machines[2].(*twin).adopt(id, tokens[0])
	}
	return tokens[0], ok
}

func (m *reference) adopt(id slot, token Token) {
	rec := m.records[id]
	rec.probe = token
	m.records[id] = rec
}

func (t *twin) adopt(id slot, token Token) {
	t.events[id][len(t.events[id])-1].token = token
}

func (w *world) end(id slot, token Token, outcome Event) told {
	if w.claims[id] == token {
		delete(w.claims, id)
	}
	return do(w, id, func(m machine) told {
		tr, ok := m.EndProbe(id.key, id.region, id.write, token, outcome, w.now)
		return told{tr, ok}
	})
}

// sweep lets every machine drop what has lapsed. The store does it in parts, so it is asked until it has done all of them.
func (w *world) sweep() []Transition {
	var all [3][]Transition
	for i, m := range w.machines {
		tell := func(tr Transition) { all[i] = append(all[i], tr) }
		if s, ok := m.(*Store); ok {
			s.swept.Store(int64(s.at(w.now) - sweepRound))
		}
		m.Lapse(w.now, tell)
		slices.SortFunc(all[i], func(a, b Transition) int { return int(a.Region) - int(b.Region) })
	}
	require.ElementsMatch(w.t, all[0], all[1])
	require.ElementsMatch(w.t, all[0], all[2])
	w.agree(Key{})
	return all[0]
}

// agree compares everything that can be seen, the route of k included.
func (w *world) agree(k Key) {
	for _, m := range w.machines[1:] {
		require.Equal(w.t, entries(w.machines[0]), entries(m), "%T", m)
		for _, write := range []bool{false, true} {
			require.Equal(w.t, w.machines[0].Route(k, write, w.now), m.Route(k, write, w.now), "%T", m)
		}
	}
}

// laws are what must hold after every step, whatever it was.
func (w *world) laws(before []Entry, touched slot) {
	m := w.machines[0]
	after := entries(m)
	require.Equal(w.t, len(after), m.Len())
	require.Equal(w.t, len(after) == 0, m.Empty())
	others := func(e Entry) bool { return slot{e.Key, e.Region, e.Write} == touched }
	require.Equal(w.t, slices.DeleteFunc(before, others), slices.DeleteFunc(slices.Clone(after), others), "no effect on others")
	for _, e := range after {
		require.NotEqual(w.t, Healthy, e.State, "what is healthy has no record")
		require.LessOrEqual(w.t, e.Failed, e.Requests)
		require.Equal(w.t, e.State == Unavailable, e.OpenFor > 0)
		require.False(w.t, e.Probing && e.State != Unavailable, "only what is opened is probed")
		if e.State == Unavailable {
			require.Zero(w.t, e.Failures+e.SlowWins+e.Requests+e.Successes, "an opening counts nothing")
		}
	}
	for _, write := range []bool{false, true} {
		route := m.Route(touched.key, write, w.now)
		require.Zero(w.t, route.Due&^route.Mask, "only what is opened is due")
		require.Equal(w.t, route.Due != 0, route.ProbeDue)
		seen := uint64(0)
		for _, r := range route.Opened[:route.Count] {
			seen |= 1 << r
		}
		require.Equal(w.t, route.Mask, seen)
	}
}

// FuzzBreaker plays random lives of three regions of two partitions to the store, the reference and the twin.
func FuzzBreaker(f *testing.F) {
	fail, ok, slow, tick, claim, bad, good := byte(0), byte(3), byte(4), byte(5), byte(6), byte(7), byte(8)
	f.Add([]byte{0, fail, 10, tick, 30, claim, 0, bad, 0, tick, 60, claim, 0, good, 0, fail, 5, ok, 10})
	f.Add([]byte{1, slow, 5, tick, 31, claim, 0, good, 0, ok, 10, tick, 200, 9, 0})
	f.Add([]byte{2, fail, 3, ok, 1, fail, 3, ok, 1, fail, 3, 10, 250, fail, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1 || len(data) > 200 {
			return
		}
		o := []Options{
			{},
			{ReadFailures: 3, WriteFailures: 1, SlowWins: 1, OpenFor: time.Minute, MaxOpenFor: 2 * time.Minute},
			{ReadFailures: 50, FailureRate: 0.5, MinRequests: 7, RateWindow: 10 * time.Second, ResetAfter: 3 * time.Second},
		}[data[0]%3]
		w := newWorld(t, o)
		for data = data[1:]; len(data) >= 2; data = data[2:] {
			w.play(data[0], data[1])
		}
	})
}

// play does what an operation byte (with the slot in its upper half) and an amount say.
func (w *world) play(op, n byte) {
	id := slot{Key{1, uint64(op >> 4 & 1)}, op >> 5 & 3, op>>7 == 1}
	stale := w.highest + 1
	switch op & 15 {
	case 0, 1, 2:
		for range n % 12 {
			w.record(id, Failure)
		}
	case 3:
		for range n % 12 {
			w.record(id, Success)
		}
	case 4:
		for range n % 6 {
			w.record(id, SlowWin)
		}
	case 5:
		w.now = w.now.Add(time.Duration(n) * time.Second)
	case 6:
		w.claim(id)
	case 7:
		w.end(id, w.claims[id], Failure)
	case 8:
		w.end(id, w.claims[id], Success)
	case 9:
		w.sweep()
	case 10:
		w.now = w.now.Add(-time.Duration(n) * 3 * time.Second)
	case 11:
		w.end(id, w.claims[id], Abandoned)
	case 12:
		w.jitter = n
	case 13:
		w.end(id, stale, Event(n%6))
	case 14:
		w.forget(id, n)
	default:
		w.now = w.now.Add(time.Duration(n) * 20 * time.Second)
	}
	w.expire()
}

func (w *world) forget(id slot, n byte) {
	for _, m := range w.machines {
		if n == 0 {
			m.Clear()
		} else {
			m.Forget(id.region)
		}
	}
	w.agree(id.key)
}

// expire takes a claim off the list when its record is gone: such a probe has nothing to end. What is probed was claimed.
func (w *world) expire() {
	probed := map[slot]bool{}
	for _, e := range entries(w.machines[0]) {
		if e.Probing {
			id := slot{e.Key, e.Region, e.Write}
			require.NotZero(w.t, w.claims[id], "a probe nobody has claimed")
			probed[id] = true
		}
	}
	maps.DeleteFunc(w.claims, func(id slot, _ Token) bool { return !probed[id] })
}
