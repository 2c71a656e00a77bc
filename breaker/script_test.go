package breaker

import (
	"flag"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// names are the regions of the scripts by index.
var names = []string{"NCUS", "WUS", "CUS"}

// TestScripts plays testdata/*.txt. A line is a command, and the indented lines below it are its answer, the same one from the
// sharded store, the reference and the twin; the laws are checked after each. READ or WRITE is read or write; a
// partition is p1 (the default), p2, or of another container c2/p1.
//
//	options KEY=VALUE...                     before anything else
//	fail|ok|slow READ REGION [TIMES] [PART]  that many failures, successes, slow wins, one after the other
//	route READ [PART]                        what is opened, and which probe is due
//	probe READ REGION ok|fail|abandon [PART] claim the probe and end it
//	claim READ REGION NAME [PART]            claim it and leave it in flight
//	end NAME ok|fail|abandon                 end that one
//	tick DURATION                            time goes on (or back)
//	jitter 0..255                            of the openings that follow, 255 being a quarter
//	sweep | state | forget REGION | clear
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(text))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			assert.Equal(t, string(text), got)
		})
	}
}

// play returns the script with the answers that the machines give.
func play(t *testing.T, text string) string {
	var out strings.Builder
	p := &player{claimed: map[string]claim{}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue // an old answer
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if p.world == nil {
			p.world = newWorld(t, options(t, words))
			if words[0] == "options" {
				continue
			}
		}
		for _, answer := range p.command(words[0], words[1:]) {
			out.WriteString("\t" + answer + "\n")
		}
		p.world.expire()
	}
	return out.String()
}

type claim struct {
	id    slot
	token Token
}

type player struct {
	world   *world
	claimed map[string]claim
}

func options(t *testing.T, words []string) (o Options) {
	if words[0] != "options" {
		return o
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		n, _ := strconv.Atoi(value)
		d, _ := time.ParseDuration(value)
		switch key {
		case "read-failures":
			o.ReadFailures = n
		case "write-failures":
			o.WriteFailures = n
		case "slow-wins":
			o.SlowWins = n
		case "min-requests":
			o.MinRequests = n
		case "failure-rate":
			o.FailureRate, _ = strconv.ParseFloat(value, 64)
		case "reset-after":
			o.ResetAfter = d
		default:
			require.FailNow(t, "unknown option", key)
		}
	}
	return o
}

// events are the words of a script.
var events = map[string]Event{"fail": Failure, "ok": Success, "slow": SlowWin, "abandon": Abandoned}

func (p *player) command(verb string, args []string) []string {
	w := p.world
	switch verb {
	case "fail", "ok", "slow":
		return p.happens(events[verb], args)
	case "route":
		return []string{p.route(args)}
	case "probe", "claim":
		return p.probe(verb, args)
	case "end":
		c := p.claimed[args[0]]
		return p.end(c, events[args[1]])
	case "tick":
		d, err := time.ParseDuration(args[0])
		require.NoError(w.t, err)
		w.now = w.now.Add(d)
		return nil
	case "jitter":
		n, err := strconv.ParseUint(args[0], 10, 8)
		require.NoError(w.t, err)
		w.jitter = uint8(n)
		return nil
	case "sweep":
		return p.show(w.sweep())
	case "state":
		return p.state(slot{}, true)
	case "forget":
		w.forget(slot{region: p.region(args[0])}, 1)
		return nil
	case "clear":
		w.forget(slot{}, 0)
		return nil
	}
	require.FailNow(w.t, "unknown command", verb)
	return nil
}

func (p *player) region(name string) Region {
	i := slices.Index(names, name)
	require.GreaterOrEqual(p.world.t, i, 0, name)
	return Region(i)
}

// slot reads the words "read WUS ... [PART]".
func (p *player) slot(args []string) slot {
	id := slot{key: part(args[len(args)-1]), write: args[0] == "write"}
	if len(args) > 1 && !strings.Contains(args[1], "p") {
		id.region = p.region(args[1])
	}
	return id
}

func part(word string) Key {
	k := Key{1, 1}
	if c, rest, ok := strings.Cut(word, "/"); ok {
		k.Container = uint64(c[len("c")] - '0')
		word = rest
	}
	if number, ok := strings.CutPrefix(word, "p"); ok {
		k.Range = uint64(number[0] - '0')
	}
	return k
}

func (p *player) happens(e Event, args []string) []string {
	id, times := p.slot(args), 1
	if len(args) > 2 {
		if n, err := strconv.Atoi(args[2]); err == nil {
			times = n
		}
	}
	var all []Transition
	for range times {
		if told := p.world.record(id, e); told.ok {
			all = append(all, told.tr)
		}
	}
	if len(all) > 0 {
		return p.show(all)
	}
	return p.state(id, false)
}

func (p *player) probe(verb string, args []string) []string {
	id := p.slot(args)
	token, ok := p.world.claim(id)
	if !ok {
		return []string{"no"}
	}
	c := claim{id, token}
	if verb == "claim" {
		p.claimed[args[2]] = c
		return []string{"yes"}
	}
	return p.end(c, events[args[2]])
}

func (p *player) end(c claim, e Event) []string {
	if told := p.world.end(c.id, c.token, e); told.ok {
		return p.show([]Transition{told.tr})
	}
	return p.state(c.id, false)
}

func (p *player) route(args []string) string {
	id := p.slot(args)
	route := p.world.machines[0].Route(id.key, id.write, p.world.now)
	if route.Count == 0 {
		return "nothing opened"
	}
	var opened []string
	for _, r := range route.Opened[:route.Count] {
		opened = append(opened, names[r])
	}
	answer := "opened " + strings.Join(opened, ", ")
	if route.ProbeDue {
		answer += "; probe " + names[route.Probe]
	}
	if n := bits.OnesCount64(route.Due); n > 1 {
		answer += fmt.Sprintf(" (%d are due)", n)
	}
	return answer
}

func title(k Key, r Region, write bool) string {
	s := fmt.Sprintf("p%d %s ", k.Range, names[r])
	if k.Container != 1 {
		s = fmt.Sprintf("c%d/%s", k.Container, s)
	}
	if write {
		return s + "write: "
	}
	return s + "read: "
}

func (p *player) show(all []Transition) (lines []string) {
	for _, tr := range all {
		line := title(tr.Key, tr.Region, tr.Write) + fmt.Sprintf("%v -> %v, %v", tr.From, tr.To, tr.Cause)
		if tr.Failures > 0 {
			line += fmt.Sprintf(" (%d)", tr.Failures)
		}
		if tr.OpenFor > 0 {
			line += fmt.Sprintf(", for %v", tr.OpenFor)
		}
		assert.Equal(p.world.t, p.world.now, tr.Since, "a transition happens now")
		lines = append(lines, line)
	}
	return lines
}

// state shows the records of one slot or of all.
func (p *player) state(id slot, all bool) (lines []string) {
	for _, e := range entries(p.world.machines[0]) {
		if !all && (slot{e.Key, e.Region, e.Write}) != id {
			continue
		}
		line := title(e.Key, e.Region, e.Write) + e.State.String()
		for _, n := range []struct {
			n    int
			what string
		}{
			{e.Failures, "failures in a row"}, {e.SlowWins, "slow wins in a row"}, {e.Successes, "successes"},
		} {
			if n.n > 0 {
				line += fmt.Sprintf(", %d %s", n.n, n.what)
			}
		}
		if e.Requests > 0 {
			line += fmt.Sprintf(", %d of %d failed", e.Failed, e.Requests)
		}
		if e.Probing {
			line += ", probe in flight"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return []string{"no record"}
	}
	return lines
}
