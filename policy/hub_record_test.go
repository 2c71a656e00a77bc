package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
)

// TestHubIsRecordedForTheRange: the hub that a partition's first read finds is
// recorded for the range that the answer names, where the next request finds it
// and a write that confirms another region ends it. Seed 23102 of the simulation.
func TestHubIsRecordedForTheRange(t *testing.T) {
	inWorld(t, setup{policy: policy.Options{Failover: ppaf.Options{Mode: ppaf.On}}}, func(w *world) {
		w.MoveRange("items", "0", B)
		lost := w.Inject(gateway.Rule{Region: A, Operations: []string{"read"}, Status: 404, SubStatus: 1002})
		w.expect(read, "200", "A B", 0)
		overrides := w.ha.State().Accounts[0].Overrides
		require.Len(t, overrides, 1)
		require.Equal(t, B, overrides[0].Hub)
		require.Contains(t, overrides[0].Partition, "range")

		lost.Remove()
		w.MoveRange("items", "0", "")
		w.expect(upsert, "200", "A", 0)
		require.Empty(t, w.ha.State().Accounts[0].Overrides)
	})
}
