package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cristalhq/hedgedhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTally(t *testing.T) {
	ms, failed := time.Millisecond, errors.New("failed")
	calls := []call{
		{concerned: true, start: 0, end: 10 * ms, err: failed},                  // before the move
		{concerned: false, start: 20 * ms, end: 21 * ms},                        // not about the fault
		{concerned: true, start: 25 * ms, end: 45 * ms, err: failed},            // the first one that could be served
		{concerned: true, start: 40 * ms, end: 70 * ms},                         // a late success
		{concerned: true, start: 50 * ms, end: 60 * ms},                         // the first success
		{concerned: true, start: 60 * ms, end: 160 * ms, err: io.ErrNoProgress}, // the slowest
	}
	o := tally(scenario{after: 20 * ms}, contender{name: "c"}, calls, 7)
	assert.Equal(t, outcome{
		contender: "c", requests: 6, failed: 3, lost: 2, first: 35 * ms,
		p50: 10 * ms, p99: 100 * ms, p999: 100 * ms, extra: 7, firstError: failed,
	}, o)
	assert.Equal(t, time.Duration(-1), tally(scenario{}, plain, []call{{concerned: true, err: failed}}, 0).first, "no success")
	assert.Equal(t, time.Duration(-1), tally(scenario{}, plain, nil, 0).first, "no calls")
}

func TestScript(t *testing.T) {
	sick, well := []int{3}, []int{0, 1, 2, 4}
	list := script(1000, sick, well)
	assert.Len(t, list, 1000)
	assert.Equal(t, 3, list[0], "the first one is concerned")
	assert.Equal(t, list, script(1000, sick, well), "the same for all")
	seen := map[int]int{}
	for _, key := range list {
		seen[key]++
	}
	assert.Len(t, seen, 5)
	assert.Empty(t, script(0, sick, well))
}

// legs is a transport whose n-th request takes and returns what the script says; it keeps when requests came and which were
// cancelled.
type legs struct {
	took []time.Duration
	errs []error

	mu        sync.Mutex // guards all below
	began     time.Time
	at        []time.Duration
	cancelled []int
}

func (l *legs) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	i := len(l.at)
	l.at = append(l.at, time.Since(l.began).Round(20*time.Millisecond))
	l.mu.Unlock()
	timer := time.NewTimer(l.took[i])
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		l.mu.Lock()
		l.cancelled = append(l.cancelled, i)
		l.mu.Unlock()
		return nil, r.Context().Err()
	case <-timer.C:
	}
	if l.errs[i] != nil {
		return nil, l.errs[i]
	}
	return &http.Response{StatusCode: 200 + i, Body: io.NopCloser(bytes.NewReader([]byte{byte(i)}))}, nil
}

