package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// TestBreakerRecordsLapse: what was unwell is forgotten in time, also when the
// account has become one of which the breaker asks nothing any more. Seed 1083
// of the simulation.
func TestBreakerRecordsLapse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*world)
		call   call
	}{
		{"as before", func(*world) {}, read},
		{"one region is left", func(w *world) { w.SetRegions(A) }, read},
		{"writes of a single-write account", func(w *world) { w.SetMultiWrite(false) }, upsert},
		{"metadata only", func(*world) {}, readContainer},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, setup{gateway: gateway.Options{MultiWrite: true}}, func(w *world) {
				for _, o := range []string{"readop", "write"} {
					w.Inject(gateway.Rule{Region: A, Operations: []string{o}, Status: 503, Hits: 1})
				}
				w.expect(read, "200", "A B", 0)
				w.expect(upsert, "200", "A B", 0)
				require.Equal(t, 2, w.ha.State().Accounts[0].UnwellCount)
				c.change(w)
				elsewhere := regions.WithExcluded(w.Context(), A)
				w.do(elsewhere, read) // a refusal in B tells that the topology is not what it was
				w.do(elsewhere, upsert)
				pass(time.Second)
				for range 20 { // the topology is read again after 5 minutes, and a sweep takes 30 s
					pass(time.Minute)
					w.do(w.Context(), c.call)
				}
				require.Empty(t, w.ha.State().Accounts[0].Unwell)
			})
		})
	}
}
