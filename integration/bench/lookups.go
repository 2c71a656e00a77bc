package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
)

// lookup is one decision of the middleware by itself, and the most that it may cost of a ReadItem of plain azcosmos.
type lookup struct {
	name  string
	limit float64
	do    func() error
}

// share is what a lookup was found to cost.
type share struct {
	lookup
	of, ns, objects float64
}

var version2 = partition.Definition{Version: 2, Paths: 1}

// lookups are the decisions with a promise. records are the sizes of the breaker; 0 is not one.
func lookups(records []int) ([]lookup, error) {
	now := time.Now()
	healthy := breaker.NewStore(breaker.Options{})
	list := []lookup{{"breaker, nothing unwell: question and outcome", 0.001, func() error {
		if !healthy.Empty() {
			return errWrong
		}
		healthy.Record(breaker.Key{Container: 1, Range: 1}, 0, false, breaker.Success, now)
		return nil
	}}}
	for _, n := range records {
		if n > 0 {
			list = append(list, tripped(n, now))
		}
	}
	list = append(list, lookup{"EPK of a short string key", 0.02, func() error {
		_, _, _, err := partition.FromHeader(version2, `["pk1"]`)
		return err
	}})
	find, err := rangeLookup(10_000)
	return append(list, find), err
}

var errWrong = errors.New("a lookup gave a wrong answer")

// tripped looks up opened partitions at random.
func tripped(n int, now time.Time) lookup {
	store := breaker.NewStore(lasting)
	for i := range n {
		store.Record(breaker.Key{Container: 1, Range: uint64(i)}, 0, false, breaker.Failure, now)
	}
	random := rand.New(rand.NewPCG(3, 4))
	limit := 0.01
	if n > 10_000 {
		limit = 0.025
	}
	return lookup{"breaker, " + grouped(n) + " records: question", limit, func() error {
		if store.Route(breaker.Key{Container: 1, Range: random.Uint64N(uint64(n))}, false, now).Count != 1 {
			return errWrong
		}
		return nil
	}}
}

// rangeLookup finds keys in a container of n ranges of equal size.
func rangeLookup(n int) (lookup, error) {
	ranges := make([]partition.Range, n)
	var err error
	for i := range ranges {
		ranges[i].ID = strconv.Itoa(i)
		if ranges[i].Min, err = bound(i, n); err == nil {
			ranges[i].Max, err = bound(i+1, n)
		}
		if err != nil {
			return lookup{}, err
		}
	}
	m, err := partition.NewMap("rid", version2, ranges)
	if err != nil {
		return lookup{}, err
	}
	epks := make([]partition.EPK, 4096)
	for i := range epks {
		if epks[i], _, _, err = partition.FromHeader(version2, `["`+partitionName(i)+`"]`); err != nil {
			return lookup{}, err
		}
	}
	at := 0
	return lookup{"range lookup among " + grouped(n), 0.01, func() error {
		at++
		if _, ok := m.Find(epks[at%len(epks)]); !ok {
			return errWrong
		}
		return nil
	}}, nil
}

// bound is where the i-th of n ranges begins.
func bound(i, n int) (partition.EPK, error) {
	switch i {
	case 0:
		return partition.ParseEPK("")
	case n:
		return partition.ParseEPK("FF")
	}
	return partition.ParseEPK(fmt.Sprintf("%016X%016X", uint64(i)*(1<<62/uint64(n)), 0))
}

// measureLookups sets the lookups beside plain azcosmos's ReadItem, in turn.
func measureLookups(e effort) ([]share, error) {
	const many = 100 // lookups for each read: a turn of theirs must be long enough to be timed
	list, err := lookups(e.records)
	if err != nil {
		return nil, err
	}
	transport, regions := newInstant(3)
	a, err := instantApp(plain, transport, regions)
	if err != nil {
		return nil, err
	}
	defer a.close()
	runners := []runner{operationOf(plain.name, "ReadItem", a)}
	for _, l := range list {
		work := repeat(l.do)
		runners = append(runners, runner{l.name, func(n int) error { return work(many * n) }})
	}
	samples, err := interleave(runners, plan{max(e.rounds/3, 1), 2, true})
	if err != nil {
		return nil, err
	}
	shares := make([]share, len(list))
	for i, l := range list {
		own := cpuOf(samples[i+1])
		objects, _, err := allocations(runners[i+1])
		if err != nil {
			return nil, err
		}
		shares[i] = share{l, median(ratios(own, cpuOf(samples[0]))) / many, median(own) / many, objects / many}
	}
	return shares, nil
}

// lookupTable shows them.
func lookupTable(shares []share) *table {
	t := &table{
		title:   "Decisions of the middleware, as shares of a ReadItem",
		how:     "Each decision by itself, in turn with ReadItem of plain azcosmos over a transport in memory: median of the ratios of CPU time within a round. The shares on one processor.",
		columns: []string{"decision", "of a ReadItem", "at most", "allocs", "CPU ns"},
	}
	for _, s := range shares {
		t.add(s.name, percent(s.of), percent(s.limit), whole(s.objects), fmt.Sprintf("%.1f", s.ns))
	}
	return t
}
