package policy_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// TestPeersHedgePartitionMigrates: 410/1008 of the first region, the one answer
// of the peers' matrix that TestHedgeMatrix lacks: azcosmos has no cross-region
// answer to it, so the hedge starts at once and wins. It says nothing of A.
func TestPeersHedgePartitionMigrates(t *testing.T) {
	for _, op := range matrixOps[:5] {
		for _, preferred := range [][]string{nil, {B, C, A}} {
			t.Run(fmt.Sprintf("%s/%d preferred", op.name, len(preferred)), func(t *testing.T) {
				s := setup{policy: hedgedAt(100 * ms), hedged: true, preferred: preferred}
				s.gateway = gateway.Options{Account: fmt.Sprintf("matrix%d", accounts.Add(1))}
				first, asked := A, "A B"
				if preferred != nil {
					first, asked = B, "B C"
				}
				inMatrix(t, s, func(w *world) {
					f := w.Inject(status(first, 410, 1008))
					w.requireMatrix(op.call, "whole", asked, 0, "410/1008")
					require.Empty(w, (&circuitWorld{world: w}).unwell())
					f.Remove()
					w.ResetLog()
					w.requireMatrix(op.call, "whole", asked[:1], 0, "afterwards")
				})
			})
		}
	}
}

// TestPeersNoHedgeAfterTheCallersCancel: the caller gives up before the
// threshold: nothing is sent when the threshold comes, nor afterwards.
func TestPeersNoHedgeAfterTheCallersCancel(t *testing.T) {
	for _, op := range matrixOps[:5] {
		t.Run(op.name, func(t *testing.T) {
			s := setup{policy: hedgedAt(100 * ms), hedged: true}
			s.gateway = gateway.Options{Account: fmt.Sprintf("matrix%d", accounts.Add(1))}
			inMatrix(t, s, func(w *world) {
				w.Inject(fault(A, gateway.Hang))
				ctx, cancel := context.WithCancel(w.Context())
				time.AfterFunc(99*ms, cancel)
				start := time.Now()
				err := op.call(ctx, w.container)
				require.ErrorIs(w, err, context.Canceled)
				require.Equal(w, 99*ms, time.Since(start))
				pass(time.Minute)
				synctest.Wait()
				require.Equal(w, "A", w.data())
				now, _ := w.InFlight()
				require.Zero(w, now)
				require.Zero(w, hedgesRunning())
				require.Empty(w, (&circuitWorld{world: w}).unwell(), "a cancel says nothing of A")
			})
		})
	}
}
