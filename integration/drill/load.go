package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// request is one request of the load: a read of an item, or a write of one that is written once.
type request struct {
	at    time.Duration // since the phase began
	write bool
	id    string
}

// script is the load of one phase, the same for both sides: at a fixed rate, drawn from the seed.
func script(s settings, phase int) []request {
	random := rand.New(rand.NewPCG(s.seed, uint64(phase)))
	n := int(s.phase.Seconds() * float64(s.rate))
	list := make([]request, max(n, 1))
	for i := range list {
		r := request{at: time.Duration(i) * time.Second / time.Duration(s.rate), id: itemID(random.IntN(items))}
		if random.Float64() >= s.reads {
			r.write, r.id = true, fmt.Sprintf("%d-%d", phase, i)
		}
		list[i] = r
	}
	return list
}

// recorder collects what becomes of the requests of one side in one phase.
type recorder struct {
	mu         sync.Mutex // guards all below
	sent       int
	failed     int
	operations []operation
}

// play sends the requests, each when its time has come, whatever becomes of those before it, and returns when the last one has
// ended. When ctx ends no more are sent, and those in flight are cancelled and not recorded.
func (rec *recorder) play(ctx context.Context, requests []request, do func(context.Context, request) operation) {
	var flying sync.WaitGroup
	defer flying.Wait()
	begun := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, r := range requests {
		timer.Reset(r.at - time.Since(begun))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		rec.send()
		flying.Go(func() {
			o := do(ctx, r)
			if ctx.Err() == nil {
				rec.record(o)
			}
		})
	}
}

func (rec *recorder) send() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.sent++
}

func (rec *recorder) record(o operation) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.operations = append(rec.operations, o)
	if o.err != nil {
		rec.failed++
	}
}

// counts are what the live line shows.
func (rec *recorder) counts() (ok, failed, open int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	ended := len(rec.operations)
	return ended - rec.failed, rec.failed, rec.sent - ended
}
