package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
)

// TestHedgeFinalIsTheJudges: an answer ends a race exactly if the walk of a read
// returns it of its own accord.
func TestHedgeFinalIsTheJudges(t *testing.T) {
	subs := []int{
		0, 1, subWriteForbidden, 7, 1000, 1001, subRangeGone, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1022,
		subSystemUnavailable, 3200, 5300, 20001, subLatencyNotMet,
	}
	final := 0
	for status := 100; status < 1000; status++ {
		for _, sub := range subs {
			for _, k := range []kind{singleWriteRead, multiWriteRead} {
				v := judge(k, outcome{status: status, sub: sub}, false)
				require.Equal(t, v.action == deliver, hedge.Final(status, sub), "%d/%d for kind %d: %+v", status, sub, k, v)
			}
			if hedge.Final(status, sub) {
				final++
				a := answer{outcome: outcome{status: status, sub: sub}}
				require.False(t, a.final(), "without a response nothing is final")
			}
		}
	}
	require.Greater(t, final, 1000)
}
