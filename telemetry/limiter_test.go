package telemetry

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// twin is the limiter said slowly: it remembers every line that was let through
// and when a place for it comes back.
type twin struct {
	back       []time.Time // when each spent place comes back, in order
	next       time.Time   // when the last of them does
	suppressed int
}

func (w *twin) allow(now time.Time) (int, bool) {
	w.back = slices.DeleteFunc(w.back, func(at time.Time) bool { return !at.After(now) })
	if len(w.back) == lineBurst {
		w.suppressed++
		return 0, false
	}
	if w.next = w.next.Add(lineEvery); len(w.back) == 0 {
		w.next = now.Add(lineEvery)
	}
	w.back = append(w.back, w.next)
	n := w.suppressed
	w.suppressed = 0
	return n, true
}

func TestLimiter(t *testing.T) {
	var l limiter
	now := time.Unix(1000, 0)
	for range lineBurst {
		n, ok := l.allow(now)
		require.True(t, ok)
		require.Zero(t, n)
	}
	for range 7 {
		_, ok := l.allow(now.Add(lineEvery / 2))
		require.False(t, ok)
	}
	n, ok := l.allow(now.Add(lineEvery))
	require.True(t, ok)
	require.Equal(t, 7, n, "the next line tells how many were suppressed")
	_, ok = l.allow(now.Add(lineEvery))
	require.False(t, ok)
	_, ok = l.allow(now.Add(-time.Hour))
	require.False(t, ok, "a clock that is set back gives nothing")
	_, ok = l.allow(now.Add(-time.Hour + lineEvery))
	require.True(t, ok, "and takes nothing")
}

// FuzzLimiter compares the limiter with its twin: each byte is a pause before
// the next line, in quarters of a second.
func FuzzLimiter(f *testing.F) {
	f.Add(make([]byte, 2*lineBurst))
	f.Add(append(append([]byte{0, 22}, make([]byte, lineBurst)...), 2, 1, 1, 0))
	f.Add([]byte{0, 1, 2, 3, 4, 255, 0, 0, 8})
	f.Fuzz(func(t *testing.T, pauses []byte) {
		var l limiter
		var w twin
		now := time.Unix(1000, 0)
		for i, p := range pauses {
			now = now.Add(time.Duration(p) * lineEvery / 4)
			gotN, got := l.allow(now)
			wantN, want := w.allow(now)
			require.Equal(t, want, got, "line %d", i)
			require.Equal(t, wantN, gotN, "line %d", i)
		}
	})
}
