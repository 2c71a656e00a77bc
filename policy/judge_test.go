package policy

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudge reads the judge's table from testdata/judge.txt and
// requires the judge to give every cell of it.
func TestJudge(t *testing.T) {
	file, err := os.Open("testdata/judge.txt")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	cells := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			cells += judgeLine(t, line)
		}
	}
	require.Greater(t, cells, 1200, "cells of the table")
}

// judgeLine checks one line of the table and returns how many cells it has.
func judgeLine(t *testing.T, line string) (cells int) {
	fields := strings.Fields(line)
	require.Len(t, fields, 7, line)
	name, repeat := strings.CutPrefix(fields[0], "repeat:")
	for _, o := range outcomes(t, name) {
		for i, k := range []kind{singleWriteRead, multiWriteRead, multiWriteWrite, singleWriteWrite} {
			if fields[1+i] == "." {
				continue
			}
			want := strings.Join([]string{fields[1+i], fields[5], fields[6]}, " ")
			require.Equal(t, want, describe(judge(k, o, repeat)), "%s, %+v, kind %d", line, o, k)
			cells++
		}
	}
	return cells
}

// outcomes are those that the first field of a line stands for.
func outcomes(t *testing.T, name string) []outcome {
	name, _, _ = strings.Cut(name, ":")
	switch name {
	case "not-sent":
		return []outcome{{fault: notSent}, {fault: notSent, brief: true}}
	case "maybe-sent":
		return []outcome{{fault: maybeSent}, {fault: maybeSent, brief: true}}
	case "deadline":
		return []outcome{{fault: deadline}}
	case "deadline-brief":
		return []outcome{{fault: deadline, brief: true}}
	case "cancelled":
		return []outcome{{fault: cancelled}, {fault: cancelled, brief: true}}
	}
	status, sub, _ := strings.Cut(name, "/")
	from, to, isRange := strings.Cut(status, "-")
	if !isRange {
		to = from
	}
	var list []outcome
	for s := number(t, from); s <= number(t, to); s++ {
		list = append(list, outcome{status: s, sub: number(t, "0"+sub)})
	}
	return list
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// describe writes a verdict as the table does.
func describe(v verdict) string {
	actions := map[action]string{
		deliver: "return", deliverRaw: "raw", next: "next", askWriteRegion: "hub", repeatHere: "again", seekPrimary: "seek", findPrimary: "primary",
	}
	signals := map[signal]string{noSignal: "-", success: "success", failure: "failure"}
	var region []string
	for name, on := range map[string]bool{"mark": v.mark, "ranges": v.forgetRanges} {
		if on {
			region = append(region, name)
		}
	}
	if v.refresh {
		region = append(region, "refresh")
	}
	if region == nil {
		region = []string{"-"}
	}
	return fmt.Sprintf("%s %s %s", actions[v.action], signals[v.signal], strings.Join(region, ","))
}

// TestJudgeLaws holds for every outcome there can be: a write goes to a second
// region only when the first surely did nothing or the caller gave leave, and
// nothing is both a success and a reason to go on.
func TestJudgeLaws(t *testing.T) {
	surelyNot := func(o outcome) bool {
		return o.fault == notSent || o.fault == answered && (o.status == 403 || o.status == 404 || o.status == 410 || o.status == 429 || o.status == 503)
	}
	check := func(k kind, o outcome, repeat bool) {
		v := judge(k, o, repeat)
		goesOn := v.action != deliver && v.action != deliverRaw
		if k.write() && goesOn && !surelyNot(o) {
			require.True(t, repeat && k == multiWriteWrite, "%+v", o)
		}
		if goesOn {
			require.NotEqual(t, success, v.signal, "%+v", o)
		}
		require.False(t, v.action == deliverRaw && o.fault != answered, "%+v", o)
	}
	for _, k := range []kind{singleWriteRead, multiWriteRead, multiWriteWrite, singleWriteWrite} {
		for _, repeat := range []bool{false, true} {
			for status := range 600 {
				for _, sub := range []int{0, 3, 1000, 1002, 1007, 1008, 1022, 3092, 3200, 21013} {
					check(k, outcome{status: status, sub: sub}, repeat)
				}
			}
			for f := notSent; f <= cancelled; f++ {
				check(k, outcome{fault: f}, repeat)
			}
		}
	}
}
