package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errFailed = errors.New("failed")

// op is an operation from one second of the run to another.
func op(write bool, start, end int, err error) operation {
	return operation{write: write, start: time.Duration(start) * time.Second, end: time.Duration(end) * time.Second, err: err}
}

func doubtful(o operation) operation {
	o.perhaps = true
	return o
}

// TestJudge is the rule of the package comment. Region A is lost from 10 to 20 s; it is the write region until the service
// moves it to B at 15 s, and again from 20 s on.
func TestJudge(t *testing.T) {
	story := func(multiWrite bool, usable ...string) *chronicle {
		c := &chronicle{usable: usable, multiWrite: multiWrite}
		c.follow("A", 0)
		c.lose("A", 10*time.Second)
		c.leave(15 * time.Second)
		c.follow("B", 15*time.Second)
		c.leave(20 * time.Second)
		c.heal(20 * time.Second)
		c.follow("A", 20*time.Second)
		return c
	}
	single, multi, alone := story(false, "A", "B"), story(true, "A", "B"), story(false, "A")
	cases := []struct {
		name  string
		story *chronicle
		op    operation
		want  verdict
	}{
		{"a read that was served", single, op(false, 11, 12, nil), served},
		{"a read in the loss: B could", single, op(false, 11, 12, errFailed), lost},
		{"a read when all is well", single, op(false, 1, 2, errFailed), lost},
		{"a read in doubt is no write", single, doubtful(op(false, 11, 12, errFailed)), lost},
		{"a read, only A may be used", alone, op(false, 11, 12, errFailed), hopeless},
		{"a read that the loss met, only A may be used", alone, op(false, 9, 11, errFailed), hopeless},
		{"a read before the loss, only A may be used", alone, op(false, 8, 10, errFailed), lost},
		{"a read after the loss, only A may be used", alone, op(false, 20, 21, errFailed), lost},

		{"a write that was served after doubt", single, doubtful(op(true, 11, 12, nil)), served},
		{"a write in doubt", single, doubtful(op(true, 1, 2, errFailed)), unknown},
		{"a write before the loss", single, op(true, 1, 2, errFailed), lost},
		{"a write in the loss", single, op(true, 11, 12, errFailed), hopeless},
		{"a write over the failover", single, op(true, 14, 16, errFailed), hopeless},
		{"a write after the failover: B could", single, op(true, 16, 17, errFailed), lost},
		{"a write over the return", single, op(true, 19, 21, errFailed), hopeless},
		{"a write after the return", single, op(true, 20, 21, errFailed), lost},
		{"a write after the failover, though only A is preferred", alone, op(true, 16, 17, errFailed), lost},

		{"a multi-write write in the loss: B could", multi, op(true, 11, 12, errFailed), lost},
		{"a multi-write write in doubt", multi, doubtful(op(true, 11, 12, errFailed)), unknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.story.judge(c.op)) })
	}
}

// TestLossNeverEnds: a fault that is still there counts.
func TestLossNeverEnds(t *testing.T) {
	c := &chronicle{usable: []string{"A"}}
	c.lose("A", time.Second)
	require.Equal(t, hopeless, c.judge(op(false, 3600, 3601, errFailed)))
}

func TestPercentile(t *testing.T) {
	upTo := func(n int) (list []time.Duration) {
		for i := range n {
			list = append(list, time.Duration(i+1))
		}
		return list
	}
	cases := []struct {
		n, p int
		want time.Duration
	}{
		{0, 50, 0},
		{1, 50, 1},
		{1, 99, 1},
		{1, 100, 1},
		{2, 50, 1},
		{3, 50, 2},
		{10, 99, 10},
		{100, 50, 50},
		{100, 99, 99},
		{100, 100, 100},
		{101, 99, 100},
		{1000, 99, 990},
		{10, 0, 1},
	}
	for _, c := range cases {
		require.Equal(t, c.want, percentile(upTo(c.n), c.p), "%d of %d", c.p, c.n)
	}
}

func TestTally(t *testing.T) {
	c := &chronicle{usable: []string{"A", "B"}}
	c.follow("A", 0)
	c.lose("A", 10*time.Second)
	first := op(false, 11, 13, nil)
	first.contacted = []string{"A", "B"}
	second := op(true, 11, 12, errFailed) // nobody could
	second.contacted = []string{"A"}
	third := doubtful(op(true, 12, 15, errFailed))
	third.contacted = []string{"A"}
	fourth := op(false, 12, 16, errFailed)
	r, errs := c.tally("phase", "side", []operation{first, second, third, fourth})
	require.Equal(t, row{
		phase: "phase", side: "side", requests: 4, failed: 3, lost: 1, unknown: 1,
		p50: 2 * time.Second, p99: 4 * time.Second, max: 4 * time.Second,
		contacted: []count{{"A", 3}, {"B", 1}},
	}, r)
	require.Equal(t, []error{errFailed}, errs)

	r, errs = c.tally("empty", "side", nil)
	require.Equal(t, row{phase: "empty", side: "side", contacted: []count{}}, r)
	require.Empty(t, errs)
}
