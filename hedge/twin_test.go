package hedge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// twinFinal lists what the scenarios use: written down, not computed.
var twinFinal = map[string]bool{"200": true, "304": true, "404": true, "403": true, "409": true, "408/21013": true, "501": true}

// twinStays lists what the walk gives back to azcosmos at once.
var twinStays = map[string]bool{"429": true, "449": true, "410/1007": true, "429/3200": true}

type twinLeg struct {
	region  string
	end     int // in milliseconds; -1: never
	running bool
}

// twin is a deliberately dumb second reading of the rules: it looks at every millisecond and remembers everything.
func twin(sc scenario) string {
	ms := func(d time.Duration) int { return int(d / time.Millisecond) }
	var out strings.Builder
	now := 0
	say := func(format string, a ...any) {
		fmt.Fprintf(&out, "%-7v %s\n", time.Duration(now)*time.Millisecond, fmt.Sprintf(format, a...))
	}

	// When each hedge is due.
	threshold, step := ms(sc.options.Threshold), ms(sc.options.Step)
	if threshold == 0 {
		threshold = 1000
		if sc.deadline != 0 {
			threshold = min(threshold, ms(sc.deadline)/2)
		}
	}
	if step == 0 {
		step = 500
	}
	var candidates []string
	for _, r := range sc.regions[1:] {
		if !slices.Contains(sc.never, r) {
			candidates = append(candidates, r)
		}
	}
	var due []int // of the hedges to come
	for k := range candidates {
		if sc.options.MaxHedges == 0 || k < sc.options.MaxHedges {
			due = append(due, threshold+k*step)
		}
	}
	switch {
	case len(candidates) == 0:
		say("not hedged: one_region")
	case sc.deadline != 0 && threshold >= ms(sc.deadline):
		say("not hedged: deadline")
		due = nil
	}

	asked := []string{}
	ask := func(list []string) string {
		for _, r := range list {
			if !slices.Contains(asked, r) {
				asked = append(asked, r)
				return r
			}
		}
		return ""
	}
	var legs []twinLeg
	newLeg := func(region string) twinLeg {
		l := twinLeg{region, -1, true}
		if b := sc.behaves[region]; b.after >= 0 {
			l.end = now + ms(b.after)
		}
		return l
	}
	running := func() (n int) {
		for _, l := range legs {
			if l.running {
				n++
			}
		}
		return n
	}
	hedge := func(when string) {
		hedges := running()
		if legs[0].running {
			hedges--
		}
		if hedges >= sc.free {
			say("hedge withheld: budget")
			due = due[1:]
			return
		}
		r := ask(candidates)
		if r == "" {
			say("hedge withheld: no_region")
			due = nil
			return
		}
		due = due[1:]
		legs = append(legs, newLeg(r))
		say("%s asked by hedge %d, %s", r, len(legs)-1, when)
	}

	legs = append(legs, newLeg(ask(sc.regions)))
	say("%s asked", legs[0].region)
	for ; now < 60_000; now++ {
	again:
		for i := range legs {
			l := &legs[i]
			if !l.running || l.end != now {
				continue
			}
			answer := sc.behaves[l.region].answer
			if i == 0 && !twinFinal[answer] && !twinStays[answer] {
				if r := ask(sc.regions); r != "" {
					say("%s %s, the walk asks %s", l.region, answer, r)
					legs[0] = newLeg(r)
					goto again
				}
			}
			l.running = false
			if twinFinal[answer] {
				say("%s %s, final", l.region, answer)
				switch {
				case i > 0 && legs[0].running:
					say("over: hedge_won, %s answers, %s is slow", l.region, legs[0].region)
				case i > 0:
					say("over: hedge_won, %s answers", l.region)
				case len(legs) > 1:
					say("over: primary_won_after_hedge, %s answers", l.region)
				default:
					say("over: primary_won_pre_threshold, %s answers", l.region)
				}
				return out.String()
			}
			say("%s %s, not final", l.region, answer)
			if len(due) > 0 {
				hedge("early")
			}
			if running() == 0 {
				say("over: none_final, %s answers", legs[0].region)
				return out.String()
			}
			goto again
		}
		cancelled, expired := sc.cancel != 0 && ms(sc.cancel) == now, sc.deadline != 0 && ms(sc.deadline) == now
		switch {
		case expired && len(legs) > 1:
			say("the context is done: none_final, %s answers", legs[0].region)
			return out.String()
		case expired:
			say("the context is done: deadline_pre_threshold, %s answers", legs[0].region)
			return out.String()
		case cancelled:
			say("the context is done: cancelled, %s answers", legs[0].region)
			return out.String()
		}
		if len(due) > 0 && due[0] <= now {
			hedge("due")
			goto again
		}
		if waiting := sc.deadline == 0 && sc.cancel == 0 && len(due) == 0; waiting {
			if !slices.ContainsFunc(legs, func(l twinLeg) bool { return l.running && l.end >= 0 }) {
				break
			}
		}
	}
	return out.String() + stuck
}

