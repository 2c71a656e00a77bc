package policy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// missionRow is one row of the mission's two tables, which the pure rules of
// package regions are tested by as well.
type missionRow struct {
	ID      string
	Source  string
	Account struct{ MultiWrite bool }
	Query   struct {
		Write                            bool
		Preferred, Excluded, Unavailable []string
		Override                         string
	}
	Want []string
}

// missionRegions are the tables' names for the regions of the tests.
var missionRegions = strings.NewReplacer("NCUS", A, "WUS", B, "CUS", C)

// missionRows reads the tables.
func missionRows(t *testing.T) (rows []missionRow) {
	t.Helper()
	content, err := os.ReadFile("../regions/testdata/applicable_regions.json")
	require.NoError(t, err)
	var all []missionRow
	require.NoError(t, json.Unmarshal([]byte(missionRegions.Replace(string(content))), &all))
	for _, r := range all {
		if r.Source == "mission" {
			rows = append(rows, r)
		}
	}
	require.Len(t, rows, 24)
	return rows
}

// TestMission takes each row of the mission's tables through real azcosmos: the
// breaker opens what the row calls unavailable, by failures of the partition
// there; the service moves the partition, and one write discovers it; then
//
//   - a healthy operation asks the first region of the row, once,
//   - and one that fails everywhere (503) asks the whole row, in its order.
//
// With one exception the order of contact is the row's. A write on a
// single-write account is sent to the one region of its row; when that one does
// not take it and failover is on, the other candidates follow, which the tables
// do not speak of.
func TestMission(t *testing.T) {
	for _, row := range missionRows(t) {
		name := strings.NewReplacer("multi-write ", "MultiWrite", "single-write ", "SingleWrite").Replace(row.ID)
		for _, k := range knowledges {
			t.Run(name+"/"+k.name, func(t *testing.T) {
				yes := true
				s := setup{preferred: row.Query.Preferred, gateway: gateway.Options{MultiWrite: row.Account.MultiWrite}}
				if row.Query.Override != "" {
					s.gateway.PartitionFailover = &yes
				}
				inCircuit(t, s, func(w *circuitWorld) { w.mission(row, k) })
			})
		}
	}
}

// mission plays one row.
func (w *circuitWorld) mission(row missionRow, k knowledge) {
	w.Helper()
	op, word := readKey, "readop"
	if row.Query.Write {
		op, word = upsertKey, "write"
	}
	w.prepare(k, op)
	w.discover(row.Query.Override)
	w.openAll(row, op, word)

	ctx := regions.WithExcluded(w.Context(), row.Query.Excluded...)
	want := lettersOf(row.Want)
	for range 3 {
		w.ResetLog()
		w.one(ctx, op, w.container, w.p1)
		require.Equal(w, want[:1], w.data(), "a healthy operation")
	}
	w.failsEverywhere(row, want, word, func() string { return outcomeOf(op(ctx, w.container, w.p1)) })
	// Another partition knows nothing of all that, apart from what the request itself asks for.
	if len(row.Query.Excluded) == 0 {
		w.ResetLog()
		w.one(ctx, op, w.container, w.p2)
		require.Equal(w, "A", w.data(), "another partition")
	}
}

// failsEverywhere requires the order in which an operation asks its regions.
func (w *circuitWorld) failsEverywhere(row missionRow, want, word string, operate func() string) {
	w.Helper()
	times := 2
	if row.Query.Write && row.Query.Override != "" {
		// The candidates follow; and an override that nobody confirms any more is dropped.
		want, times = map[string]string{"B": "B A C", "C": "C A B"}[want], 1
	}
	for range times {
		w.ResetLog()
		fault := w.Inject(gateway.Rule{Container: "items", Range: w.rangeOf(w.p1), Operations: []string{word}, Status: 503})
		require.Equal(w, "503", operate())
		fault.Remove()
		require.Equal(w, want, w.data(), "an operation that fails everywhere")
	}
}

