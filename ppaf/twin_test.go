package ppaf

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// twin does what a Store does with maps and lists, one thing after the other, without caring for memory.
type twin struct {
	options  Options
	account  Account
	on       bool
	active   bool
	start    Token // of the account: older attempts do not count
	last     Token
	override map[Key]regions.Index
	at       map[Key]Token // of what is known of the override, also of one that went
	hub      map[Key]regions.Index
	slow     map[Key]regions.Index
	slowAt   map[Key]time.Time
	timeouts map[Key][]timeout
}

type timeout struct {
	region regions.Index
	at     time.Time
}

func newTwin(o Options) *twin {
	w := &twin{options: o, account: Account{Primary: regions.None}}
	w.clear()
	w.at = map[Key]Token{}
	return w
}

func (w *twin) clear() {
	w.override, w.hub = map[Key]regions.Index{}, map[Key]regions.Index{}
	w.slow, w.slowAt = map[Key]regions.Index{}, map[Key]time.Time{}
	w.timeouts = map[Key][]timeout{}
}

func (w *twin) drop(k Key) {
	delete(w.override, k)
	delete(w.hub, k)
	delete(w.slow, k)
	delete(w.timeouts, k)
}

func (w *twin) known(k Key) bool {
	_, o := w.override[k]
	_, h := w.hub[k]
	_, s := w.slow[k]
	return o || h || s || len(w.timeouts[k]) > 0
}

func (w *twin) readable(r regions.Index) bool {
	return r == w.account.Primary || w.account.Readable.Has(r)
}

func (w *twin) apply(a Account, now time.Time) {
	on := w.options.Mode == On || w.options.Mode == FromAccount && a.Flag != nil && *a.Flag
	w.account = a
	active := on && !a.MultiWrite && a.Primary != regions.None && len(slices.Collect(a.Readable.All())) >= 2
	if on != w.on || active != w.active {
		w.clear()
		w.last++
		w.start = w.last
	}
	w.on, w.active = on, active
	for k, o := range w.override {
		if o == a.Primary || !w.readable(o) {
			delete(w.override, k)
		}
	}
	for k, h := range w.hub {
		_, moved := w.override[k]
		if !w.readable(h) || h == a.Primary && !moved {
			delete(w.hub, k)
		}
	}
	for k, s := range w.slow {
		if !w.readable(s) {
			delete(w.slow, k)
		}
	}
	for k := range w.timeouts {
		w.timeouts[k] = slices.DeleteFunc(w.timeouts[k], func(t timeout) bool { return !w.readable(t.region) })
		w.lapse(k, now)
	}
	for k := range w.slow {
		w.lapse(k, now)
	}
}

func (w *twin) lapse(k Key, now time.Time) {
	window := w.options.TimeoutWindow
	if window == 0 {
		window = time.Minute
	}
	w.timeouts[k] = slices.DeleteFunc(w.timeouts[k], func(t timeout) bool { return now.Sub(t.at) > window })
	if now.Sub(w.slowAt[k]) > max(window, 5*time.Minute) {
		delete(w.slow, k)
	}
}

func (w *twin) begin(r regions.Index, empty bool) Token {
	if r != w.account.Primary || !empty {
		w.last++
	}
	return w.last
}

func (w *twin) answered(k Key, r regions.Index) {
	w.timeouts[k] = slices.DeleteFunc(w.timeouts[k], func(t timeout) bool { return t.region == r })
	if s, ok := w.slow[k]; ok && s == r {
		delete(w.slow, k)
	}
}

func (w *twin) observe(k Key, r regions.Index, t Token, a Answer, now time.Time, empty bool) {
	if !w.active || t < w.start {
		return
	}
	switch a {
	case Refused, Unavailable, Other:
		w.answered(k, r)
	case TimedOut:
		w.timedOut(k, r, t, now)
	case Confirmed:
		w.confirmed(k, r, t, empty)
	}
}

func (w *twin) confirmed(k Key, r regions.Index, t Token, empty bool) {
	if r == w.account.Primary && empty {
		return // the healthy path looks at nothing
	}
	_, moved := w.override[k]
	w.answered(k, r)
	switch {
	case r == w.account.Primary && moved && t < w.at[k]:
	case r == w.account.Primary:
		if moved || w.at[k] > 0 {
			w.at[k] = max(t, w.at[k])
		}
		w.drop(k)
	case w.account.Readable.Has(r) && t > w.at[k]:
		w.override[k], w.at[k] = r, t
		delete(w.hub, k)
		delete(w.slow, k)
	}
}

func (w *twin) timedOut(k Key, r regions.Index, t Token, now time.Time) {
	if !w.readable(r) || t < w.at[k] {
		return
	}
	w.lapse(k, now)
	if s, ok := w.slow[k]; ok && s == r {
		w.slowAt[k] = now
	}
	w.timeouts[k] = append(w.timeouts[k], timeout{r, now})
	n := 0
	for _, x := range w.timeouts[k] {
		if x.region == r {
			n++
		}
	}
	limit := w.options.Timeouts
	if limit == 0 {
		limit = 10
	}
	if n >= limit {
		w.answered(k, r)
		w.slow[k], w.slowAt[k] = r, now
	} else if len(w.timeouts[k]) > maxTimeouts {
		w.timeouts[k] = w.timeouts[k][1:]
	}
}

