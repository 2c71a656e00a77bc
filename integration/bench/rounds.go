package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// plan says how runners take turns.
type plan struct {
	rounds  int
	perTurn int  // how often a runner does its work in one turn
	apart   bool // the collector runs between rounds only, outside of what is timed; else rarely
}

// garbage is what may pile up before the collector runs between two rounds.
const garbage = 64 << 20

// uncollected keeps the garbage collector out of turns, where it would strike by chance: that is more noise than what is looked
// for. What it costs a contender is measured by itself, see collector.go. between is to be called between rounds, undo at the end.
func uncollected() (between, undo func()) {
	before := debug.SetGCPercent(-1)
	runtime.GC()
	mark := allocated()
	return func() {
		if allocated()-mark >= garbage {
			runtime.GC()
			mark = allocated()
		}
	}, func() { debug.SetGCPercent(before) }
}

// rarely makes the garbage collector run once for some thousand operations. It returns how to undo it.
func rarely() (between, undo func()) {
	before := debug.SetGCPercent(1600)
	return func() {}, func() { debug.SetGCPercent(before) }
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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

// warmUp is how often each runner does its work before the first round: pools and caches fill.
const warmUp = 100

// interleave lets all runners work in turn, round after round, in one process, and returns the samples by runner and round.
// A round goes there and back again in an order of its own, so that what falls on the machine, and what one runner leaves
// behind, falls on all alike. What timing itself takes is taken off: the median turn of a runner that does nothing.
func interleave(runners []runner, p plan) ([][]sample, error) {
	release, err := company()
	if err != nil {
		return nil, err
	}
	defer release()
	for _, r := range runners {
		if err := r.run(max(p.perTurn, warmUp)); err != nil {
			return nil, err
		}
	}
	collect := rarely
	if p.apart {
		collect = uncollected
	}
	between, undo := collect()
	defer undo()
	random := rand.New(rand.NewPCG(9, 10))
	samples, idle := make([][]sample, len(runners)), make([]sample, 0, p.rounds)
	nothing := runner{"nothing", func(int) error { return nil }}
	for range p.rounds {
		between()
		s, _ := timed(nothing, p.perTurn)
		round, err := thereAndBack(runners, random.Perm(len(runners)), p.perTurn)
		if err != nil {
			return nil, err
		}
		idle = append(idle, s)
		for i := range runners {
			samples[i] = append(samples[i], round[i])
		}
	}
	empty := sample{median(cpuOf(idle)), median(wallOf(idle))}
	for _, list := range samples {
		for i, s := range list {
			list[i] = s.net(empty, p.perTurn)
		}
	}
	return samples, nil
}

// thereAndBack is a round: two turns of each runner, first in the order given and then in the reverse one. It returns what both
// turns of each took.
func thereAndBack(runners []runner, order []int, n int) ([]sample, error) {
	round := make([]sample, len(runners))
	for step := range 2 * len(order) {
		i := order[min(step, 2*len(order)-1-step)]
		s, err := timed(runners[i], n)
		if err != nil {
			return nil, err
		}
		round[i].cpu += s.cpu
		round[i].wall += s.wall
	}
	return round, nil
}

// net makes of two turns what one piece of work took, without what timing took.
func (s sample) net(empty sample, n int) sample {
	return sample{(s.cpu - 2*empty.cpu) / float64(2*n), (s.wall - 2*empty.wall) / float64(2*n)}
}

// timed is one turn of a runner, in nanoseconds for all of its work.
func timed(r runner, n int) (sample, error) {
	begin, cpu := time.Now(), cpuTime()
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