// discover moves the partition to a region and lets one write find it there.
func (w *circuitWorld) discover(region string) {
	w.Helper()
	if region == "" {
		return
	}
	w.MoveRange("items", w.rangeOf(w.p1), region)
	found := map[string]string{B: "A B", C: "A B C"}[region]
	require.Equal(w, found, w.times(1, upsertKey, w.container, w.p1), "the write that discovers")
	require.Equal(w, lettersOf([]string{region}), w.times(1, upsertKey, w.container, w.p1), "the next one")
	require.Equal(w, []string{lettersOf([]string{region})}, w.overrides())
}

// openAll lets the breaker open regions one after the other, the first in the
// row first: operations that may go there, and not before to a region that is
// well, fail there.
func (w *circuitWorld) openAll(row missionRow, op keyed, word string) {
	w.Helper()
	for _, region := range row.Query.Unavailable {
		var others []string
		for _, other := range []string{A, B, C} {
			if other != region {
				others = append(others, other)
			}
		}
		ctx := regions.WithExcluded(w.Context(), others[0])
		fault := w.Inject(gateway.Rule{Region: region, Container: "items", Range: w.rangeOf(w.p1), Operations: []string{word}, Status: 503})
		for len(w.unwellIn(region)) == 0 {
			require.Less(w, fault.Hits(), 10, "%s is not opened", region)
			w.one(ctx, op, w.container, w.p1)
		}
		fault.Remove()
		pass(time.Second) // the next one is opened later
	}
}

// unwellIn is whether the breaker has opened a region, as a list.
func (w *circuitWorld) unwellIn(region string) (list []string) {
	for _, u := range w.unwell() {
		if strings.HasPrefix(u, lettersOf([]string{region})) && strings.HasSuffix(u, "Unavailable") {
			list = append(list, u)
		}
	}
	return list
}

// TestMissionOperations: the rows that failover decides hold for every read and
// every write of azcosmos, not only for the two that the tables are played with.
func TestMissionOperations(t *testing.T) {
	for _, k := range knowledges {
		for _, o := range keyedReads {
			t.Run(k.name+"/"+o.name, func(t *testing.T) {
				inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
					op := o.make(w)
					w.prepare(k, op)
					w.discover(B)
					all := regions.WithExcluded(w.Context(), A, B, C)
					require.Equal(w, "B", w.times(1, op, w.container, w.p1), "row 6")
					w.ResetLog()
					w.one(all, op, w.container, w.p1)
					require.Equal(w, "B", w.data(), "row 7")
					w.ResetLog()
					w.one(all, op, w.container, w.p2)
					require.Equal(w, "A", w.data(), "row 2, of another partition")
				})
			})
		}
		for _, o := range keyedWrites {
			t.Run(k.name+"/"+o.name, func(t *testing.T) {
				s := ppafAccount(2)
				s.preferred = []string{A, B, C}
				inCircuit(t, s, func(w *circuitWorld) {
					op := o.make(w)
					w.prepare(k, op)
					w.discover(B)
					all := regions.WithExcluded(w.Context(), A, B, C)
					require.Equal(w, "B", w.times(1, op, w.container, w.p1), "row 12")
					w.ResetLog()
					w.one(all, op, w.container, w.p1)
					require.Equal(w, "B", w.data(), "row 11")
					w.ResetLog()
					w.one(all, op, w.container, w.p2)
					require.Equal(w, "A", w.data(), "row 10, of another partition")
				})
			})
		}
	}
}

// TestMissionOverrideGoesAway: with the override gone the rows are those
// without one again.
func TestMissionOverrideGoesAway(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		all := func(c call) call {
			return func(ctx context.Context, container *azcosmos.ContainerClient) (*http.Response, error) {
				return c(regions.WithExcluded(ctx, A, B, C), container)
			}
		}
		w.MoveRange("items", "0", B)
		w.expect(upsert, "200", "A B", 0)
		w.expect(all(read), "200", "B", 0)
		w.MoveRange("items", "0", "")
		w.expect(upsert, "200", "B A", 0)
		w.expect(all(read), "200", "A", 0)
		w.expect(read, "200", "A", 0)
		w.Inject(gateway.Rule{Operations: []string{"read"}, Status: 503})
		w.expect(read, "503", "A B C", 0)
	})
}
