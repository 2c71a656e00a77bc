package main

import (
	"context"
	"fmt"
	"time"
)

// effort is how much is measured.
type effort struct {
	rounds   int           // of the cost tables
	perTurn  int           // operations in one turn of a round
	seen     []int         // numbers of partitions
	records  []int         // numbers of breaker records
	span     time.Duration // of the load of a scenario in virtual time
	rate     int           // requests a second
	wire     time.Duration // the span over loopback
	wireRate int
}

// The efforts: one for a report, one for every change.
var (
	full = effort{
		rounds: 200, perTurn: 100, seen: []int{1, 1000, 1_000_000}, records: []int{0, 10_000, 1_000_000},
		span: 100 * time.Second, rate: 100, wire: 30 * time.Second, wireRate: 20,
	}
	quick = effort{
		rounds: 60, perTurn: 60, seen: []int{1, 1000, 20_000}, records: []int{0, 10_000},
		span: 20 * time.Second, rate: 50, wire: 8 * time.Second, wireRate: 10,
	}
)

// armed is the threshold of hedging where nothing is slow.
const armed = time.Second

// instantApp is an application of a contender over an instant transport.
func instantApp(c contender, t *instant, regions []string) (*app, error) {
	a, err := c.build(setting{endpoint: instantEndpoint, preferred: regions, transport: t, threshold: armed, direct: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return a, nil
}

// operationOf makes a runner of one operation of an application.
func operationOf(name string, op string, a *app) runner {
	item := itemOf("a", "1")
	ctx := context.Background()
	do := map[string]func() error{
		"ReadItem":   func() error { return a.read(ctx, "a", "1") },
		"UpsertItem": func() error { return a.upsert(ctx, "a", item) },
		"query page": func() error { return a.query(ctx, "a") },
	}[op]
	return runner{name, repeat(do)}
}

func repeat(do func() error) func(int) error {
	return func(n int) error {
		for range n {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
}

// cost is what one operation costs one contender.
type cost struct {
	name           string
	ratio          float64 // to plain azcosmos, of CPU time
	low, high      float64 // half of the rounds lie between
	wallRatio      float64
	cpu, wall      float64 // ns
	bytes, objects float64
}

// costs compares contenders, the first of which is plain azcosmos, in one operation.
func costs(op string, contenders []contender, e effort) ([]cost, error) {
	transport, regions := newInstant(3)
	runners := make([]runner, len(contenders))
	for i, c := range contenders {
		a, err := instantApp(c, transport, regions)
		if err != nil {
			return nil, err
		}
		defer a.close()
		runners[i] = operationOf(c.name, op, a)
	}
	samples, err := interleave(runners, e.rounds, e.perTurn)
	if err != nil {
		return nil, err
	}
	list := make([]cost, len(runners))
	for i, r := range runners {
		over := ratios(cpuOf(samples[i]), cpuOf(samples[0]))
		c := cost{
			name: r.name, ratio: median(over), wallRatio: median(ratios(wallOf(samples[i]), wallOf(samples[0]))),
			cpu: median(cpuOf(samples[i])), wall: median(wallOf(samples[i])),
		}
		c.low, c.high = quartiles(over)
		if c.objects, c.bytes, err = allocations(r); err != nil {
			return nil, err
		}
		list[i] = c
	}
	return list, nil
}

// healthyCosts is the first table, and the costs of ReadItem.
func healthyCosts(e effort) (*table, []cost, error) {
	t := &table{
		title: "Cost of a healthy operation",
		how: fmt.Sprintf("Over a transport in memory that answers at once, an account of 3 regions, one process; %d rounds of 2 × %d operations by each contender in "+
			"turn. × plain: median of the ratios within a round, of CPU time, with its quartiles; wall: the same of the time that passed. "+
			"The collector runs rarely, so that it does not strike by chance. Allocations are exact. The last row of each operation is the noise: plain azcosmos against itself.",
			e.rounds, e.perTurn),
		text: 2, columns: []string{"operation", "contender", "× plain", "quartiles", "× plain, wall", "allocs/op", "B/op", "CPU ns/op", "wall ns/op"},
	}
	control := contender{"plain azcosmos once more", buildPlain}
	var reads []cost
	for _, op := range []string{"ReadItem", "UpsertItem", "query page"} {
		list, err := costs(op, []contender{plain, oursOff, ours, failsafe1, hedged, control}, e)
		if err != nil {
			return nil, nil, err
		}
		if reads == nil {
			reads = list
		}
		for _, c := range list {
			t.add(op, c.name, times(c.ratio), fmt.Sprintf("%.3f … %.3f", c.low, c.high), times(c.wallRatio),
				whole(c.objects), whole(c.bytes), whole(c.cpu), whole(c.wall))
		}
	}
	return t, reads, nil
}
