package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// readers is how many goroutines read at once.
const readers = 8

// onCores reads with several goroutines on a number of processors.
func onCores(name string, a *app, cores int) runner {
	return runner{name, func(n int) error {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		var all sync.WaitGroup
		errs := make(chan error, readers)
		for range readers {
			all.Go(func() {
				errs <- repeat(func() error { return a.read(context.Background(), "a", "1") })(n / readers)
			})
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// coresTable is the third table: throughput on 1 and 2 processors.
func coresTable(e effort) (*table, error) {
	t := &table{title: "Throughput of ReadItem on 1 and 2 cores", columns: []string{
		"contender", "× plain, 1 core", "× plain, 2 cores", "2 cores × 1 core", "CPU a read, 2 cores × 1", "reads/s, 1 core", "reads/s, 2 cores",
	}}
	if runtime.NumCPU() < 2 {
		t.how = "Not measured: this machine has one processor."
		return t, nil
	}
	rounds, perTurn := max(e.rounds/3, 1), readers*(4*e.perTurn/readers)
	t.how = fmt.Sprintf("%d goroutines over the transport in memory, GOMAXPROCS 1 and 2; %d rounds of 2 × %d reads by each contender on each number of cores in turn; medians of "+
		"ratios within a round, of the time that passed. CPU a read: how much more of the processors a read takes when two are at work; it tells contention "+
		"from a machine that had not two processors to give.", readers, rounds, perTurn)
	transport, regions := newInstant(3)
	contenders := []contender{plain, oursOff, ours, failsafe1, hedged}
	var runners []runner
	for _, c := range contenders {
		a, err := instantApp(c, transport, regions)
		if err != nil {
			return nil, err
		}
		defer a.close()
		runners = append(runners, onCores(c.name, a, 1), onCores(c.name, a, 2))
	}
	samples, err := interleave(runners, rounds, perTurn)
	if err != nil {
		return nil, err
	}
	const second = 1e9
	for i, c := range contenders {
		one, two := samples[2*i], samples[2*i+1]
		t.add(c.name,
			times(median(ratios(wallOf(samples[0]), wallOf(one)))), times(median(ratios(wallOf(samples[1]), wallOf(two)))),
			times(median(ratios(wallOf(one), wallOf(two)))), times(median(ratios(cpuOf(two), cpuOf(one)))),
			whole(second/median(wallOf(one))), whole(second/median(wallOf(two))))
	}
	return t, nil
}
