package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// TestState: the state names the regions, what is unwell, since when, and when
// it is tried again; it marshals to JSON and names no key.
func TestState(t *testing.T) {
	yes := true
	s := setup{
		gateway: gateway.Options{PartitionFailover: &yes},
		policy:  policy.Options{ExcludedRegions: []string{"Nowhere"}},
	}
	inWorld(t, s, func(w *world) {
		w.Inject(status(A, 503, 0))
		for range 10 {
			w.expect(read, "200", "A B", 0)
		}
		w.Down(B)
		w.expect(read, "200", "B C", 0)
		state := w.ha.State()
		require.Equal(w, []string{"Nowhere"}, state.Excluded)
		require.Len(w, state.Accounts, 1)
		account := state.Accounts[0]
		require.Equal(w, "acct.documents.azure.test", account.Endpoint)
		require.True(w, *account.PartitionFailover)
		require.Nil(w, account.HedgingDisabled)
		require.Len(w, account.Regions, 3)
		require.True(w, account.Regions[0].Primary && account.Regions[0].Writable && account.Regions[0].Readable)
		require.Nil(w, account.Regions[0].UnwellReads)
		require.Equal(w, state.At, *account.Regions[1].UnwellReads)
		require.Nil(w, account.Regions[1].UnwellWrites)

		require.Equal(w, 2, account.UnwellCount)
		opened := account.Unwell[0]
		if opened.Region != A {
			opened = account.Unwell[1]
		}
		require.Equal(w, "dbs/db/colls/items", opened.Container)
		require.Equal(w, "Unavailable", opened.State)
		require.Equal(w, state.At, opened.Since)
		probe := opened.NextProbe.Sub(opened.Since)
		require.True(w, probe >= 30*time.Second && probe <= 37500*time.Millisecond, "probe after %s", probe)

		encoded, err := json.Marshal(state)
		require.NoError(w, err)
		require.NotContains(w, string(encoded), `["a"]`)
	})
}
