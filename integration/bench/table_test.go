package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestTable(t *testing.T) {
	tab := &table{title: "Costs", how: "In turn.", text: 2, columns: []string{"operation", "contender", "× plain", "n"}}
	tab.add("read|write", "plain", times(1), "1")
	tab.add("", "ours — with a long name", times(1.0123), grouped(1_000_000))
	tab.add("short row")
	var b bytes.Buffer
	tab.render(&b)
	golden(t, "table.md", b.Bytes())
}

// blocksOf are two scenarios with what contenders made of them.
func blocksOf() []block {
	list := scenarios()[1:3]
	return []block{
		{list[0], []outcome{
			{contender: plain.name, requests: 1000, failed: 1000, lost: 1000, first: -1, p50: 5 * time.Second, p99: 5 * time.Second, p999: 5 * time.Second, extra: -1000},
			{contender: ours.name, requests: 1000, first: 25 * time.Millisecond, p50: 25 * time.Millisecond, p99: 25 * time.Millisecond, p999: 30 * time.Millisecond, extra: 1},
		}},
		{list[1], []outcome{
			{contender: plain.name, requests: 1000, first: 30 * time.Millisecond, p50: 5 * time.Millisecond, p99: 60 * time.Millisecond, p999: time.Second},
			{contender: ours.name, requests: 1000, lost: 1, failed: 3, first: 30 * time.Millisecond, p50: 5 * time.Millisecond, p99: 30 * time.Millisecond, p999: 50 * time.Millisecond},
		}},
	}
}

func TestScenarioTable(t *testing.T) {
	var b bytes.Buffer
	scenarioTable("Scenarios", "Somewhere.", load{10 * time.Second, 100}, blocksOf()).render(&b)
	promiseTable(scenarioPromises("somewhere", blocksOf(), 0)).render(&b)
	golden(t, "scenarios.md", b.Bytes())
}

func TestCells(t *testing.T) {
	assert.Equal(t, "1.034 ×", times(1.0341))
	assert.Equal(t, "12.3 ×", times(12.34))
	assert.Equal(t, none, times(math.NaN()))
	assert.Equal(t, none, times(math.Inf(1)))
	assert.Equal(t, "12 %", percent(0.123))
	assert.Equal(t, "1.3 %", percent(0.0128))
	assert.Equal(t, "0.040 %", percent(0.0004))
	assert.Equal(t, "0.0 %", percent(0))
	assert.Equal(t, "-3.0 %", percent(-0.03))
	assert.Equal(t, none, percent(math.NaN()))
	assert.Equal(t, none, short(-1))
	assert.Equal(t, "0.0 ms", short(0))
	assert.Equal(t, "9.9 ms", short(9940*time.Microsecond))
	assert.Equal(t, "10 ms", short(9950*time.Microsecond))
	assert.Equal(t, "1.50 s", short(1500*time.Millisecond))
	assert.Equal(t, "+5", signed(5))
	assert.Equal(t, "−5", signed(-5))
	assert.Equal(t, "0", signed(0))
	assert.Equal(t, "999", grouped(999))
	assert.Equal(t, "10,000", grouped(10_000))
	assert.Equal(t, none, whole(math.NaN()))
	assert.Equal(t, "2.000 ×", against(2, 1))
	assert.Equal(t, none, against(-1, 1))
	assert.Equal(t, none, against(1, -1))
	assert.Equal(t, none, against(1, 0))
}
