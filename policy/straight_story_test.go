package policy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// story is what a run of operations made of the faults that a seed brings: for each
// the outcome, the regions and the time, and what is known at the end.
func story(t *testing.T, seed uint64, recorded bool) (lines []string) {
	dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not a secret
	s := setup{hedged: dice.IntN(2) == 0, gateway: gateway.Options{MultiWrite: dice.IntN(2) == 0, Ranges: 2}}
	s.gateway.Latency = map[string]time.Duration{A: time.Millisecond, B: 20300 * time.Microsecond, C: 31700 * time.Microsecond} // no two sums are the same moment
	s.policy.Breaker = breaker.Options{OpenFor: time.Hour}.WithoutJitter()                                                      // no probe: it would race the read beside it
	s.policy.Hedge.Threshold = []time.Duration{0, 47100 * time.Microsecond}[dice.IntN(2)]
	if dice.IntN(3) == 0 {
		s.preferred = []string{B, A}
	}
	s.policy.Hedge.Writes = dice.IntN(3) == 0
	operations := []call{read, read, upsert, query, batch, everyPage, readContainer}
	inWorld(t, s, func(w *world) {
		for _, id := range []string{"2", "3"} {
			_, err := w.container.CreateItem(w.Context(), key("a"), item(id, "a", 0), nil)
			require.NoError(w, err)
		}
		for range 40 {
			if dice.IntN(3) == 0 {
				w.Inject(anyFault(dice))
			}
			ctx, cancel := context.WithTimeout(w.Context(), 300*time.Millisecond)
			if recorded {
				ctx, _ = telemetry.Record(ctx)
			}
			w.ResetLog()
			operation := operations[dice.IntN(len(operations))]
			outcome, took := w.do(ctx, operation)
			cancel()
			synctest.Wait()
			lines = append(lines, fmt.Sprintf("%s %s %v", outcome, w.contacted(), took))
			pass([]time.Duration{0, time.Second, 40 * time.Second}[dice.IntN(3)])
		}
		lines = append(lines, (&circuitWorld{world: w}).unwell()...)
	})
	return lines
}

// everyPage is a query of pages with one item each; the last answer counts.
func everyPage(ctx context.Context, c *azcosmos.ContainerClient) (last *http.Response, err error) {
	for p := c.NewQueryItemsPager("SELECT * FROM c", key("a"), &azcosmos.QueryOptions{PageSizeHint: 1}); p.More(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return page.RawResponse, err
		}
		last = page.RawResponse
	}
	return last, nil
}

// anyFault is a fault that hits a few requests of a region, or all that come in a while.
func anyFault(dice *rand.Rand) gateway.Rule {
	r := gateway.Rule{Region: []string{A, A, B, C}[dice.IntN(4)], Hits: 1 + dice.IntN(12)}
	switch dice.IntN(5) {
	case 0:
		r.Kind = gateway.Refuse
	case 1:
		r.Kind = gateway.Hang
	case 2:
		r.Delay = time.Duration(dice.IntN(200_000_000))
	default:
		codes := [][2]int{{503, 0}, {429, 3200}, {429, 3092}, {404, 1002}, {404, 0}, {403, 1008}, {410, 1022}, {410, 1002}, {500, 0}, {408, 0}, {449, 0}, {400, 0}}
		code := codes[dice.IntN(len(codes))]
		r.Status, r.SubStatus = code[0], code[1]
		r.Header = map[string]string{"x-ms-retry-after-ms": "10"}
	}
	return r
}

// TestStraightWayIsTheWalks: what is recorded walks, what is not goes straight while
// all is well, if it is about items. Nothing else tells them apart.
func TestStraightWayIsTheWalks(t *testing.T) {
	for seed := range uint64(100) {
		walked, straight := story(t, seed, true), story(t, seed, false)
		require.Equal(t, walked, straight, "seed %d", seed)
	}
}
