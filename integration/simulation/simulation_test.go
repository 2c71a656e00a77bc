package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	worlds  = flag.Int("worlds", someWorlds, "how many worlds to run")
	seed    = flag.Uint64("seed", 1, "the seed of the first world")
	callers = flag.Int("callers", 0, "callers in each world; 0: as the seed says")
	most    = flag.Int("failures", 3, "after how many failing worlds to stop")
	keep    = flag.String("keep", filepath.Join(os.TempDir(), "azcosmos-ha-simulation"), "where what failed is kept")
	budget  = flag.Int("shrink", 300, "how many runs a failure may take to shrink")
)

// TestWorlds runs worlds from seeds and checks every invariant in each. A world
// that fails is made small and kept, with the log of its run: put the script
// into testdata/worlds, and it is a test.
func TestWorlds(t *testing.T) {
	began, failed := time.Now(), 0
	for i := range *worlds {
		w := Generate(*seed+uint64(i), *callers) //nolint:gosec // not negative
		r := w.Do(t)
		violations := Judge(r)
		if len(violations) == 0 {
			continue
		}
		t.Errorf("seed %d:%s", w.Seed, told(violations))
		keepSmallest(t, r, violations)
		if failed++; failed >= *most {
			t.Fatalf("%d of %d worlds failed", failed, i+1)
		}
	}
	t.Logf("%d worlds in %v", *worlds, time.Since(began).Round(time.Millisecond))
}

func told(violations []Violation) string {
	var b strings.Builder
	for _, v := range violations {
		b.WriteString("\n" + v.String())
	}
	return b.String()
}

// keepSmallest keeps a failing run and its world shrunk. A world that is stuck is
// kept as it is: each attempt would leave its goroutines behind.
func keepSmallest(t *testing.T, r *Run, violations []Violation) {
	name := fmt.Sprintf("seed-%d", r.Seed)
	path, err := Keep(*keep, name, r, violations)
	require.NoError(t, err)
	t.Logf("kept: %s", path)
	if r.Stuck != "" || *budget == 0 {
		return
	}
	small := Shrink(r.World, *budget, func(w World) bool {
		tries := 1
		if len(w.Callers) > 1 {
			tries = 3 // with many callers the order is chance
		}
		for range tries {
			if broken(Judge(w.Do(t)), violations[0].Invariant) {
				return true
			}
		}
		return false
	})
	again := small.Do(t)
	path, err = Keep(*keep, name+"-small", again, Judge(again))
	require.NoError(t, err)
	t.Logf("shrunk to %d calls and %d events: %s\n%s", calls(small), len(small.Events), path, small.Script())
}

func calls(w World) int {
	n := 0
	for _, c := range w.Callers {
		n += len(c)
	}
	return n
}

func broken(violations []Violation, name string) bool {
	return slices.ContainsFunc(violations, func(v Violation) bool { return v.Invariant == name })
}

// TestScripts runs the worlds that found something once.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "worlds", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			w, err := ReadScript(file)
			require.NoError(t, err)
			r := w.Do(t)
			require.Empty(t, Judge(r), r.Story(nil))
		})
	}
}

// TestReproduced runs worlds with one caller twice: the same requests reach the
// gateway at the same moments. The order of requests of the same moment is
// chance, and so is what ReadMany, which asks several ranges at once, leaves when
// one of them fails, and when azcore repeats an account read that fails.
func TestReproduced(t *testing.T) {
	for s := range uint64(60) {
		w := Generate(*seed+s, 1)
		if w.uses(ReadMany) {
			continue
		}
		first, second := w.Do(t), w.Do(t)
		a, b := first.Lines(), second.Lines()
		if slices.ContainsFunc(a, func(line string) bool { return strings.Contains(line, " account  0/0 ") }) {
			continue
		}
		slices.Sort(a)
		slices.Sort(b)
		require.Equal(t, a, b, "seed %d", w.Seed)
	}
}

// TestScriptOfAWorld writes worlds and reads them again.
func TestScriptOfAWorld(t *testing.T) {
	for s := range uint64(50) {
		w := Generate(s, 0)
		file := filepath.Join(t.TempDir(), "world.json")
		require.NoError(t, os.WriteFile(file, w.Script(), 0o600))
		read, err := ReadScript(file)
		require.NoError(t, err)
		require.Equal(t, string(w.Script()), string(read.Script()))
		require.Equal(t, w, Generate(s, 0), "the same seed is the same world")
	}
}

// TestShrink makes a world small that fails as long as a certain call and a
// certain event are in it.
func TestShrink(t *testing.T) {
	w := Generate(3, 4)
	w.Events = []Event{{Do: Split}, {Do: Down, Region: "East US"}, {Do: Split}}
	w.Callers[2][1].Op = ReadMany
	small := Shrink(w, 2000, func(w World) bool {
		return w.uses(ReadMany) && slices.ContainsFunc(w.Events, func(e Event) bool { return e.Do == Down })
	})
	require.Len(t, small.Events, 1)
	require.Equal(t, Down, small.Events[0].Do)
	require.Len(t, small.Callers, 2, "one that was there first, and the one with the call")
	require.Equal(t, 1, calls(small))
	require.Len(t, small.Account.Regions, 1)
	require.Equal(t, Client{NoBreaker: true, NoHedge: true}, small.Client)
	require.NotEmpty(t, w.Callers[3], "the world that was given is as it was")
}
