package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScript: the load depends on the settings and the phase alone, has the rate and the share of reads, and writes no id twice.
func TestScript(t *testing.T) {
	s := settings{seed: 7, rate: 200, reads: 0.75, phase: 10 * time.Second}
	list := script(s, 3)
	require.Equal(t, list, script(s, 3))
	require.NotEqual(t, list, script(s, 4))
	require.Len(t, list, 2000)
	written := map[string]bool{}
	for i, r := range list {
		require.Equal(t, time.Duration(i)*5*time.Millisecond, r.at)
		if r.write {
			require.False(t, written[r.id])
			written[r.id] = true
		} else {
			require.True(t, strings.HasPrefix(r.id, "item-"))
		}
	}
	require.InDelta(t, 500, len(written), 75)
	s.phase = time.Millisecond
	require.Len(t, script(s, 0), 1, "a phase is never empty")
}

func TestShares(t *testing.T) {
	for _, reads := range []float64{0, 1} {
		for _, r := range script(settings{rate: 100, reads: reads, phase: time.Second}, 0) {
			require.Equal(t, reads == 0, r.write)
		}
	}
}

// TestPlay: a request is sent when its time has come, though those before it hang, and play ends with the last one.
func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var rec recorder
		requests := []request{{at: 0}, {at: time.Second}, {at: 2 * time.Second}}
		rec.play(t.Context(), requests, func(_ context.Context, r request) operation {
			o := operation{start: time.Since(begun)}
			time.Sleep(10 * time.Second)
			if r.at == 0 {
				o.err = errFailed
			}
			o.end = time.Since(begun)
			return o
		})
		require.Equal(t, 12*time.Second, time.Since(begun))
		require.Len(t, rec.operations, 3)
		for i, o := range rec.operations {
			require.Equal(t, time.Duration(i)*time.Second, o.start)
		}
		ok, failed, open := rec.counts()
		require.Equal(t, []int{2, 1, 0}, []int{ok, failed, open})
	})
}

// TestPlayInterrupted: nothing is sent after the end, and what it cut off counts for nobody.
func TestPlayInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var rec recorder
		rec.play(ctx, []request{{at: 0}, {at: time.Second}, {at: 2 * time.Second}}, func(ctx context.Context, r request) operation {
			if r.at > 0 {
				<-ctx.Done()
			}
			return operation{err: ctx.Err()}
		})
		require.Len(t, rec.operations, 1)
		require.Equal(t, 2, rec.sent)
	})
}

func TestLiveLine(t *testing.T) {
	a := &recorder{sent: 120, failed: 1, operations: make([]operation, 118)}
	b := &recorder{sent: 120, failed: 40, operations: make([]operation, 50)}
	require.Equal(t, "West US hangs 1.2s | ha 117 ok 1 failed 2 open | plain 10 ok 40 failed 70 open",
		liveLine("West US hangs", 1234*time.Millisecond, []*recorder{a, b}))
	require.Equal(t, "West US hangs 0.0s | ha 117 ok 1 failed 2 open", liveLine("West US hangs", 0, []*recorder{a}))
	require.Len(t, liveLine(strings.Repeat("x", 100), 0, []*recorder{a, b}), lineWidth)
}

// TestNotLive: no line goes to a file, a pipe or a buffer.
func TestNotLive(t *testing.T) {
	require.Nil(t, newLive(&strings.Builder{}))
	f, err := os.CreateTemp(t.TempDir(), "out")
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, newLive(f))
	var none *live
	none.begin("phase", nil)
	none.end()
}
