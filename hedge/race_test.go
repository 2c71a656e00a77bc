package hedge

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the timing diagrams in testdata/race")

// parse reads a scenario: what stands above the line of dashes in testdata/race.
func parse(t *testing.T, text string) scenario {
	sc := scenario{free: 64, behaves: map[string]behaviour{}}
	duration := func(s string) time.Duration {
		d, err := time.ParseDuration(s)
		require.NoError(t, err)
		return d
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		switch f[0] {
		case "regions":
			sc.regions = f[1:]
		case "never":
			sc.never = f[1:]
		case "threshold":
			sc.options.Threshold = duration(f[1])
		case "step":
			sc.options.Step = duration(f[1])
		case "deadline":
			sc.deadline = duration(f[1])
		case "cancel":
			sc.cancel = duration(f[1])
		case "hedges", "budget":
			n, err := strconv.Atoi(f[1])
			require.NoError(t, err)
			if f[0] == "hedges" {
				sc.options.MaxHedges = n
			} else {
				sc.free = n
			}
		default:
			require.Contains(t, sc.regions, f[0], "a region of the scenario")
			if f[1] == "hangs" {
				sc.behaves[f[0]] = behaviour{after: -1}
			} else {
				sc.behaves[f[0]] = behaviour{duration(f[1]), f[2]}
			}
		}
	}
	return sc
}

const line = "---\n"

// TestRaceDiagrams plays every file of testdata/race: the scenario above the line must give the diagram below it, by the
// race and by its twin.
func TestRaceDiagrams(t *testing.T) {
	files, err := filepath.Glob("testdata/race/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			above, want, _ := strings.Cut(string(raw), line)
			sc := parse(t, above)
			got := run(sc)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(above+line+got), 0o600))
				return
			}
			assert.Equal(t, want, got)
			assert.Equal(t, want, twin(sc), "the twin")
		})
	}
}

// raced makes a race with so many places, of which the first hedges were sent.
func raced(places, sent int) *Race {
	r := MakeRace(MakeSchedule(Options{}, epoch, time.Second, places))
	for range sent {
		r.Sent()
	}
	return &r
}

func TestRaceMoves(t *testing.T) {
	tests := []struct {
		name  string
		race  *Race
		event func(*Race) Move
		move  Move
		state State
		legs  int // in flight after it
	}{
		{"first leg final", raced(1, 0), ended(First, true), Return, StatePrimaryWonPreThreshold, 0},
		{"first leg final, a hedge in flight", raced(1, 1), ended(First, true), Return, StatePrimaryWonAfterHedge, 1},
		{"first leg not final, a place left", raced(1, 0), ended(First, false), Start, StateRunning, 0},
		{"first leg not final, no place, a hedge in flight", raced(1, 1), ended(First, false), Wait, StateRunning, 1},
		{"first leg not final, no place, nothing in flight", raced(0, 0), ended(First, false), Return, StateNoneFinal, 0},
		{"hedge final", raced(2, 2), ended(2, true), Return, StateHedgeWon, 2},
		{"hedge not final, a place left", raced(2, 1), ended(1, false), Start, StateRunning, 1},
		{"hedge not final, no place left", raced(1, 1), ended(1, false), Wait, StateRunning, 1},
		{"withheld while the first leg runs", raced(1, 0), withheld(ReasonBudget), Wait, StateRunning, 1},
		{"a leg that was never sent", raced(2, 1), ended(2, true), Wait, StateRunning, 2},
		{"a leg number beyond all", raced(2, 1), ended(64, true), Wait, StateRunning, 2},
		{"a negative leg number", raced(2, 1), ended(-1, true), Wait, StateRunning, 2},
		{"not yet due", raced(1, 0), tick(time.Second - 1), Wait, StateRunning, 1},
		{"due", raced(1, 0), tick(time.Second), Start, StateRunning, 1},
		{"the second is due a step later", raced(2, 1), tick(1500*time.Millisecond - 1), Wait, StateRunning, 2},
		{"no place", raced(0, 0), tick(time.Hour), Wait, StateRunning, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.move, tt.event(tt.race), "move")
			assert.Equal(t, tt.state, tt.race.State(), "state")
			assert.Equal(t, tt.legs, tt.race.InFlight(), "legs in flight")
			assert.Equal(t, tt.state != StateRunning, tt.race.Over())
		})
	}
}

