package breaker

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecordIsSmall(t *testing.T) {
	// 56 bytes and a slot of 24 are about 100 bytes in the map; TestMemory measures it.
	assert.LessOrEqual(t, unsafe.Sizeof(Record{}), uintptr(56))
	assert.LessOrEqual(t, unsafe.Sizeof(slot{}), uintptr(24))
}

func TestOpeningsDoubleUpToTheBound(t *testing.T) {
	u := Options{}.Rules()
	r := Record{}.opened(0, 0)
	var got []time.Duration
	at := time.Duration(0)
	for range 9 {
		got = append(got, r.OpenFor(u))
		at += r.OpenFor(u)
		var ok bool
		r, ok = r.Claim(u, 1, at)
		require.True(t, ok)
		r, _ = r.EndProbe(u, 1, Failure, at, 0)
	}
	const s = time.Second
	assert.Equal(t, []time.Duration{30 * s, 60 * s, 120 * s, 240 * s, 480 * s, 960 * s, 1200 * s, 1200 * s, 1200 * s}, got)
}

func TestTheLargestCountOfSlowWins(t *testing.T) {
	u := Options{SlowWins: 1000}.Rules()
	r := Record{}
	for i := range 255 {
		require.NotEqual(t, Unavailable, r.State(), "after %d", i)
		r, _ = r.Apply(u, false, SlowWin, 0, 0)
	}
	assert.Equal(t, Unavailable, r.State())
}

func TestNoLevelOverflows(t *testing.T) {
	for _, o := range []Options{{OpenFor: 1, MaxOpenFor: math.MaxInt64}, {OpenFor: math.MaxInt64}, {}} {
		u := o.Rules()
		last := time.Duration(0)
		for level := range 256 {
			r := Record{state: Unavailable, level: uint8(level), jitter: 255}
			assert.GreaterOrEqual(t, r.OpenFor(u), last)
			assert.LessOrEqual(t, u.length(uint8(level)), u.maxOpenFor)
			last = r.OpenFor(u)
		}
		r := Record{state: Unavailable, level: 255}
		assert.Equal(t, uint8(255), r.doubled(u).level, "the level does not begin anew")
	}
}

func TestJitterIsUpToAQuarter(t *testing.T) {
	u := Options{}.Rules()
	for j := range 256 {
		d := (&Record{state: Unavailable, jitter: uint8(j)}).OpenFor(u)
		assert.InDelta(t, 30+7.5*float64(j)/255, d.Seconds(), 1e-6)
	}
}

func TestTheDeadTellNothing(t *testing.T) {
	u := Options{}.Rules()
	for e := range 256 {
		r, c := Record{}.Apply(u, false, Event(e), 0, 0)
		switch Event(e) {
		case Failure, SlowWin:
			assert.Equal(t, HealthyWithFailures, r.State())
		default:
			assert.Equal(t, Record{}, r)
		}
		assert.Equal(t, NoCause, c.Cause)
	}
}

// TestJumpsKeepNothingOutForLong tries jumps of every size: never is the time to the next probe, or to oblivion, more than
// twice the opening's.
func TestJumpsKeepNothingOutForLong(t *testing.T) {
	u := Options{}.Rules()
	r := Record{}.opened(1000*time.Hour, 255)
	for jump := time.Duration(0); jump < 3*time.Hour; jump += time.Second {
		at := 1000*time.Hour - jump
		waited := time.Duration(0)
		for opened, due := r.Opened(u, at); opened && !due; opened, due = r.Opened(u, at) {
			at += 100 * time.Millisecond
			waited += 100 * time.Millisecond
		}
		require.LessOrEqual(t, waited, 2*r.OpenFor(u)+time.Second, "%v", jump)
	}
}

// TestRandomLives plays long random lives, as the fuzz target does, to all three implementations.
func TestRandomLives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		o := Options{ReadFailures: rng.IntN(12), WriteFailures: rng.IntN(4), SlowWins: rng.IntN(4), MinRequests: rng.IntN(30)}
		w := newWorld(t, o)
		for range 80 {
			// Mostly one slot, so that something comes of it.
			op := byte(rng.IntN(16))
			if rng.IntN(4) == 0 {
				op |= byte(rng.IntN(16)) << 4
			}
			w.play(op, byte(rng.IntN(256)))
		}
	}
}
