package ppaf

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata")

// outcomes is the table of the package comment, as far as the scripts use it.
var outcomes = map[string]Answer{
	"201": Confirmed, "409": Confirmed, "412": Confirmed, "403": Confirmed,
	"403/3": Refused,
	"503":   Unavailable, "410/1022": Unavailable, "429/3092": Unavailable, "403/1008": Unavailable,
	"unsent": NotSent,
	"408":    TimedOut, "504": TimedOut, "reset": TimedOut, "deadline": TimedOut,
	"429": Other, "449": Other, "410/1002": Other, "500": Other,
	"cancelled": NoAnswer,
}

// world is what a script acts on: one account's store, a clock, and attempts in flight by name.
type world struct {
	t        *testing.T
	store    *Store
	account  Account
	now      time.Time
	attempts map[string]attempt
	out      bytes.Buffer
}

type attempt struct {
	key    Key
	region regions.Index
	token  Token
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	return &world{t: t, store: NewStore(Options{}), now: epoch, attempts: map[string]attempt{}}
}

func region(name string) regions.Index { return regions.Index(name[0] - 'A') }

func name(r regions.Index) string {
	if r == regions.None {
		return "primary"
	}
	return string(rune('A' + r))
}

func names(l regions.List) string {
	var out []string
	for r := range l.All() {
		out = append(out, name(r))
	}
	return strings.Join(out, " ")
}

func key(name string) Key { return Key{1, uint64(name[0])} }

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

func (w *world) tell(c Change, ok bool) {
	switch {
	case !ok:
	case c.Kind() == "slow":
		w.say("slow %c: %s", rune(c.Key.Range), name(c.From))
	default:
		w.say("%s %c: %s -> %s, by %s", c.Kind(), rune(c.Key.Range), name(c.From), name(c.To), c.Cause)
	}
}

// do runs one command line.
func (w *world) do(line string) {
	args := strings.Fields(line)
	run, ok := map[string]func([]string){
		"options": w.options, "account": w.setAccount, "write": w.write, "start": w.start, "begin": w.begin,
		"answer": w.answer, "exhausted": w.exhausted, "hub": w.hub, "tick": w.tick, "state": w.state, "repeat": w.repeat,
	}[args[0]]
	require.True(w.t, ok, "no command: %s", line)
	run(args[1:])
}

// options [mode=M] [timeouts=N] [window=D]: a new store.
func (w *world) options(args []string) {
	var o Options
	for _, arg := range args {
		field, value, _ := strings.Cut(arg, "=")
		switch field {
		case "mode":
			o.Mode = Mode(slices.Index(modeNames[:], value))
		case "timeouts":
			o.Timeouts, _ = strconv.Atoi(value)
		case "window":
			o.TimeoutWindow, _ = time.ParseDuration(value)
		}
	}
	require.NoError(w.t, o.Validate())
	w.store = NewStore(o)
}

// account A* B C [flag=true|false] [multi]: the primary has the star.
func (w *world) setAccount(args []string) {
	a := Account{Primary: regions.None}
	for _, arg := range args {
		switch arg {
		case "flag=true", "flag=false":
			on := arg == "flag=true"
			a.Flag = &on
		case "multi":
			a.MultiWrite = true
		default:
			a.Readable.Append(region(arg))
			if strings.HasSuffix(arg, "*") {
				a.Primary = region(arg)
			}
		}
	}
	w.account = a
	changes := w.store.Apply(a, w.now)
	slices.SortFunc(changes, func(a, b Change) int { return int(a.Key.Range) - int(b.Key.Range) })
	for _, c := range changes {
		w.tell(c, true)
	}
	if w.store.On() {
		w.say("on")
	} else {
		w.say("off")
	}
}

// request is what the arguments of write and start say.
type request struct {
	excluded regions.Set
	deadline time.Time
	answers  map[regions.Index][]string
}

func (w *world) request(args []string) request {
	q := request{answers: map[regions.Index][]string{}}
	for _, arg := range args {
		field, value, _ := strings.Cut(arg, "=")
		switch field {
		case "exclude":
			for r := range strings.SplitSeq(value, ",") {
				q.excluded = q.excluded.With(region(r))
			}
		case "deadline":
			d, err := time.ParseDuration(value)
			require.NoError(w.t, err)
			q.deadline = w.now.Add(d)
		default:
			q.answers[region(field)] = strings.Split(value, ",")
		}
	}
	return q
}

// next takes a region's next answer; its last one stays.
func (q request) next(r regions.Index) string {
	answers := q.answers[r]
	if len(answers) > 1 {
		q.answers[r] = answers[1:]
	}
	return answers[0]
}

func (w *world) candidates(k Key, q request) regions.List {
	return w.store.Start(k, w.now).Candidates(w.account.Primary, w.account.Readable, q.excluded)
}

