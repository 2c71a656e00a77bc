package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// load is how many requests come how fast: each when its time has come, whatever becomes of those before it.
type load struct {
	span time.Duration
	rate int // a second
}

// call is what became of one request. Times count from the fault.
type call struct {
	concerned  bool // it is about what the fault is about
	start, end time.Duration
	err        error
}

// script says which key each request is about. The first one is concerned by the fault, so that the time to the first success
// begins with it.
func script(n int, sick, well []int) []int {
	random := rand.New(rand.NewPCG(5, 6))
	keys := slices.Concat(sick, well)
	list := make([]int, n)
	for i := range list {
		list[i] = keys[random.IntN(len(keys))]
	}
	if n > 0 {
		list[0] = sick[0]
	}
	return list
}

// play runs a scenario for a contender, and tells what became of the requests and how many reached for a region beyond one each.
func play(st *stage, sc scenario, c contender, l load) (calls []call, extra int, err error) {
	if sc.cold {
		sc.strike(st)
	}
	a, err := c.build(st.setting())
	if err != nil {
		return nil, 0, fmt.Errorf("%s, %s: %w", sc.name, c.name, err)
	}
	defer a.close()
	if !sc.cold {
		// Where an application's client is: it knows the account, and has connections to the region that it uses.
		if err := errors.Join(st.request(a, sc, st.well[0]), st.request(a, sc, st.sick[0])); err != nil {
			return nil, 0, fmt.Errorf("%s, %s: before the fault: %w", sc.name, c.name, err)
		}
		sc.strike(st)
	}
	before := st.tap.items.Load()
	calls = st.send(a, sc, l)
	return calls, int(st.tap.items.Load()-before) - len(calls), nil
}

// send sends the load and returns when the last request has ended.
func (st *stage) send(a *app, sc scenario, l load) []call {
	n := int(l.span.Seconds() * float64(l.rate))
	calls := make([]call, n)
	begun := time.Now()
	var flying sync.WaitGroup
	defer flying.Wait()
	if sc.move != nil {
		moved := time.AfterFunc(sc.after, func() { sc.move(st) })
		defer moved.Stop()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, key := range script(n, st.sick, st.well) {
		// Half a step after the service's move at the earliest: which of two things of the same instant is first is chance.
		at := time.Duration(i) * time.Second / time.Duration(l.rate)
		if sc.move != nil {
			at += time.Second / time.Duration(2*l.rate)
		}
		timer.Reset(at - time.Since(begun))
		<-timer.C
		calls[i].concerned = !sc.sick || slices.Contains(st.sick, key)
		flying.Go(func() {
			calls[i].start = time.Since(begun)
			calls[i].err = st.request(a, sc, key)
			calls[i].end = time.Since(begun)
		})
	}
	return calls
}

// request is one request of the load.
func (st *stage) request(a *app, sc scenario, key int) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	pk := partitionName(key)
	if sc.write {
		return a.upsert(ctx, pk, itemOf(pk, "1"))
	}
	return a.read(ctx, pk, "1")
}

// outcome is a row of the fourth table.
type outcome struct {
	contender      string
	requests       int
	failed, lost   int           // lost: though a healthy region could have served it
	first          time.Duration // to the first success; -1: none
	p50, p99, p999 time.Duration
	extra          int
	firstError     error // of those lost
}

// tally sums a scenario up for one contender. Every scenario leaves a healthy region, that any read can go to and that takes the
// writes once the service has moved: so every request that failed is lost, but for those that began before the move.
func tally(sc scenario, c contender, calls []call, extra int) outcome {
	o := outcome{contender: c.name, requests: len(calls), extra: extra, first: -1}
	durations := make([]time.Duration, 0, len(calls))
	origin, success := time.Duration(-1), time.Duration(-1)
	for _, call := range calls {
		durations = append(durations, call.end-call.start)
		servable := call.start >= sc.after
		if call.err != nil {
			o.failed++
			if servable {
				o.lost++
				if o.firstError == nil {
					o.firstError = call.err
				}
			}
		}
		if !servable || !call.concerned {
			continue
		}
		if origin < 0 {
			origin = call.start
		}
		if call.err == nil && (success < 0 || call.end < success) {
			success = call.end
		}
	}
	if success >= 0 {
		o.first = success - origin
	}
	slices.Sort(durations)
	o.p50, o.p99, o.p999 = percentile(durations, 0.5), percentile(durations, 0.99), percentile(durations, 0.999)
	return o
}