func ended(leg int, final bool) func(*Race) Move {
	return func(r *Race) Move { return r.Ended(leg, final) }
}

func withheld(why Reason) func(*Race) Move {
	return func(r *Race) Move { return r.Withheld(why) }
}

func tick(after time.Duration) func(*Race) Move {
	return func(r *Race) Move { return r.Tick(epoch.Add(after)) }
}

func TestRaceIsOverOnce(t *testing.T) {
	r := raced(3, 1)
	require.Equal(t, Return, r.Ended(1, true))
	assert.Equal(t, Wait, r.Ended(First, true), "the loser")
	assert.Equal(t, Wait, r.Ended(1, false), "again")
	assert.Equal(t, Wait, r.Tick(epoch.Add(time.Hour)), "a late timer")
	_, again := r.Next(epoch)
	assert.False(t, again, "no timer after the end")
	assert.Equal(t, StateHedgeWon, r.Stop(true), "a late deadline")
	assert.Equal(t, Wait, r.Withheld(ReasonBudget))
	assert.Equal(t, 1, r.Winner())
	assert.Equal(t, 1, r.Hedges())
}

func TestRaceWithheld(t *testing.T) {
	t.Run("budget spends one place", func(t *testing.T) {
		r := raced(2, 0)
		require.Equal(t, Wait, r.Withheld(ReasonBudget))
		wait, ok := r.Next(epoch)
		assert.True(t, ok)
		assert.Equal(t, 1500*time.Millisecond, wait)
	})
	t.Run("no region spends them all", func(t *testing.T) {
		r := raced(2, 0)
		require.Equal(t, Wait, r.Withheld(ReasonNoRegion))
		_, ok := r.Next(epoch)
		assert.False(t, ok)
	})
	t.Run("nothing in flight: the first leg's answer, though a place is left", func(t *testing.T) {
		r := raced(2, 0)
		require.Equal(t, Start, r.Ended(First, false))
		assert.Equal(t, Return, r.Withheld(ReasonBudget))
		assert.Equal(t, StateNoneFinal, r.State())
		assert.Equal(t, First, r.Winner())
	})
}

func TestRaceStop(t *testing.T) {
	tests := []struct {
		name     string
		sent     int
		deadline bool
		want     State
	}{
		{"deadline before any hedge", 0, true, StateDeadlinePreThreshold},
		{"deadline after one", 1, true, StateNoneFinal},
		{"cancelled before any hedge", 0, false, StateCancelled},
		{"cancelled after one", 1, false, StateCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := raced(1, tt.sent)
			assert.Equal(t, tt.want, r.Stop(tt.deadline))
			assert.Equal(t, tt.want, r.State())
			assert.Equal(t, First, r.Winner())
			assert.False(t, r.Slow())
		})
	}
}

func TestRaceSlow(t *testing.T) {
	r := raced(1, 1)
	r.Ended(1, true)
	assert.True(t, r.Slow(), "the hedge won while the first leg was in flight")

	r = raced(1, 1)
	r.Ended(First, false)
	r.Ended(1, true)
	assert.False(t, r.Slow(), "the first leg had ended: its answer counts, not its slowness")

	r = raced(1, 1)
	r.Ended(First, true)
	assert.False(t, r.Slow(), "the first leg won")
}

func TestStateNames(t *testing.T) {
	var names []string
	for s := range stateCount {
		names = append(names, s.String())
	}
	assert.Equal(t, []string{
		"running", "primary_won_pre_threshold", "primary_won_after_hedge", "hedge_won", "none_final",
		"deadline_pre_threshold", "cancelled",
	}, names)
	assert.Empty(t, stateCount.String())
}

// TestMostLegs: 63 hedges beside the first leg, as many as there can be regions.
func TestMostLegs(t *testing.T) {
	r := raced(1000, 0)
	for i := range maxHedges {
		require.Equal(t, Start, r.Tick(epoch.Add(time.Hour)))
		require.Equal(t, i+1, r.Sent())
	}
	require.Equal(t, Wait, r.Tick(epoch.Add(time.Hour)))
	require.Equal(t, maxHedges+1, r.InFlight())
	require.Equal(t, Return, r.Ended(maxHedges, true))
	assert.Equal(t, maxHedges, r.Winner())
}