func (w *twin) exhausted(k Key, began Token) {
	_, moved := w.override[k]
	if w.active && began >= w.start && (!moved || w.at[k] <= began) {
		w.drop(k)
		w.at[k] = max(w.at[k], began)
	}
}

func (w *twin) remember(k Key, r regions.Index, t Token) {
	if !w.active || t < w.start || t < w.at[k] {
		return
	}
	o, moved := w.override[k]
	if moved && o == r || !moved && r == w.account.Primary || !w.readable(r) {
		delete(w.hub, k)
	} else {
		w.hub[k] = r
	}
}

// compare compares all that can be seen of the store.
func (w *twin) compare(t *testing.T, s *Store, keys []Key, now time.Time) {
	if w.active != s.On() || w.last != Token(s.begun.Load()) {
		require.FailNow(t, "another account", "%v %d, want %v %d", s.On(), s.begun.Load(), w.active, w.last)
	}
	if !slices.ContainsFunc(keys, w.known) {
		if !s.Empty() {
			require.FailNow(t, "something is left")
		}
	} // The reverse is not so: the store collects what has lapsed, the twin forgets it when it looks.
	for _, k := range keys {
		want := Start{regions.None, regions.None}
		hub := regions.None
		if o, ok := w.override[k]; ok {
			want.Override, hub = o, o
		}
		if h, ok := w.hub[k]; ok {
			hub = h
		}
		window := max(w.options.TimeoutWindow, 5*time.Minute)
		if r, ok := w.slow[k]; ok && now.Sub(w.slowAt[k]) <= window {
			want.Slow = r
		}
		if s.Start(k, now) != want || s.Hub(k) != hub || s.Override(k) != want.Override {
			require.FailNow(t, "different", "%v: %v, hub %v; want %v, hub %v", k, s.Start(k, now), s.Hub(k), want, hub)
		}
	}
}

// flight is an attempt that has begun.
type flight struct {
	region regions.Index
	token  Token
}

// run interprets data as operations, three bytes each, on a store and its twin.
func run(t *testing.T, data []byte) {
	keys := []Key{{1, 1}, {1, 2}, {2, 1}} // in three different shards
	yes, no := true, false
	accounts := []Account{
		{Primary: 0, Readable: regions.MakeList(0, 1, 2), Flag: &yes},
		{Primary: 0, Readable: regions.MakeList(0, 1, 2), Flag: &yes},
		{Primary: 1, Readable: regions.MakeList(0, 1, 2), Flag: &yes},
		{Primary: 0, Readable: regions.MakeList(0, 2, 3), Flag: &yes},
		{Primary: 0, Readable: regions.MakeList(1, 2), Flag: &yes},
		{Primary: 0, Readable: regions.MakeList(0), Flag: &yes},
		{Primary: 0, Readable: regions.MakeList(0, 1), MultiWrite: true, Flag: &yes},
		{Primary: 0, Readable: regions.MakeList(0, 1, 2), Flag: &no},
	}
	o := Options{Timeouts: 3, TimeoutWindow: 10 * time.Second}
	if len(data) > 0 && data[0]%2 == 1 {
		o = Options{}
	}
	s, w := NewStore(o), newTwin(o)
	now := epoch
	s.Apply(accounts[0], now)
	w.apply(accounts[0], now)
	flights := []flight{{0, 1}}
	data = data[:min(len(data), 3*200)]
	for len(data) >= 3 {
		op, k, r := data[0], keys[data[1]%3], regions.Index(data[2]%4)
		f := flights[int(data[2]/4)%len(flights)]
		data = data[3:]
		switch op % 16 {
		case 0:
			a := accounts[int(r)+4*int(op/16%2)]
			s.Apply(a, now)
			w.apply(a, now)
		case 1:
			s.Exhausted(k, f.token)
			w.exhausted(k, f.token)
		case 2:
			s.RememberHub(k, r, f.token)
			w.remember(k, r, f.token)
		case 3:
			now = now.Add(time.Duration(op/16) * 997 * time.Millisecond)
		case 4:
			now = now.Add(time.Duration(op/16) * time.Minute)
		case 5, 6, 7, 8:
			require.Equal(t, w.begin(r, s.Empty()), s.Begin(r))
			flights = append(flights, flight{r, w.last})
			flights = flights[max(0, len(flights)-8):]
		default:
			a := [...]Answer{
				Confirmed, TimedOut, TimedOut, TimedOut, Refused, Other, NotSent, NoAnswer,
				Confirmed, Unavailable, TimedOut, TimedOut, Confirmed, TimedOut, TimedOut, TimedOut,
			}[op/16]
			w.observe(k, f.region, f.token, a, now, s.Empty())
			s.Observe(k, f.region, f.token, a, now)
		}
		w.compare(t, s, keys, now)
	}
	checkLaws(t, s, now)
}

func TestStoreIsLikeItsTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		data := make([]byte, 3*200)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		run(t, data)
	}
}

// FuzzStore compares the store with its twin.
func FuzzStore(f *testing.F) {
	f.Add([]byte{5, 0, 1, 9, 0, 4, 5, 0, 0, 9, 0, 8})
	f.Add([]byte{0x05, 0, 0, 0x19, 0, 4, 0x19, 0, 4, 0x19, 0, 4, 0x03, 0, 0, 0x40, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) { run(t, data) })
}
