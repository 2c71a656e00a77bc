package regions

import (
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "rewrite the answers in testdata/health")

// epoch is 0s of the scripts.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestHealth_Scripts plays testdata/health/*.txt. A line is a command, "> answer" lines are what it says:
//
//	mark|claim A write 30s     regions are single letters; times count from the start
//	clear|release A write
//	keep A,B
//	order A,B,C read 10s       answers the order, and the trial if there is one
//	marked read 10s
//	marks
func TestHealth_Scripts(t *testing.T) {
	files, err := filepath.Glob("testdata/health/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			var got strings.Builder
			var h *Health
			for line := range strings.Lines(string(body)) {
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, ">") {
					continue
				}
				fmt.Fprintln(&got, line)
				if line == "" || line[0] == '#' {
					continue
				}
				var answer string
				h, answer = play(t, h, strings.Fields(line))
				if answer != "" {
					fmt.Fprintln(&got, ">", answer)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o600))
			}
			assert.Equal(t, string(body), got.String())
		})
	}
}

// play carries one command out.
func play(t *testing.T, h *Health, f []string) (*Health, string) {
	t.Helper()
	region := func() Index { return Index(f[1][0] - 'A') }
	write := func(i int) bool { return f[i] == "write" }
	now := func(i int) time.Time {
		d, err := time.ParseDuration(f[i])
		require.NoError(t, err)
		return epoch.Add(d)
	}
	switch f[0] {
	case "mark":
		return h.Mark(region(), write(2), now(3)), ""
	case "clear":
		return h.Clear(region(), write(2)), ""
	case "claim":
		h, ok := h.Claim(region(), write(2), now(3))
		return h, strconv.FormatBool(ok)
	case "release":
		return h.Release(region(), write(2)), ""
	case "keep":
		return h.Keep(letterList(f[1]).Set()), ""
	case "order":
		l, trial := h.Order(letterList(f[1]), write(2), now(3))
		if trial != None {
			return h, letters(l) + " trial " + letters(MakeList(trial))
		}
		return h, letters(l)
	case "marked":
		var l List
		for r := range Index(26) {
			if h.Marked(write(1), now(2)).Has(r) {
				l.Append(r)
			}
		}
		return h, "{" + letters(l) + "}"
	case "marks":
		if h == nil {
			return h, "nil"
		}
		var out []string
		for _, m := range h.Marks() {
			s := fmt.Sprintf("%c %s %v", 'A'+m.Region, map[bool]string{true: "write", false: "read"}[m.Write], m.At.Sub(epoch))
			out = append(out, s+map[bool]string{true: " trial"}[m.Trial])
		}
		return h, strings.Join(out, ", ")
	}
	t.Fatalf("unknown command %q", f[0])
	return h, ""
}

func letters(l List) string {
	var out []string
	for r := range l.All() {
		out = append(out, string(rune('A'+r)))
	}
	return strings.Join(out, ",")
}

func letterList(s string) List {
	var l List
	for c := range strings.SplitSeq(s, ",") {
		l.Append(Index(c[0] - 'A'))
	}
	return l
}

func TestHealth_NilAndNoRegion(t *testing.T) {
	var h *Health
	assert.Nil(t, h.Clear(1, true))
	assert.Nil(t, h.Release(1, true))
	assert.Nil(t, h.Keep(0))
	assert.Nil(t, h.Marks())
	assert.Nil(t, h.Mark(None, true, epoch))
	assert.Zero(t, h.Marked(true, epoch))
	same, ok := h.Claim(1, true, epoch)
	assert.Nil(t, same)
	assert.False(t, ok)
	l, trial := h.Order(MakeList(2, 1), false, epoch)
	assert.Equal(t, MakeList(2, 1), l)
	assert.Equal(t, None, trial)
}

