package policy_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// TestHedgeWire is the matrix over loopback connections, for the faults of the
// first region: the answer is whole, the regions are the twin's, and a region
// that does not answer costs the threshold, not its own time.
func TestHedgeWire(t *testing.T) {
	const threshold = 60 * ms
	for name, protocol := range protocols {
		for _, op := range matrixOps {
			for _, preferred := range [][]string{nil, {B, C, A}} {
				t.Run(fmt.Sprintf("%s/%s/%d preferred", name, op.name, len(preferred)), func(t *testing.T) {
					s := setup{policy: hedgedAt(threshold), hedged: true, preferred: preferred}
					s.policy.Hedge.Step, s.policy.Hedge.Writes, s.policy.Breaker = time.Minute, true, noBreaker.Breaker
					s.gateway = gateway.Options{Account: fmt.Sprintf("wire%d", accounts.Add(1)), MultiWrite: op.write}
					w := onWire(t, protocol, s)
					w.prepareMatrix()
					list := []string{A, B, C}
					if preferred != nil {
						list = preferred
					}
					for _, first := range matrixFaults {
						w.requireWire(first, op.call, op.write, list, threshold)
					}
				})
			}
		}
	}
}

// requireWire makes a call while the first region of the list has a fault.
func (w *world) requireWire(first matrixFault, call func(context.Context, *azcosmos.ContainerClient) error, write bool, list []string, threshold time.Duration) {
	w.Helper()
	twin := twinRace{list: list, home: A, threshold: threshold, step: time.Minute, hedges: 2, until: time.Hour, leg: map[string]twinLeg{
		list[0]: first.leg(write, ms), list[1]: final, list[2]: final,
	}}
	says, asked, took := twin.run()
	require.Equal(w, "whole", says)
	first.rule.Delay *= 100 // 30 s: nobody waits for it
	if first.rule.Region == "" {
		first.rule.Region = list[0]
	}
	w.ResetLog()
	rule := w.Inject(first.rule)
	defer rule.Remove()
	start := time.Now()
	require.NoError(w, call(w.Context(), w.container), first.name)
	elapsed := time.Since(start)
	require.Less(w, elapsed, 20*time.Second, first.name)
	if data := w.data(); elapsed < threshold {
		require.Equal(w, lettersOf(strings.Split(asked, " ")), data, first.name)
	} else { // it waited for the first region, or the machine was slow to send
		require.LessOrEqual(w, len(strings.Fields(data)), len(list), first.name)
	}
	require.GreaterOrEqual(w, elapsed, took-ms, first.name)
}

// TestHedgeWireLoad: many readers at once while the first region answers about
// when the hedges start; every answer is the one to its own request, over real
// connections.
func TestHedgeWireLoad(t *testing.T) {
	const readers, reads = 16, 40
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			s := setup{policy: hedgedAt(2 * ms), hedged: true, gateway: gateway.Options{LogLimit: -1}}
			s.policy.Breaker = noBreaker.Breaker
			w := newWorld(t, s)
			l, err := w.Listen(protocol)
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			s.endpoint, s.change = l.Endpoint(), func(o *azcosmos.ClientOptions) { o.Transport = l.Client() }
			w.client, w.container = w.newClient(s)
			for i := range readers {
				_, err := w.container.UpsertItem(t.Context(), key(fmt.Sprint(i)), item(fmt.Sprint("of ", i), fmt.Sprint(i), i), nil)
				require.NoError(t, err)
			}
			w.SetLatency(A, 2*ms)
			var all sync.WaitGroup
			for i := range readers {
				all.Go(func() {
					for range reads {
						if err := w.ownItem(t.Context(), i); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// ownItem reads the item of a reader, by id and by query in turn, and returns an
// error unless it is that item and no other.
func (w *world) ownItem(ctx context.Context, i int) error {
	pk := fmt.Sprint(i)
	r, err := w.container.ReadItem(ctx, key(pk), "of "+pk, nil)
	if err != nil {
		return err
	}
	if !strings.Contains(string(r.Value), fmt.Sprintf(`"id":"of %d"`, i)) {
		return fmt.Errorf("reader %d got %s", i, r.Value)
	}
	q, err := w.container.NewQueryItemsPager("SELECT * FROM c", key(pk), nil).NextPage(ctx)
	if err != nil {
		return err
	}
	if len(q.Items) != 1 || !strings.Contains(string(q.Items[0]), fmt.Sprintf(`"id":"of %d"`, i)) {
		return fmt.Errorf("reader %d got %s", i, q.Items)
	}
	return nil
}
