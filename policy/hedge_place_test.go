package policy_test

import (
	"testing"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// TestHedgeLeavesItsPlaceToTheNext: a hedge that ends without a final answer
// starts the next one at once, also when the budget is one hedge: it has given
// its place back by then. Seed 1150 of the simulation.
func TestHedgeLeavesItsPlaceToTheNext(t *testing.T) {
	inWorld(t, setup{hedged: true, policy: policy.Options{Hedge: hedge.Options{MaxInFlight: 1}}}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang})
		w.Inject(gateway.Rule{Region: B, Status: 503})
		for range 3 {
			w.expect(read, "200", "A B C", time.Second)
		}
	})
}
