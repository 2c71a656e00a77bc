package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// effort is how much is measured.
type effort struct {
	sittings int           // of the first table: each with clients made anew, for where their memory lies matters too
	rounds   int           // of short turns, of one operation each
	long     int           // rounds of long turns
	perTurn  int           // operations in a long turn
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
		sittings: 7, rounds: 3000, long: 40, perTurn: 100, seen: []int{1, 1000, 1_000_000}, records: []int{0, 10_000, 1_000_000},
		span: 100 * time.Second, rate: 100, wire: 30 * time.Second, wireRate: 20,
	}
	quick = effort{
		sittings: 3, rounds: 1000, long: 15, perTurn: 60, seen: []int{1, 1000, 20_000}, records: []int{0, 10_000},
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
	ratio          float64 // to plain azcosmos, of CPU time without the collector's
	low, high      float64 // the least and the greatest of the sittings
	wallRatio      float64
	whole          float64 // the ratio with the collector's time
	cpu, wall      float64 // ns
	bytes, objects float64
}

// over is the worse of the two ratios: what promises are held against.
func (c cost) over() float64 { return max(c.ratio, c.whole) }

// sitting is what one sitting found for each contender.
type sitting struct{ ratio, wallRatio, cpu, wall float64 }

// sit compares contenders, the first of which is plain azcosmos, once. allocate says what each allocates, when it is not nil.
func sit(op string, contenders []contender, p plan, allocate func(i int, r runner) error) ([]sitting, error) {
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
	samples, err := interleave(runners, p)
	if err != nil {
		return nil, err
	}
	list := make([]sitting, len(runners))
	for i, r := range runners {
		list[i] = sitting{
			median(ratios(cpuOf(samples[i]), cpuOf(samples[0]))), median(ratios(wallOf(samples[i]), wallOf(samples[0]))),
			median(cpuOf(samples[i])), median(wallOf(samples[i])),
		}
		if allocate != nil {
			if err := allocate(i, r); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// costs compares contenders, the first of which is plain azcosmos, in one operation. perByte is what the collector costs.
func costs(op string, contenders []contender, sittings int, p plan, perByte float64) ([]cost, error) {
	list := make([]cost, len(contenders))
	found := make([][]sitting, len(contenders))
	for n := range sittings {
		var allocate func(int, runner) error
		if n == 0 {
			allocate = func(i int, r runner) (err error) {
				list[i].objects, list[i].bytes, err = allocations(r)
				return err
			}
		}
		one, err := sit(op, contenders, p, allocate)
		if err != nil {
			return nil, err
		}
		for i := range one {
			found[i] = append(found[i], one[i])
		}
	}
	for i := range list {
		list[i].sum(contenders[i].name, found[i])
		list[i].whole = (list[i].cpu + perByte*list[i].bytes) / (list[i].cpu/list[i].ratio + perByte*list[0].bytes)
	}
	return list, nil
}

// sum takes the medians of the sittings.
func (c *cost) sum(name string, found []sitting) {
	of := func(value func(sitting) float64) []float64 {
		var list []float64
		for _, s := range found {
			list = append(list, value(s))
		}
		return list
	}
	over := of(func(s sitting) float64 { return s.ratio })
	c.name, c.ratio, c.low, c.high = name, median(over), slices.Min(over), slices.Max(over)
	c.wallRatio = median(of(func(s sitting) float64 { return s.wallRatio }))
	c.cpu, c.wall = median(of(func(s sitting) float64 { return s.cpu })), median(of(func(s sitting) float64 { return s.wall }))
}

// again is plain azcosmos set beside itself: what its ratio is off from 1 is the noise.
var again = contender{"plain azcosmos once more", buildPlain}

// allCosts compares everybody in one operation: plain azcosmos, ours twice, the rivals, plain azcosmos once more. Those who start
// no goroutines work in turns of one operation: what slows the machine down then hits a pair of turns alike. What rivals start
// would go on in the turn of the next one, and wake processors for it: they have long turns, with nobody but plain azcosmos.
func allCosts(op string, e effort, perByte float64) ([]cost, error) {
	calm, err := costs(op, []contender{plain, oursOff, ours, again}, e.sittings, plan{e.rounds, 1, true}, perByte)
	if err != nil {
		return nil, err
	}
	list := calm[:3:3]
	for _, rival := range []contender{failsafe1, hedged} {
		pair, err := costs(op, []contender{plain, rival}, e.sittings, plan{e.long, e.perTurn, true}, perByte)
		if err != nil {
			return nil, err
		}
		list = append(list, pair[1])
	}
	return append(list, calm[3]), nil
}

// operations are what the first table is about.
var operations = []string{"ReadItem", "UpsertItem", "query page"}

// healthyCosts are what the operations cost everybody, in the order of allCosts, and what the collector costs for each byte.
func healthyCosts(e effort) (list [][]cost, perByte float64, err error) {
	if perByte, err = collectorCost(e); err != nil {
		return nil, 0, err
	}
	for _, op := range operations {
		one, err := allCosts(op, e, perByte)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, one)
	}
	return list, perByte, nil
}

// healthyTable is the first table.
func healthyTable(e effort, list [][]cost, perByte float64) *table {
	t := &table{
		title: "Cost of a healthy operation",
		how: fmt.Sprintf("Over a transport in memory that answers at once, an account of 3 regions, one process. × plain: of the CPU time without that of the garbage collector, "+
			"median of the ratios within a round, and of %d sittings with clients made anew, the least and the greatest of which are beside it. "+
			"A round: everybody has two turns, there and back in an order of its own; ours %d rounds of turns of one operation, the others %d rounds of turns of %d, with nobody but plain azcosmos. "+
			"With the collector: %.2f ns for each byte allocated, as measured in this run, are added on both sides. Wall: ratio of the time that passed. Allocations are exact. "+
			"The last row of each operation is the noise: plain azcosmos against itself.",
			e.sittings, e.rounds, e.long, e.perTurn, perByte),
		text: 2, columns: []string{
			"operation", "contender", "× plain", "of the sittings", "× plain, with the collector", "× plain, wall", "allocs/op", "B/op", "CPU ns/op", "wall ns/op",
		},
	}
	for i, op := range operations {
		for _, c := range list[i] {
			t.add(op, c.name, times(c.ratio), fmt.Sprintf("%.3f … %.3f", c.low, c.high), times(c.whole), times(c.wallRatio),
				whole(c.objects), whole(c.bytes), whole(c.cpu), whole(c.wall))
		}
	}
	return t
}
