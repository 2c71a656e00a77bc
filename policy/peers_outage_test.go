package policy_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// The tests named TestPeers play scenarios that the other SDKs test;
// integration/README.md says which, and where the answer here differs.

// outage is a scenario of the Rust driver's tests of gateways that cannot be
// reached: an account of the regions A and B, both preferred, in this order.
type outage struct {
	name     string
	single   bool // the account is single-write
	cold     bool // nothing was asked before
	down     []string
	excluded []string // by the request
	call     call
	outcome  string
	asked    string
	next     string   // what the same call asks when it is made once more
	effects  int      // how often the write took effect, both calls together
	unwell   []string // what the breaker knows then
}

var outages = []outage{
	{
		name: "r1", down: []string{A}, call: read, outcome: "200", asked: "A B", next: "B",
		unwell: []string{"A read HealthyWithFailures"},
	},
	{
		name: "r2", single: true, down: []string{A}, call: read, outcome: "200", asked: "A B", next: "B",
		unwell: []string{"A read HealthyWithFailures"},
	},
	{
		name: "r3", down: []string{A, B}, call: read, outcome: "error", asked: "A B", next: "A B",
		unwell: []string{"A read HealthyWithFailures", "B read HealthyWithFailures"},
	},
	{
		name: "r4", down: []string{A}, excluded: []string{B}, call: read, outcome: "error", asked: "A", next: "A",
		unwell: []string{"A read HealthyWithFailures"},
	},
	{name: "w1", call: upsert, outcome: "200", asked: "A", next: "A", effects: 2, unwell: []string{}},
	{
		name: "w2", down: []string{A}, call: upsert, outcome: "200", asked: "A B", next: "B", effects: 2,
		unwell: []string{"A write HealthyWithFailures"},
	},
	{
		name: "w3", down: []string{A}, excluded: []string{B}, call: create, outcome: "error", asked: "A", next: "A",
		unwell: []string{"A write HealthyWithFailures"},
	},
	{
		name: "w4", down: []string{A}, excluded: []string{B}, call: upsert, outcome: "error", asked: "A", next: "A",
		unwell: []string{"A write HealthyWithFailures"},
	},
	{
		name: "w5", down: []string{A, B}, call: create, outcome: "error", asked: "A B", next: "A B",
		unwell: []string{"A write HealthyWithFailures", "B write HealthyWithFailures"},
	},
	{
		name: "w6", single: true, down: []string{A}, excluded: []string{B}, call: create,
		outcome: "error", asked: "A A", next: "A A", unwell: []string{},
	},
	{
		name: "g1", cold: true, down: []string{A}, call: read, outcome: "200", asked: "A B", next: "B",
		unwell: []string{"A read HealthyWithFailures"},
	},
	{
		name: "g2", cold: true, down: []string{A}, excluded: []string{B}, call: create, outcome: "error", asked: "A", next: "A",
		unwell: []string{"A write HealthyWithFailures"},
	},
}

// TestPeersOutage: gateways refuse connections: who is asked, what the caller
// sees, at once; what was not sent took no effect, and nothing is excluded in vain.
func TestPeersOutage(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{gateway: two(!o.single), preferred: []string{A, B}})
				_, plain := w.newClient(setup{plain: true})
				_, err := plain.CreateItem(t.Context(), key("a"), item("1", "a", 0), nil)
				require.NoError(t, err)
				if !o.cold {
					_, err := read(t.Context(), w.container)
					require.NoError(t, err)
				}
				before := len(w.store.Executions("", ""))
				for _, region := range o.down {
					w.Down(region)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				ctx = regions.WithExcluded(ctx, o.excluded...)
				w.expectWith(ctx, o.call, o.outcome, o.asked, 0)
				synctest.Wait() // the account is read anew behind the caller's back
				w.expectWith(ctx, o.call, o.outcome, o.next, 0)
				require.Len(t, w.store.Executions("", ""), before+o.effects)
				require.Empty(t, w.store.Repeated())
				require.Equal(t, o.unwell, (&circuitWorld{world: w}).unwell())
			})
		})
	}
}

// TestPeersOutageAfterOpening is the Rust driver's PPCB-1 to PPCB-4: the breaker
// opened A, and then A cannot be reached. Where the request excludes B, B is not
// what helps it; the rules fall back to the primary, which is A.
func TestPeersOutageAfterOpening(t *testing.T) {
	s := setup{gateway: two(true), preferred: []string{A, B}}
	s.policy.Breaker.ReadFailures, s.policy.Breaker.WriteFailures = 1, 1
	play := func(name string, test func(w *circuitWorld, withoutB context.Context)) {
		t.Run(name, func(t *testing.T) {
			inCircuit(t, s, func(w *circuitWorld) {
				fault := w.sick(A)
				require.Equal(w, "A B", w.times(1, readKey, w.container, w.p1))
				require.Equal(w, "A B", w.times(1, upsertKey, w.container, w.p1))
				require.Equal(w, []string{"A read Unavailable", "A write Unavailable"}, w.unwell())
				fault.Remove()
				w.Down(A)
				effects := w.effects()
				test(w, regions.WithExcluded(w.Context(), B))
				require.Equal(w, effects, w.effects(), "no write took effect")
				require.Empty(w, w.store.Repeated())
				require.Equal(w, []string{"A read Unavailable", "A write Unavailable"}, w.unwell())
			})
		})
	}
	requires := func(w *circuitWorld, ctx context.Context, op keyed, outcome, asked string) {
		w.Helper()
		start := time.Now()
		got, contacted := w.ask(ctx, 1, op)
		require.Equal(w, outcome, got)
		require.Equal(w, asked, contacted)
		require.Zero(w, time.Since(start))
	}
	play("ppcb-1", func(w *circuitWorld, withoutB context.Context) { requires(w, withoutB, readKey, "error", "A") })
	play("ppcb-2", func(w *circuitWorld, withoutB context.Context) { requires(w, withoutB, createKey, "error", "A") })
	play("ppcb-3", func(w *circuitWorld, _ context.Context) { requires(w, w.Context(), readKey, "200", "B") })
	play("ppcb-4", func(w *circuitWorld, withoutB context.Context) {
		requires(w, w.Context(), readKey, "200", "B")
		requires(w, withoutB, createKey, "error", "A")
	})
}
