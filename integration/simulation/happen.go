package simulation

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// happen makes one event happen, and end, in its time.
func (e *environment) happen(v Event) {
	time.Sleep(time.Duration(v.At))
	undo := e.begin(v)
	if v.For > 0 && undo != nil {
		time.Sleep(time.Duration(v.For))
		undo()
	}
}

// begin makes an event happen and returns what ends it; nil for what stays.
func (e *environment) begin(v Event) (undo func()) {
	g := e.gateway
	switch v.Do {
	case Fault:
		return g.Inject(v.Rule.rule()).Remove
	case Down:
		g.Down(v.Region)
		return func() { g.Up(v.Region) }
	case Latency:
		g.SetLatency(v.Region, time.Duration(v.Delay))
		return func() { g.SetLatency(v.Region, time.Duration(e.Account.Latency[v.Region])) }
	case Move, Elect, Split:
		return e.beginRange(v)
	case Exclude:
		e.ha.SetExcludedRegions(v.Names...)
	default:
		e.beginTopology(v)
	}
	return nil
}

// beginRange changes a range.
func (e *environment) beginRange(v Event) (undo func()) {
	g := e.gateway
	ids := g.Ranges("items")
	id := ids[v.Range%len(ids)]
	switch v.Do {
	case Move:
		g.MoveRange("items", id, v.Region)
		return func() { g.MoveRange("items", id, "") }
	case Elect:
		g.Elect("items", id)
		return func() { g.MoveRange("items", id, v.Region) }
	default:
		g.Split("items", id)
		return nil
	}
}

// beginTopology changes the account.
func (e *environment) beginTopology(v Event) {
	g := e.gateway
	switch v.Do {
	case Primary:
		g.SetWriteRegion(v.Region)
	case Regions:
		g.SetRegions(v.Names...)
	case Multi:
		g.SetMultiWrite(v.On != nil && *v.On)
	case Failover, NoHedging:
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if v.Do == Failover {
			e.failover = v.On
		} else {
			e.noHedging = v.On
		}
		g.SetFlags(e.failover, e.noHedging)
	}
}

// rule is the rule as the gateway has it.
func (r *Rule) rule() gateway.Rule {
	kinds := map[string]gateway.Kind{
		"status": gateway.Status, "delay": gateway.Status, "refuse": gateway.Refuse, "reset": gateway.Reset, "close": gateway.Close,
		"streamreset": gateway.StreamReset, "hang": gateway.Hang, "lost": gateway.Lost, "loststream": gateway.LostStream, "slow": gateway.Slow,
	}
	g := gateway.Rule{
		Region: r.Region, Operations: r.Operations, Kind: kinds[r.Kind], Status: r.Status, SubStatus: r.Sub,
		Delay: time.Duration(r.Delay), Hits: r.Hits, Probability: r.Probability,
	}
	if r.Status == 429 {
		g.Header = map[string]string{"x-ms-retry-after-ms": "10"}
	}
	if r.Key > 0 {
		g.Key = keyHeader(r.Key - 1)
	}
	return g
}
