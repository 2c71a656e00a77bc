package policy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// slow is a region that answers after a while.
func slow(region string, d time.Duration) gateway.Rule {
	return gateway.Rule{Region: region, Kind: gateway.Slow, Delay: d}
}

// TestHedge: what a slow first region costs a read, and who answers.
func TestHedge(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name    string
		options hedge.Options
		multi   bool
		faults  []gateway.Rule
		timeout time.Duration
		call    call
		outcome string
		regions string
		took    time.Duration
	}{
		{name: "fast", call: read, outcome: "200", regions: "A"},
		{name: "slow, default threshold", faults: []gateway.Rule{slow(A, 5000*ms)}, call: read, outcome: "200", regions: "A B", took: 1000 * ms},
		{name: "half of the deadline", timeout: 800 * ms, faults: []gateway.Rule{slow(A, 5000*ms)}, call: read, outcome: "200", regions: "A B", took: 400 * ms},
		{name: "threshold beyond the deadline", options: hedge.Options{Threshold: 2 * time.Second}, timeout: 800 * ms, faults: []gateway.Rule{slow(A, 5000*ms)}, call: read, outcome: "deadline", regions: "A", took: 800 * ms},
		{name: "the first region wins after a hedge", options: hedge.Options{Threshold: 100 * ms}, faults: []gateway.Rule{slow(A, 150*ms), slow(B, 500*ms)}, call: read, outcome: "200", regions: "A B", took: 150 * ms},
		{name: "the second hedge wins", options: hedge.Options{Threshold: 100 * ms, Step: 200 * ms}, faults: []gateway.Rule{fault(A, gateway.Hang), fault(B, gateway.Hang), slow(C, 7*ms)}, call: read, outcome: "200", regions: "A B C", took: 307 * ms},
		{name: "one hedge only", options: hedge.Options{Threshold: 100 * ms, MaxHedges: 1}, timeout: 3 * time.Second, faults: []gateway.Rule{fault(A, gateway.Hang), fault(B, gateway.Hang)}, call: read, outcome: "deadline", regions: "A B", took: 3 * time.Second},
		{name: "a hedge that fails starts the next", options: hedge.Options{Threshold: 100 * ms}, faults: []gateway.Rule{fault(A, gateway.Hang), status(B, 503, 0)}, call: read, outcome: "200", regions: "A B C", took: 100 * ms},
		{name: "the walk goes on before the threshold", faults: []gateway.Rule{status(A, 503, 0), slow(B, 300*ms)}, call: read, outcome: "200", regions: "A B", took: 300 * ms},
		{name: "429 starts the hedge at once", faults: []gateway.Rule{status(A, 429, 3200)}, call: read, outcome: "200", regions: "A B"},
		{name: "410/1007 starts the hedge at once", faults: []gateway.Rule{status(A, 410, 1007)}, call: read, outcome: "200", regions: "A B"},
		{name: "404 is final", faults: []gateway.Rule{status(A, 404, 0)}, call: read, outcome: "404", regions: "A"},
		{name: "disabled", options: hedge.Options{Disabled: true}, faults: []gateway.Rule{slow(A, 5000*ms)}, call: read, outcome: "200", regions: "A", took: 5000 * ms},
		{name: "query", options: hedge.Options{Threshold: 100 * ms}, faults: []gateway.Rule{fault(A, gateway.Hang)}, call: query, outcome: "200", regions: "A B", took: 100 * ms},
		{name: "metadata is not hedged", options: hedge.Options{Threshold: 100 * ms}, faults: []gateway.Rule{{Region: A, Operations: []string{"meta"}, Kind: gateway.Slow, Delay: 700 * ms}}, call: readContainer, outcome: "200", regions: "A", took: 700 * ms},
		{name: "writes are not hedged", options: hedge.Options{Threshold: 100 * ms}, multi: true, faults: []gateway.Rule{slow(A, 700*ms)}, call: upsert, outcome: "200", regions: "A", took: 700 * ms},
		{name: "writes if asked for", options: hedge.Options{Threshold: 100 * ms, Writes: true}, multi: true, faults: []gateway.Rule{fault(A, gateway.Hang)}, call: upsert, outcome: "200", regions: "A B", took: 100 * ms},
		{name: "never on single-write accounts", options: hedge.Options{Threshold: 100 * ms, Writes: true}, faults: []gateway.Rule{slow(A, 700*ms)}, call: upsert, outcome: "200", regions: "A", took: 700 * ms},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := setup{gateway: gateway.Options{MultiWrite: test.multi}, policy: policy.Options{Hedge: test.options}, hedged: true}
			inWorld(t, s, func(w *world) {
				for _, r := range test.faults {
					w.Inject(r)
				}
				ctx := w.Context()
				if test.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.timeout)
					defer cancel()
				}
				w.expectWith(ctx, test.call, test.outcome, test.regions, test.took)
			})
		})
	}
}

// TestSlowWins: five hedges in a row that win against a region open it for the
// partition; the sixth read goes straight to the other region.
func TestSlowWins(t *testing.T) {
	inWorld(t, setup{policy: policy.Options{Hedge: hedge.Options{Threshold: 200 * time.Millisecond}}, hedged: true}, func(w *world) {
		w.Inject(slow(A, 5*time.Second))
		for i := range 5 {
			t.Log(fmt.Sprint("read ", i))
			w.expect(read, "200", "A B", 200*time.Millisecond)
		}
		w.expect(read, "200", "B", 0)
	})
}

// TestHedgeAllocations: hedging that is armed and does not fire costs at most
// 20 allocations.
func TestHedgeAllocations(t *testing.T) {
	armed, off := instantClient(t, &policy.Options{}), instantClient(t, &policy.Options{Hedge: hedge.Options{Disabled: true}})
	readOnce(t, armed)
	readOnce(t, off)
	without := testing.AllocsPerRun(500, func() { readOnce(t, off) })
	with := testing.AllocsPerRun(500, func() { readOnce(t, armed) })
	t.Logf("ReadItem: %.0f allocations without hedging, %.0f armed", without, with)
	require.LessOrEqual(t, with-without, 20.0)
}
