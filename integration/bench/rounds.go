package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// runner is something that is measured: it does its work n times.
type runner struct {
	name string
	run  func(n int) error
}

// sample is what a runner took in one round, for each time it did its work.
type sample struct{ cpu, wall float64 }

// rarely makes the garbage collector run once for some thousand operations: more often it would strike turns by chance, and
// noise of that kind is larger than what is looked for. What a contender allocates is stated apart. It returns how to undo it.
func rarely() func() {
	before := debug.SetGCPercent(1600)
	return func() { debug.SetGCPercent(before) }
}

// company keeps some requests in flight, as an application has them. The Go runtime makes the stacks of new goroutines as deep as
// those that it saw at its last collection: without company a contender that starts goroutines would pay for their growth each
// time, which it need not where others are at work. It returns what ends them.
func company() (release func(), err error) {
	const requests = 16
	transport, regions := newInstant(3)
	end, arrived := make(chan struct{}), make(chan struct{}, requests)
	a, err := instantApp(plain, transport, regions)
	if err != nil {
		return nil, err
	}
	if err := a.read(context.Background(), "a", "1"); err != nil { // it knows the account from here on
		return nil, err
	}
	transport.arrive = func() {
		arrived <- struct{}{}
		<-end
	}
	var all sync.WaitGroup
	for range requests {
		all.Go(func() { _ = a.read(context.Background(), "a", "1") }) // what becomes of it is of no interest
	}
	for range requests {
		<-arrived
	}
	runtime.GC()
	return func() {
		close(end)
		all.Wait()
		a.close()
	}, nil
}

// interleave lets all runners work in turn, round after round, in one process, and returns the samples by runner and round.
// Within a round the order is there and back again, so that none of them profits from what the one before it left behind, and
// what else goes on on the machine falls on all alike.
func interleave(runners []runner, rounds, n int) ([][]sample, error) {
	release, err := company()
	if err != nil {
		return nil, err
	}
	defer release()
	defer rarely()()
	samples := make([][]sample, len(runners))
	for _, r := range runners { // pools and caches fill
		if err := r.run(n); err != nil {
			return nil, err
		}
	}
	for range rounds {
		round := make([]sample, len(runners))
		for step := range 2 * len(runners) {
			i := min(step, 2*len(runners)-1-step)
			s, err := timed(runners[i], n)
			if err != nil {
				return nil, err
			}
			round[i].cpu += s.cpu / float64(2*n)
			round[i].wall += s.wall / float64(2*n)
		}
		for i := range runners {
			samples[i] = append(samples[i], round[i])
		}
	}
	return samples, nil
}

// timed is one turn of a runner, in nanoseconds for all of its work.
func timed(r runner, n int) (sample, error) {
	cpu, begin := cpuTime(), time.Now()
	err := r.run(n)
	return sample{float64(cpuTime() - cpu), float64(time.Since(begin))}, err
}

func cpuOf(samples []sample) []float64 {
	list := make([]float64, len(samples))
	for i, s := range samples {
		list[i] = s.cpu
	}
	return list
}

func wallOf(samples []sample) []float64 {
	list := make([]float64, len(samples))
	for i, s := range samples {
		list[i] = s.wall
	}
	return list
}

// allocations are what one piece of a runner's work allocates: the least of some tries, for what others allocate in the
// background can only add to it.
func allocations(r runner) (objects, bytes float64, err error) {
	const tries, n = 5, 200
	for i := range tries {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := r.run(n); err != nil {
			return 0, 0, err
		}
		runtime.ReadMemStats(&after)
		o, b := float64((after.Mallocs-before.Mallocs)/n), float64((after.TotalAlloc-before.TotalAlloc)/n)
		if i == 0 || o < objects || o == objects && b < bytes {
			objects, bytes = o, b
		}
	}
	return objects, bytes, nil
}
