package policy_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
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

// TestPageOfAMovedPartition: that one partition's writes have moved makes a
// region neither the last one nor unreachable for the others, and the page does
// not say so. It says what ends the mark, and that does end it.
func TestPageOfAMovedPartition(t *testing.T) {
	inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
		page := func() string {
			to := httptest.NewRecorder()
			telemetry.Handler(w.ha.State).ServeHTTP(to, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
			findings, _, _ := strings.Cut(to.Body.String(), "</header>")
			_, findings, _ = strings.Cut(findings, "<header>")
			return findings
		}
		w.MoveRange("items", w.rangeOf(w.p1), C)
		require.Equal(w, "A B C", w.times(1, upsertKey, w.container, w.p1))
		at := time.Now()
		require.Equal(w, "A", w.times(1, upsertKey, w.container, w.p2), "the mark moves nothing")
		require.NotContains(w, page(), "comes last")
		require.Contains(w, page(), `<li class="bad"><b>`+A+` did not take a write</b>`)
		require.Contains(w, page(), `<li class="warn"><b>`+B+` did not take a write</b>`)
		require.NotContains(w, page(), `>`+C+` did not take a write`)
		require.NotContains(w, page(), "tries it")
		require.NotContains(w, page(), "Tried again")
		region := w.ha.State().Accounts[0].Regions[0]
		require.Equal(w, at, *region.UnwellWrites)
		require.Nil(w, region.TrialWrites, "nothing waits for it")
		pass(5*time.Minute + 1)
		require.NotContains(w, page(), "did not take a write")
	})
}
