package main

import (
	"math"
	"slices"
	"time"
)

// percentile is the nearest rank: the smallest of the sorted times that at least the share p of them, in (0, 1], do not exceed;
// 0 of none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	// Shares like 0.999 are not exact in binary: without the allowance 0.999 of a thousand would be the last.
	rank := int(math.Ceil(p*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle of the values, the mean of the two middle ones of an even number, and NaN of none. The values are not
// changed.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// ratios divides pair by pair: both of a pair were taken side by side, so what slowed the machine down slowed both. Pairs
// whose divisor is 0 are left out.
func ratios(values, by []float64) []float64 {
	var list []float64
	for i := range min(len(values), len(by)) {
		if by[i] != 0 {
			list = append(list, values[i]/by[i])
		}
	}
	return list
}

// quartiles are the medians of the lower and the upper half: half of all values lie between them.
func quartiles(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	return median(sorted[:(len(sorted)+1)/2]), median(sorted[len(sorted)/2:])
}