var fuzzAnswers = []string{
	"200", "304", "404", "403", "409", "408/21013", "501",
	"429", "449", "410/1007", "429/3200",
	"503", "500", "408", "404/1002", "403/3", "403/1008", "410/1022", "429/3092", "refused",
}

// decode makes a scenario of bytes; every value of every byte means something.
func decode(data []byte) scenario {
	at := 0
	next := func(n int) int {
		if at >= len(data) {
			return 0
		}
		at++
		return int(data[at-1]) % n
	}
	ms := func(n int) time.Duration { return time.Duration(next(n)) * time.Millisecond }
	sc := scenario{behaves: map[string]behaviour{}}
	sc.regions = strings.Split("ABCDE", "")[:1+next(5)]
	sc.options = Options{Threshold: ms(64), Step: ms(32), MaxHedges: next(6)}
	sc.free = next(6)
	sc.deadline, sc.cancel = 2*ms(128), ms(200) // half of the deadline in whole milliseconds: the twin knows no others
	for _, r := range sc.regions {
		b := behaviour{ms(128), fuzzAnswers[next(len(fuzzAnswers))]}
		if next(8) == 0 {
			b = behaviour{after: -1}
		}
		sc.behaves[r] = b
		if next(8) == 1 {
			sc.never = append(sc.never, r)
		}
	}
	return sc
}

// FuzzRace compares the timing diagrams of the race and of its twin, and checks the laws that both could break.
func FuzzRace(f *testing.F) {
	f.Add([]byte{2, 10, 5, 0, 5, 0, 0, 100, 0, 1, 0, 5, 0, 1, 0, 5, 0, 1, 0})
	f.Add([]byte{4, 10, 5, 0, 1, 200, 0, 3, 11, 1, 0, 50, 12, 1, 0, 5, 7, 1, 0, 5, 15, 1, 1, 5, 0, 1, 0})
	f.Add([]byte{1, 0, 0, 1, 0, 9, 0, 0, 7, 1, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		sc := decode(data)
		got := run(sc)
		require.Equal(t, twin(sc), got, "%+v", sc)
		laws(t, sc, got)
	})
}

func laws(t *testing.T, sc scenario, diagram string) {
	asked := map[string]int{}
	hedges := 0
	for line := range strings.Lines(diagram) {
		f := strings.Fields(line)
		switch {
		case len(f) > 2 && f[2] == "asked":
			asked[f[1]]++
		case strings.Contains(line, "the walk asks"):
			asked[f[len(f)-1]]++
		}
		if strings.Contains(line, "asked by hedge") {
			hedges++
			require.NotContains(t, sc.never, f[1], diagram)
			at, err := time.ParseDuration(f[0])
			require.NoError(t, err)
			require.False(t, strings.HasSuffix(line, "due\n") && at < sc.options.Threshold, diagram)
		}
	}
	for r, n := range asked {
		require.Equal(t, 1, n, "%s is asked once:\n%s", r, diagram)
	}
	if sc.options.MaxHedges > 0 {
		require.LessOrEqual(t, hedges, sc.options.MaxHedges, diagram)
	}
	require.LessOrEqual(t, hedges, len(sc.regions)-1, diagram)
}
