package policy

import (
	"sync"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// budgets is the hedge budgets of all clients that have sent something. The
// zero value is ready.
type budgets struct {
	mutex sync.Mutex // guards list
	list  []*hedge.Budget
}

func (b *budgets) add(budget *hedge.Budget) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.list = append(b.list, budget)
}

// use is how many hedges are in flight, and how many may be.
func (b *budgets) use() (inFlight, limit int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, budget := range b.list {
		inFlight += budget.InFlight()
		limit += budget.Limit()
	}
	return inFlight, limit
}

// gauges is what the observable metrics show. It takes time in proportion to
// what is unwell, and is called when a meter collects.
func (m *Middleware) gauges() telemetry.Gauges {
	g := telemetry.Gauges{OpenReads: map[string]int{}, OpenWrites: map[string]int{}, Overrides: map[string]int{}}
	g.HedgesInFlight, g.HedgeLimit = m.budgets.use()
	for _, a := range m.allAccounts() {
		if t := a.topology.Load(); t != nil {
			a.addGauges(&g, t)
		}
	}
	return g
}

func (a *account) addGauges(g *telemetry.Gauges, t *regions.Topology) {
	g.RefusedByBreaker += int(a.breaker.Dropped())
	g.RefusedByFailover += int(a.ppaf.Dropped())
	readable, writable := t.Readable(), t.Writable()
	for r := range readable.All() {
		g.OpenReads[t.Name(r)] += 0
		g.Overrides[t.Name(r)] += 0
	}
	for r := range writable.All() {
		g.OpenWrites[t.Name(r)] += 0
	}
	if !a.breaker.Empty() {
		for e := range a.breaker.All {
			switch name := t.Name(regions.Index(e.Region)); {
			case e.State != breaker.Unavailable || name == "":
			case e.Write:
				g.OpenWrites[name]++
			default:
				g.OpenReads[name]++
			}
		}
	}
	if a.ppaf.Empty() {
		return
	}
	for e := range a.ppaf.All(time.Now()) {
		if name := t.Name(e.Start.Override); name != "" {
			g.Overrides[name]++
		}
	}
}
