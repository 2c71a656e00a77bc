package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentile(t *testing.T) {
	thousand := make([]time.Duration, 1000)
	for i := range thousand {
		thousand[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.001, 7},
		{[]time.Duration{7}, 1, 7},
		{[]time.Duration{1, 2, 3, 4}, 0.5, 2},
		{[]time.Duration{1, 2, 3, 4, 5}, 0.5, 3},
		{thousand, 0.5, 500},
		{thousand, 0.99, 990},
		{thousand, 0.999, 999},
		{thousand, 0.9991, 1000},
		{thousand, 1, 1000},
	} {
		assert.Equal(t, c.want, percentile(c.sorted, c.p), "%v of %d", c.p, len(c.sorted))
	}
}

// dumbPercentile counts, value by value.
func dumbPercentile(sorted []time.Duration, percent int) time.Duration {
	for _, v := range sorted {
		n := 0
		for _, w := range sorted {
			if w <= v {
				n++
			}
		}
		if 100*n >= percent*len(sorted) {
			return v
		}
	}
	return 0
}

func TestPercentileAgainstItsTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		values := make([]time.Duration, random.IntN(40))
		for i := range values {
			values[i] = time.Duration(random.IntN(20))
		}
		slices.Sort(values)
		percent := 1 + random.IntN(100)
		require.Equal(t, dumbPercentile(values, percent), percentile(values, float64(percent)/100), "%d %% of %v", percent, values)
	}
}

func TestMedian(t *testing.T) {
	assert.True(t, math.IsNaN(median(nil)))
	assert.InDelta(t, 3, median([]float64{3}), 0)
	assert.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	values := []float64{4, 1, 3, 2}
	assert.InDelta(t, 2.5, median(values), 0)
	assert.Equal(t, []float64{4, 1, 3, 2}, values, "not changed")
}

func TestQuartiles(t *testing.T) {
	low, high := quartiles([]float64{4, 2, 1, 3})
	assert.InDelta(t, 1.5, low, 0)
	assert.InDelta(t, 3.5, high, 0)
	low, high = quartiles([]float64{5})
	assert.InDelta(t, 5, low, 0)
	assert.InDelta(t, 5, high, 0)
}

func TestRatios(t *testing.T) {
	assert.Equal(t, []float64{2, 3}, ratios([]float64{2, 5, 9}, []float64{1, 0, 3}))
	assert.Empty(t, ratios(nil, []float64{1}))
}
