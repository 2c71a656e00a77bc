package policy_test

import (
	"testing"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
)

// TestEveryRegionReplaced: a call that finds that the account has left every
// region that is known waits for the topology and goes on by it, whatever kind
// of call it is. Seed 11003 of the simulation.
func TestEveryRegionReplaced(t *testing.T) {
	for _, mode := range []ppaf.Mode{ppaf.Off, ppaf.On} {
		for name, c := range map[string]call{"read": read, "write": upsert, "query": query} {
			for _, multi := range []bool{false, true} {
				t.Run(mode.String()+" "+name+map[bool]string{true: " multi-write"}[multi], func(t *testing.T) {
					inWorld(t, setup{
						gateway: gateway.Options{MultiWrite: multi, Regions: []string{A, B}},
						policy:  policy.Options{Failover: ppaf.Options{Mode: mode}},
					}, func(w *world) {
						w.SetRegions(C, "East US")
						contacted := "A B C"
						if mode == ppaf.Off && !multi && name == "write" {
							contacted = "A C" // the primary only
						}
						w.expect(c, "200", contacted, 0)
						w.expect(c, "200", "C", 0)
					})
				})
			}
		}
	}
}
