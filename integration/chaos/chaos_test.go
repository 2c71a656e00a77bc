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
)

var (
	duration = flag.Duration("chaos.duration", 4*time.Second, "how long the four parts of TestChaos last together")
	seed     = flag.Uint64("chaos.seed", 1, "the seed of the worlds")
	callers  = flag.Int("chaos.callers", 6, "callers at a time")
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
	began, calls := time.Now(), 0
	length := min(max(share*6/10, 300*time.Millisecond), 8*time.Second)
	goroutines := runtime.NumGoroutine()
	playOne(t, a, base<<16, min(length, 300*time.Millisecond), goroutines)
	before := measure(goroutines)
	n := uint64(1)
	for ; n == 1 || time.Since(began) < share; n++ {
		calls += playOne(t, a, base<<16+n, length, before.goroutines)
	}
	if a.patient = share >= time.Minute; a.patient {
		calls += playOne(t, a, base<<16+n, length, before.goroutines)
		n++
	}
	after := measure(before.goroutines)
	t.Logf("%d rounds with %d calls in %v; goroutines %d, then %d; descriptors %d, then %d; heap %d KB, then %d KB",
		n-1, calls, time.Since(began).Round(time.Millisecond), before.goroutines, after.goroutines,
		before.descriptors, after.descriptors, before.heap>>10, after.heap>>10)
	if left := risen(before, after); left != "" {
		name := filepath.Join(*keep, strings.ReplaceAll(t.Name(), "/", "-")+"-stacks.txt")
		require.NoError(t, os.MkdirAll(*keep, 0o750))
		require.NoError(t, os.WriteFile(name, stacks(), 0o600))
		t.Errorf("seed %d: left behind: %s; the goroutines are kept in %s", *seed, left, name)
	}
}

// playOne plays a round and judges it. What fails is kept.
func playOne(t *testing.T, a arena, number uint64, length time.Duration, goroutines int) (calls int) {
	w := generate(number, length, *callers, a.service())
	run, err := a.play(t.Context(), w, length, goroutines)
	require.NoError(t, err)
	violations := simulation.Judge(run)
	if len(violations) == 0 {
		return len(run.Results)
	}
	path, err := simulation.Keep(*keep, strings.ReplaceAll(t.Name(), "/", "-")+"-"+strconv.FormatUint(number, 10), run, violations)
	require.NoError(t, err)
	t.Errorf("-chaos.seed %d -chaos.duration %v, world %d: %d violations, kept with the gateway's log beside %s", *seed, *duration, number, len(violations), path)
	for _, v := range violations {
		t.Log(v)
	}
	return len(run.Results)
}
