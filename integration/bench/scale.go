package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
)

// readerOf reads the item "1" of random partitions out of n.
func readerOf(name string, a *app, n int) runner {
	random := rand.New(rand.NewPCG(1, 2))
	ctx := context.Background()
	return runner{name, repeat(func() error { return a.read(ctx, partitionName(random.IntN(n)), "1") })}
}

func partitionName(i int) string { return "p" + strconv.Itoa(i) }

// touch reads every one of n partitions once, on all processors.
func touch(a *app, n int) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(errs) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := a.read(context.Background(), partitionName(int(i)), "1"); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// scaled compares ours, hedging armed, to plain azcosmos: the ratio of CPU time for each of several sizes.
type scaled struct {
	label      string
	off, armed float64 // × plain
}

// compare measures one size. Each of the applications is handed to prepare first.
func compare(label string, e effort, regions []string, t *instant, b breaker.Options, partitions int, prepare func(*app) error) (scaled, error) {
	s := setting{endpoint: instantEndpoint, preferred: regions, transport: t, threshold: armed, breaker: b, direct: true}
	var runners []runner
	for _, c := range []contender{plain, oursOff, ours} {
		a, err := c.build(s)
		if err != nil {
			return scaled{}, err
		}
		defer a.close()
		if c.name != plain.name {
			err = prepare(a)
		}
		if err != nil {
			return scaled{}, fmt.Errorf("%s, %s: %w", label, c.name, err)
		}
		runners = append(runners, readerOf(c.name, a, partitions))
	}
	t.sick = ""
	samples, err := interleave(runners, plan{e.rounds, 1, true})
	if err != nil {
		return scaled{}, err
	}
	base := cpuOf(samples[0])
	return scaled{label, median(ratios(cpuOf(samples[1]), base)), median(ratios(cpuOf(samples[2]), base))}, nil
}

// scaleColumns are those of the second table.
var scaleColumns = []string{"what grows", "× plain, hedging off", "× plain, hedging armed"}

// scaleTable is the second table: what the cost depends on.
func scaleTable(e effort) (*table, error) {
	t := &table{
		title: "Cost of a ReadItem against the number of partitions, regions and breaker records",
		how: "As above in one sitting, without the collector, at random among the partitions; × plain: median of the ratios of CPU time within a round, plain azcosmos reading the same partitions. " +
			"With records, every read is of a partition whose first region the breaker has opened, and goes to the second one.",
		columns: scaleColumns,
	}
	add := func(s scaled, err error) error {
		if err == nil {
			t.add(s.label, times(s.off), times(s.armed))
		}
		return err
	}
	for _, n := range e.seen {
		transport, regions := newInstant(3)
		if err := add(compare("partitions seen: "+grouped(n), e, regions, transport, breaker.Options{}, n, func(a *app) error { return touch(a, n) })); err != nil {
			return nil, err
		}
	}
	for _, n := range []int{1, 3, 8, 32} {
		transport, regions := newInstant(n)
		if err := add(compare("regions: "+grouped(n), e, regions, transport, breaker.Options{}, 1000, func(*app) error { return nil })); err != nil {
			return nil, err
		}
	}
	for _, n := range e.records {
		transport, regions := newInstant(3)
		err := add(compare("breaker records: "+grouped(n), e, regions, transport, lasting, max(n, 1000), func(a *app) error {
			if n == 0 {
				return nil
			}
			transport.sick = regionHost(0)
			return touch(a, n)
		}))
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// lasting is a breaker that opens a region at once and for good.
var lasting = breaker.Options{ReadFailures: 1, OpenFor: 24 * time.Hour, MaxOpenFor: 24 * time.Hour}

// grouped writes 1000000 as "1,000,000".
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
