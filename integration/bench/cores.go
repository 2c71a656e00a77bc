package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
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

// onTheCores are the contenders of the third table.
var onTheCores = []contender{plain, oursOff, ours, failsafe1, hedged}

// coresColumns are those of the third table; cpuColumn is the one that tells contention.
var coresColumns = []string{
	"contender", "× plain, 1 core", "× plain, 2 cores", "2 cores × 1 core", "CPU a read, 2 cores × 1", "reads/s, 1 core", "reads/s, 2 cores",
}

const cpuColumn = 4

// coresTable is the third table: throughput on 1 and 2 processors.
func coresTable(e effort) (*table, error) {
	t := &table{title: "Throughput of ReadItem on 1 and 2 cores", columns: coresColumns}
	if runtime.NumCPU() < 2 {
		t.how = "Not measured: this machine has one processor."
		return t, nil
	}
	rounds, perTurn := max(3*e.long/2, 1), readers*(4*e.perTurn/readers)
	t.how = fmt.Sprintf("%d goroutines over the transport in memory, GOMAXPROCS 1 and 2; %d rounds of 2 × %d reads by each contender on each number of cores in turn; medians of "+
		"ratios within a round, of the time that passed. CPU a read: how much more of the processors a read takes when two are at work; it tells contention "+
		"from a machine that had not two processors to give. The collector is at work, rarely.", readers, rounds, perTurn)
	transport, regions := newInstant(3)
	var runners []runner
	for _, c := range onTheCores {
		a, err := instantApp(c, transport, regions)
		if err != nil {
			return nil, err
		}
		defer a.close()
		runners = append(runners, onCores(c.name, a, 1), onCores(c.name, a, 2))
	}
	samples, err := interleave(runners, plan{rounds: rounds, perTurn: perTurn})
	if err != nil {
		return nil, err
	}
	for i, c := range onTheCores {
		one, two := samples[2*i], samples[2*i+1]
		t.add(c.name,
			times(median(ratios(wallOf(samples[0]), wallOf(one)))), times(median(ratios(wallOf(samples[1]), wallOf(two)))),
			times(median(ratios(wallOf(one), wallOf(two)))), times(median(ratios(cpuOf(two), cpuOf(one)))),
			perSecond(wallOf(one)), perSecond(wallOf(two)))
	}
	return t, nil
}

// perSecond is how many things of the median time in ns there are in a second.
func perSecond(wall []float64) string { return grouped(int(float64(time.Second) / median(wall))) }