// TestScheduleIsThatOfHedgedhttp puts both through the same scripts: hedgedhttp in real time, its stand-in in virtual time.
func TestScheduleIsThatOfHedgedhttp(t *testing.T) {
	const delay, never = 100 * time.Millisecond, time.Hour
	down := errors.New("down")
	for _, c := range []struct {
		name string
		took []time.Duration
		errs []error
	}{
		{"quick", []time.Duration{20 * time.Millisecond, never}, []error{nil, nil}},
		{"hedge wins", []time.Duration{never, 20 * time.Millisecond}, []error{nil, nil}},
		{"first wins after the hedge", []time.Duration{160 * time.Millisecond, never}, []error{nil, nil}},
		{"error, then at once the next", []time.Duration{0, 20 * time.Millisecond}, []error{down, nil}},
		{"both fail", []time.Duration{0, 0}, []error{down, down}},
		{"hedge fails, first wins", []time.Duration{200 * time.Millisecond, 0}, []error{nil, down}},
	} {
		t.Run(c.name, func(t *testing.T) {
			type result struct {
				status int
				failed bool
				at     []time.Duration
				took   time.Duration
			}
			play := func(make func(http.RoundTripper) http.RoundTripper) (got result) {
				l := &legs{took: c.took, errs: c.errs, began: time.Now()}
				// The context of a test outside of the bubble would hold up its time.
				r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://acct.test/", http.NoBody)
				require.NoError(t, err)
				response, err := make(l).RoundTrip(r)
				got.took = time.Since(l.began).Round(20 * time.Millisecond)
				if got.failed = err != nil; !got.failed {
					got.status = response.StatusCode
					require.NoError(t, response.Body.Close())
				} else {
					require.ErrorIs(t, err, down)
				}
				l.mu.Lock()
				defer l.mu.Unlock()
				got.at = l.at
				return got
			}
			var want, got result
			want = play(func(next http.RoundTripper) http.RoundTripper {
				rival, err := hedgedhttp.New(hedgedhttp.Config{Transport: next, Upto: hedgedUpto, Delay: delay})
				require.NoError(t, err)
				return rival
			})
			synctest.Test(t, func(*testing.T) {
				got = play(func(next http.RoundTripper) http.RoundTripper { return schedule{next, delay, hedgedUpto} })
			})
			assert.Equal(t, want.status, got.status)
			assert.Equal(t, want.failed, got.failed)
			assert.Len(t, got.at, len(want.at))
			for i := range min(len(want.at), len(got.at)) {
				assert.InDelta(t, float64(want.at[i]), float64(got.at[i]), float64(80*time.Millisecond), "request %d", i)
			}
			assert.InDelta(t, float64(want.took), float64(got.took), float64(80*time.Millisecond))
		})
	}
}

// TestScenariosInVirtualTime plays every scenario for every contender, shortly: nobody may end in an error of the bench itself.
func TestScenariosInVirtualTime(t *testing.T) {
	l := load{8 * time.Second, 10}
	for _, sc := range scenarios() {
		for _, c := range rivals {
			o, err := inVirtualTime(t, sc, c, l)
			require.NoError(t, err, "%s, %s", sc.name, c.name)
			assert.Equal(t, 80, o.requests)
			if sc.name == "healthy" {
				assert.Equal(t, outcome{contender: c.name, requests: 80, first: nearby, p50: nearby, p99: nearby, p999: nearby}, o)
			}
		}
	}
}

// TestVirtualTimeRepeats: the same run gives the same figures.
func TestVirtualTimeRepeats(t *testing.T) {
	sc, l := scenarios()[4], load{20 * time.Second, 20}
	first, err := inVirtualTime(t, sc, ours, l)
	require.NoError(t, err)
	second, err := inVirtualTime(t, sc, ours, l)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	assert.Greater(t, first.p999, nearby, "%s is not healthy", sc.name)
}

func TestOverLoopback(t *testing.T) {
	o, err := overLoopback(scenarios()[0], ours, load{time.Second, 10})
	require.NoError(t, err)
	assert.Zero(t, o.failed)
	assert.GreaterOrEqual(t, o.first, nearby)
}

func TestParse(t *testing.T) {
	s, err := parse([]string{"-quick", "-o", "x.md", "-readme", "y.md", "-parts", "cores,virtual"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, settings{quick: true, effort: quick, out: "x.md", readme: "y.md", parts: []string{"cores", "virtual"}}, s)
	assert.True(t, s.wants("cores"))
	assert.False(t, s.wants("healthy"))
	assert.True(t, settings{}.wants("healthy"))
	for _, args := range [][]string{{"-parts", "nothing"}, {"more"}, {"-x"}} {
		_, err := parse(args, io.Discard)
		assert.Error(t, err, args)
	}
}

// TestRun writes what it measures, to both places.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.md")
	var out bytes.Buffer
	require.NoError(t, run(t, settings{out: path, parts: []string{"cores"}, effort: small}, &out, io.Discard))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, out.String(), string(written))
	assert.Contains(t, out.String(), "### Throughput of ReadItem on 1 and 2 cores")
}
