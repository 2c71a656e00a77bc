package hedge

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tests named after public reports, as far as they are decided here; policy and integration have the others.

func TestReport137_NoHedgeNoTrace(t *testing.T) {
	r := raced(1, 0)
	require.Equal(t, Return, r.Ended(First, true))
	assert.Zero(t, r.Hedges(), "a fast answer: no hedge is reported")
	assert.Equal(t, StatePrimaryWonPreThreshold, r.State())
}

func TestReport141_MaxHedgesBoundsTheFanOut(t *testing.T) {
	diagram := func(hedges int) string {
		sc := scenario{
			regions: []string{"A", "B", "C"}, free: 64, deadline: 2 * time.Second,
			options: Options{Threshold: 300 * ms, Step: 200 * ms, MaxHedges: hedges},
			behaves: map[string]behaviour{"A": {after: -1}, "B": {after: -1}, "C": {after: -1}},
		}
		return run(sc)
	}
	one, two := diagram(1), diagram(2)
	assert.Contains(t, one, "300ms   B asked by hedge 1, due\n")
	assert.NotContains(t, one, "C asked")
	assert.Contains(t, two, "300ms   B asked by hedge 1, due\n500ms   C asked by hedge 2, due\n")
}

func TestReport143_WritesAreHedgedOnRequestAndOnMultiWriteOnly(t *testing.T) {
	write := Query{Document: true, Write: true, MultiWrite: true, Candidates: 1}
	ok, reason := Eligible(Options{}, write)
	assert.False(t, ok, "by default [A] only")
	assert.Equal(t, ReasonWrite, reason)
	ok, _ = Eligible(Options{Writes: true}, write)
	assert.True(t, ok, "opted in: [A,B]")
	ok, _ = Eligible(Options{}.Merge(Options{Writes: true}, true), write)
	assert.True(t, ok, "opted in on the request")
	write.MultiWrite = false
	ok, reason = Eligible(Options{Writes: true}, write)
	assert.False(t, ok, "a single-write account has no other region to write to")
	assert.Equal(t, ReasonWrite, reason)
}

func TestReport145_HedgeIsPinned(t *testing.T) {
	got := run(scenario{
		regions: []string{"A", "B", "C"}, free: 64,
		options: Options{Threshold: 100 * ms, MaxHedges: 1},
		behaves: map[string]behaviour{"A": {time.Second, "200"}, "B": {10 * ms, "503"}, "C": {10 * ms, "200"}},
	})
	assert.Contains(t, got, "110ms   B 503, not final\n")
	assert.NotContains(t, got, "C asked", "a hedge that failed goes nowhere else")
	assert.Contains(t, got, "1s      over: primary_won_after_hedge, A answers\n")
}

func TestReport147_FailFastAndFinality(t *testing.T) {
	for _, status := range []int{100, 200, 304, 399, 400, 401, 403, 404, 405, 409, 412, 413, 422} {
		assert.True(t, Final(status, 0), "%d is final", status)
	}
	for _, answer := range [][2]int{{408, 0}, {410, 0}, {429, 0}, {449, 0}, {500, 0}, {503, 0}, {403, 3}, {404, 1002}} {
		assert.False(t, Final(answer[0], answer[1]), "%v is not", answer)
	}
	// A leg that fails at once: the hedge starts before its threshold.
	r := raced(1, 0)
	assert.Equal(t, Wait, r.Tick(epoch), "the threshold is a second away")
	assert.Equal(t, Start, r.Ended(First, false), "at once")
}

func TestReport149_BothTransient(t *testing.T) {
	r := raced(1, 1)
	require.Equal(t, Wait, r.Ended(First, false))
	require.Equal(t, Return, r.Ended(1, false))
	assert.Equal(t, StateNoneFinal, r.State())
	assert.Equal(t, First, r.Winner(), "the first leg's answer, as without hedging")
}

func TestReport149_DeadlineBeforeTheThreshold(t *testing.T) {
	_, ok := Threshold(Options{Threshold: time.Second}, epoch, epoch.Add(500*ms), true)
	assert.False(t, ok, "no hedge")
	_, reason := Plan(Options{Threshold: time.Second}, Query{Document: true, Candidates: 1}, epoch, epoch.Add(500*ms), true)
	assert.Equal(t, ReasonDeadline, reason)
}

// The plan holds its regions by value: what the topology becomes meanwhile changes nothing.
func TestReport149_TopologyChangeDuringTheRace(t *testing.T) {
	applicable := list(a, b, c)
	plan, may := applicable, Candidates(applicable, 0)
	applicable = list(d)
	var claims Claims
	first, _ := claims.Next(plan, may)
	second, _ := claims.Next(plan, may)
	assert.Equal(t, list(b, c), list(first, second))
	assert.Equal(t, 1, applicable.Len())
}

func TestReport151_OptionsInheritSwitchOffOrSet(t *testing.T) {
	client := Options{Threshold: 700 * ms, Step: 70 * ms}
	effective := func(ctx context.Context) Options {
		o, given := FromContext(ctx)
		return client.Merge(o, given)
	}
	ctx := t.Context()
	assert.Equal(t, client, effective(ctx), "nothing said: inherit")
	assert.Equal(t, client, effective(With(ctx, Options{})), "on: the client's values")
	assert.True(t, effective(With(ctx, Options{Disabled: true})).Disabled, "explicitly off")
	assert.Equal(t, Options{Threshold: 10 * ms, Step: 70 * ms}, effective(With(ctx, Options{Threshold: 10 * ms})), "a struct")
	assert.Equal(t, "hedge: Threshold must not be negative, got -10ms", Options{Threshold: -10 * ms}.Validate().Error())
	assert.NotContains(t, run(scenario{
		regions: []string{"A", "B"}, free: 1, options: effective(Off(ctx)),
		behaves: map[string]behaviour{"A": {time.Hour, "200"}, "B": {ms, "200"}},
	}), "B asked", "and off means off")
}