func TestHealth_NothingToChangeIsTheSameValue(t *testing.T) {
	h := (*Health)(nil).Mark(1, true, epoch)
	assert.Same(t, h, h.Clear(1, false))
	assert.Same(t, h, h.Clear(2, true))
	assert.Same(t, h, h.Release(1, true))
	assert.Same(t, h, h.Keep(1<<1))
	same, ok := h.Claim(1, true, epoch)
	assert.Same(t, h, same)
	assert.False(t, ok)
}

func TestHealth_Immutable(t *testing.T) {
	h := (*Health)(nil).Mark(1, true, epoch).Mark(2, false, epoch)
	before := h.Marks()
	later := epoch.Add(TrialAfter)
	h.Mark(1, true, later)
	h.Mark(3, true, later)
	h.Clear(1, true)
	claimed, ok := h.Claim(1, true, later)
	assert.True(t, ok)
	claimed.Release(1, true)
	assert.True(t, claimed.Marks()[0].Trial)
	h.Keep(0)
	h.Marks()[0].Region = 9
	assert.Equal(t, before, h.Marks())
}

// healthTwin is the same by a map and by the letter of the rules.
type healthTwin map[Mark]Mark // by Mark{Region, Write}

func (tw healthTwin) order(l []Index, write bool, now time.Time) ([]Index, Index) {
	trial := None
	var front, back []Index
	for _, r := range l {
		m, marked := tw[Mark{Region: r, Write: write}]
		age := now.Sub(m.At)
		switch {
		case !marked || age >= MarkFor || age < -MarkFor:
			front = append(front, r)
		case age >= TrialAfter && !m.Trial && trial == None:
			front, trial = append(front, r), r
		default:
			back = append(back, r)
		}
	}
	return append(front, back...), trial
}

func FuzzHealth(f *testing.F) {
	f.Add([]byte{0, 1, 10, 5, 0, 20, 2, 1, 30, 5, 0, 1})
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 2, 0, 2, 1, 40, 5, 0, 0, 3, 1, 0, 1, 2, 0, 5, 0, 250})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := reader(data[:min(len(data), 600)]) // a script of 200 steps
		var h *Health
		tw := healthTwin{}
		now := epoch
		for len(in) > 0 {
			op, arg := in.next(), in.next()
			r, write := Index(arg%5), arg&8 != 0
			key := Mark{Region: r, Write: write}
			now = now.Add(time.Duration(int8(in.next())) * 5 * time.Second) // clocks jump back, too
			m, marked := tw[key]
			age := now.Sub(m.At)
			switch op % 6 {
			case 0:
				h = h.Mark(r, write, now)
				tw[key] = Mark{At: now}
			case 1:
				h = h.Clear(r, write)
				delete(tw, key)
			case 2:
				var ok bool
				h, ok = h.Claim(r, write, now)
				want := marked && age >= TrialAfter && age < MarkFor && !m.Trial
				require.Equal(t, want, ok)
				if want {
					tw[key] = Mark{At: m.At, Trial: true}
				}
			case 3:
				h = h.Release(r, write)
				if marked {
					tw[key] = Mark{At: m.At}
				}
			case 4:
				known := Set(arg)
				h = h.Keep(known)
				for k := range tw {
					if !known.Has(k.Region) {
						delete(tw, k)
					}
				}
			}
			// The twin forgets lapsed marks only when Mark does, for a clock may come back.
			if op%6 == 0 {
				for k, m := range tw {
					if age := now.Sub(m.At); age >= MarkFor || age < -MarkFor {
						delete(tw, k)
					}
				}
			}
			list := []Index{4, 2, 0, 1, 3}[:1+arg%5]
			for _, w := range []bool{false, true} {
				want, wantTrial := tw.order(list, w, now)
				got, trial := h.Order(MakeList(list...), w, now)
				require.Equal(t, want, slices.Collect(got.All()))
				require.Equal(t, wantTrial, trial)
				require.Equal(t, MakeList(list...).Set(), got.Set(), "never out")
			}
			require.Len(t, tw, len(h.Marks()))
			require.Equal(t, len(tw) == 0, h == nil)
		}
	})
}
