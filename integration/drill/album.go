package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// A picture divides the run into stretches of time: into some 150 at most, and so that each side has about ten requests in each.
const (
	maxBins   = 150
	minPerBin = 10
)

// album collects during a run what its picture shows. A nil one collects nothing; its methods may be called on it.
type album struct {
	cast      *cast
	bin       time.Duration // width of a bin
	end       time.Duration // of the last phase so far
	phases    []stretch
	tracks    []*track
	decisions map[*policy.Middleware][]telemetry.DecisionState // the last that were heard of each client
}

// stretch is a phase as it was played.
type stretch struct {
	phase
	span
}

// deed is the phase's name without the region.
func (s stretch) deed() string {
	if s.fault == nil {
		return s.name
	}
	return strings.TrimPrefix(s.name, s.fault.region+" ")
}

// track is the requests of one side, by the bin in which they began.
type track struct {
	side string
	bins []bin
	all  []time.Duration // of all requests, unsorted
}

// bin is what became of the requests of a stretch of time.
type bin struct {
	times    []time.Duration
	asked    []int // attempts by region, in the account's order; the last is of hosts that are none of its
	answered []int // requests by the region that answered; the last is of what was served without our seeing by whom
	verdicts [hopeless + 1]int
}

func newAlbum(c *cast) *album {
	total := c.phase * time.Duration(len(c.phases()))
	width := max(total/maxBins, minPerBin*time.Second/time.Duration(c.rate))
	return &album{cast: c, bin: roundWidth(width), decisions: map[*policy.Middleware][]telemetry.DecisionState{}}
}

// roundWidth is the next duration of 1, 2 or 5 times a power of ten, 20 ms at least.
func roundWidth(d time.Duration) time.Duration {
	for unit := 10 * time.Millisecond; ; unit *= 10 {
		for _, n := range []time.Duration{2, 5, 10} {
			if d <= n*unit {
				return n * unit
			}
		}
	}
}

// phase takes in a phase that has been played.
func (a *album) phase(p phase, from, to time.Duration) {
	if a == nil {
		return
	}
	a.phases = append(a.phases, stretch{p, span{from, to}})
	a.end = to
}

// add takes in the requests of one side in one phase, and what its middleware has decided so far.
func (a *album) add(c *chronicle, s *side, operations []operation) {
	if a == nil {
		return
	}
	t := a.track(s.name)
	for _, o := range operations {
		a.put(t, o, c.judge(o))
	}
	if s.ha != nil {
		a.decisions[s.ha] = s.ha.State().Decisions
	}
}

func (a *album) track(side string) *track {
	at := slices.IndexFunc(a.tracks, func(t *track) bool { return t.side == side })
	if at < 0 {
		a.tracks = append(a.tracks, &track{side: side})
		at = len(a.tracks) - 1
	}
	return a.tracks[at]
}

func (a *album) put(t *track, o operation, v verdict) {
	i := int(o.start / a.bin)
	for len(t.bins) <= i {
		n := len(a.cast.regions) + 1
		t.bins = append(t.bins, bin{asked: make([]int, n), answered: make([]int, n)})
	}
	b := &t.bins[i]
	b.times = append(b.times, o.end-o.start)
	t.all = append(t.all, o.end-o.start)
	b.verdicts[v]++
	for _, region := range o.contacted {
		b.asked[a.region(region)]++
	}
	if v == served {
		b.answered[a.region(o.answered)]++
	}
}

// region is a region's place in the account, or the one after the last.
func (a *album) region(name string) int {
	if at := slices.Index(a.cast.regions, name); at >= 0 {
		return at
	}
	return len(a.cast.regions)
}

// decided is a decision with its times since the run began.
type decided struct {
	telemetry.DecisionState
	span
}

// told are all decisions, by when they were taken first.
func (a *album) told(begun time.Time) []decided {
	var list []decided
	for _, states := range a.decisions {
		for _, s := range states {
			list = append(list, decided{s, span{s.Since.Sub(begun), s.At.Sub(begun)}})
		}
	}
	slices.SortStableFunc(list, func(x, y decided) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.Text, y.Text))
	})
	return list
}

// draw writes the picture, if one is wanted and anything has been played.
func (d *drill) draw() error {
	if d.album == nil || len(d.album.phases) == 0 {
		return nil
	}
	page, err := d.page()
	if err == nil {
		err = os.WriteFile(d.picture, page, 0o644)
	}
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	return nil
}