// write P [exclude=X,Y] [deadline=D] A=answer,answer... B=...: a whole write, as the policy walks.
func (w *world) write(args []string) {
	k, q := key(args[0]), w.request(args[1:])
	began := w.now
	order := w.candidates(k, q)
	r := order.First()
	token := w.store.Begin(r)
	search := NewSearch(order, token, q.deadline)
	for {
		text := q.next(r)
		answer, ok := outcomes[text]
		require.True(w.t, ok, "no outcome: %s", text)
		w.say("%v %s %s", w.now.Sub(began), name(r), text)
		w.tell(w.store.Observe(k, r, token, answer, w.now))
		step := search.Next(r, answer, w.now)
		if step.Exhausted {
			w.tell(w.store.Exhausted(k, search.Began()))
		}
		switch step.Action {
		case Stop:
			return
		case Ask:
			r = step.Region
			token = w.store.Begin(r)
		case Again:
			w.now = w.now.Add(step.Wait)
			order = w.candidates(k, q)
			r = order.First()
			token = w.store.Begin(r)
			search.Round(order, token)
		}
	}
}

// start P [exclude=X]: the candidates of the next write.
func (w *world) start(args []string) {
	w.say("%s", names(w.candidates(key(args[0]), w.request(args[1:]))))
}

// begin W P A: attempt W of a write to P goes to A and stays in flight.
func (w *world) begin(args []string) {
	r := region(args[2])
	w.attempts[args[0]] = attempt{key(args[1]), r, w.store.Begin(r)}
}

// answer W 201: the attempt in flight ends.
func (w *world) answer(args []string) {
	a := w.attempts[args[0]]
	w.tell(w.store.Observe(a.key, a.region, a.token, outcomes[args[1]], w.now))
}

// exhausted W: the round that began with attempt W is over.
func (w *world) exhausted(args []string) {
	a := w.attempts[args[0]]
	w.tell(w.store.Exhausted(a.key, a.token))
}

// hub P [C]: where P's hub is; with a region, a read under the hub header has found it there (- forgets it).
func (w *world) hub(args []string) {
	k := key(args[0])
	if len(args) > 1 {
		r := regions.None
		if args[1] != "-" {
			r = region(args[1])
		}
		w.store.RememberHub(k, r, w.store.Begin(r))
	}
	w.say("hub %s, override %s", name(w.store.Hub(k)), name(w.store.Override(k)))
}

// tick D: time passes.
func (w *world) tick(args []string) {
	d, err := time.ParseDuration(args[0])
	require.NoError(w.t, err)
	w.now = w.now.Add(d)
}

// state: all records.
func (w *world) state([]string) {
	var lines []string
	for e := range w.store.All(w.now) {
		lines = append(lines, fmt.Sprintf("%c override %s, slow %s, hub %s, %d timeouts",
			rune(e.Key.Range), name(e.Start.Override), name(e.Start.Slow), name(e.Hub), e.Timeouts))
	}
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	slices.Sort(lines)
	w.say("%s", strings.Join(lines, "\n"))
}

// repeat N D command: N times, D apart; tells what the last one told.
func (w *world) repeat(args []string) {
	n, err := strconv.Atoi(args[0])
	require.NoError(w.t, err)
	for i := range n {
		if i > 0 {
			w.tick(args[1:2])
		}
		w.out.Reset()
		w.do(strings.Join(args[2:], " "))
	}
}

// TestScripts runs the scripts in testdata. A block is commands, "----", and what they told; -update rewrites the latter.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(want))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

func play(t *testing.T, script string) string {
	w := newWorld(t)
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		commands, _, asks := strings.Cut(block, "\n----")
		var told strings.Builder
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				w.out.Reset()
				w.do(line)
				told.WriteString(w.out.String())
				checkLaws(t, w.store, w.now)
			}
		}
		if asks || told.Len() > 0 {
			commands += "\n----\n" + strings.TrimSpace(told.String())
		}
		blocks = append(blocks, strings.TrimSpace(commands))
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// checkLaws: an override is never the primary and never outside the account, and there is one record a partition at most.
func checkLaws(t *testing.T, s *Store, now time.Time) {
	a := s.current.Load()
	seen := map[Key]bool{}
	for e := range s.All(now) {
		require.False(t, seen[e.Key], "two records of one partition")
		seen[e.Key] = true
		for _, r := range []regions.Index{e.Start.Override, e.Hub, e.Start.Slow} {
			require.True(t, r == regions.None || a.regions().Has(r), "%v is outside the account", r)
		}
		require.NotEqual(t, a.Primary, e.Start.Override, "the override is the primary")
		require.Equal(t, e.Start.Override, s.Override(e.Key))
		order := e.Start.Candidates(a.Primary, a.Readable, 0)
		require.Equal(t, a.regions(), order.Set(), "each region once")
	}
	if !a.active {
		require.Empty(t, seen, "records though it is off")
	}
}
