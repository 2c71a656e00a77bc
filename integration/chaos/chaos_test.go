package chaos

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/emulator"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

var (
	duration = flag.Duration("chaos.duration", 4*time.Second, "how long the four parts of TestChaos last together")
	seed     = flag.Uint64("chaos.seed", 1, "the seed of the worlds")
	callers  = flag.Int("chaos.callers", 8, "callers at a time")
	keep     = flag.String("chaos.keep", filepath.Join(os.TempDir(), "azcosmos-ha-chaos"), "where what failed is kept")
)

// TestChaos plays rounds over the store and over the emulator, over HTTP/1.1 and
// over TLS with HTTP/2, and sees that nothing is left behind.
func TestChaos(t *testing.T) {
	if descriptors() < 0 {
		t.Log("open file descriptors are not counted: there is no /proc/self/fd")
	}
	for i, part := range []struct {
		name     string
		protocol gateway.Protocol
		emulator bool
	}{
		{"store/http1", gateway.HTTP1, false},
		{"store/http2", gateway.TLSHTTP2, false},
		{"emulator/http1", gateway.HTTP1, true},
		{"emulator/http2", gateway.TLSHTTP2, true},
	} {
		t.Run(part.name, func(t *testing.T) {
			a := arena{protocol: part.protocol}
			if part.emulator {
				a.emulator = emulator.Start(t)
			}
			chaos(t, a, *seed*4+uint64(i), *duration/4) //nolint:gosec // not negative
		})
	}
}

// chaos plays rounds for a time. The first one is short: it makes the level.
func chaos(t *testing.T, a arena, base uint64, share time.Duration) {
	began, told := time.Now(), tally{}
	length := min(max(share/3, 250*time.Millisecond), 6*time.Second)
	patient, rounds := share >= 2*time.Minute, share
	if patient {
		rounds -= 30 * time.Second // that the last round takes longer
	}
	goroutines := runtime.NumGoroutine()
	playOne(t, a, base<<16, 250*time.Millisecond, goroutines, told)
	before, n := measure(goroutines), uint64(1)
	for ; n == 1 || time.Since(began)+length < rounds; n++ {
		playOne(t, a, base<<16+n, length, before.goroutines, told)
	}
	if a.patient = patient; patient {
		playOne(t, a, base<<16+n, length, before.goroutines, told)
	}
	after := measure(before.goroutines)
	t.Logf("%v: %v", time.Since(began).Round(time.Millisecond), told)
	t.Logf("goroutines %d, then %d; descriptors %d, then %d; heap %d KB, then %d KB", before.goroutines, after.goroutines,
		before.descriptors, after.descriptors, before.heap>>10, after.heap>>10)
	if left := risen(before, after); left != "" {
		name := filepath.Join(*keep, strings.ReplaceAll(t.Name(), "/", "-")+"-stacks.txt")
		require.NoError(t, os.MkdirAll(*keep, 0o750))
		require.NoError(t, os.WriteFile(name, stacks(), 0o600))
		t.Errorf("-chaos.seed %d -chaos.duration %v: left behind: %s; the goroutines are in %s", *seed, *duration, left, name)
	}
}

// playOne plays a round and judges it. What fails is kept.
func playOne(t *testing.T, a arena, number uint64, length time.Duration, goroutines int, told tally) {
	w := generate(number, length, *callers, a.service())
	run, err := a.play(t.Context(), w, length, goroutines)
	require.NoError(t, err)
	told.add(run)
	violations := simulation.Judge(run)
	if len(violations) == 0 {
		return
	}
	path, err := simulation.Keep(*keep, strings.ReplaceAll(t.Name(), "/", "-")+"-"+strconv.FormatUint(number, 10), run, violations)
	require.NoError(t, err)
	t.Errorf("-chaos.seed %d -chaos.duration %v, world %d: %d violations, kept with the gateway's log beside %s",
		*seed, *duration, number, len(violations), path)
	for _, v := range violations {
		t.Log(v)
	}
}

// tally is what has happened in all rounds, in numbers.
type tally map[string]int

func (l tally) add(r *simulation.Run) {
	l["rounds"]++
	l["events"] += len(r.Events)
	l["calls"] += len(r.Results)
	l["longest stall in ms"] = max(l["longest stall in ms"], int((r.Slack - Slack).Milliseconds()))
	for _, s := range r.Spans {
		for _, a := range s.Attributes() {
			if a.Key == telemetry.AttrReason {
				l[a.Value.AsString()]++
			}
		}
	}
	for _, c := range r.Changes {
		l[c.Message]++
	}
}
