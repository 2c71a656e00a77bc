package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// track draws one side: how long its requests took, who answered them, and who was asked.
func (c *chart) track(t *track) {
	c.y += 10
	name := t.side
	if name == plain {
		name = "plain azcosmos"
	}
	c.heading(name)
	height := 150.0
	if c.narrow {
		height = 120
	}
	c.latency(t, height)
	c.y += height + 10
	c.label("answered by", 24)
	c.band(t, 24, func(b bin) (parts []int, rest int) {
		return b.answered, b.verdicts[lost] + b.verdicts[unknown] + b.verdicts[hopeless]
	})
	c.y += 30
	c.label("attempts at", 14)
	c.band(t, 14, func(b bin) (parts []int, rest int) { return b.asked, 0 })
	c.y += 20
}

// latency is the plot of the times on a logarithmic scale.
func (c *chart) latency(t *track, height float64) {
	at := func(d time.Duration) float64 {
		l := math.Log10(max(d, time.Microsecond).Seconds())
		return c.y + height*(c.most-min(max(l, c.least), c.most))/(c.most-c.least)
	}
	for decade := c.least; decade <= c.most; decade++ {
		d := time.Duration(math.Round(math.Pow(10, decade) * 1e9))
		c.line("grid", c.left, at(d), c.right, at(d))
		c.text("tick end", decadeName(d), c.left-8, at(d)+4)
	}
	deadline := at(c.cast.timeout)
	c.line("deadline", c.left, deadline, c.right, deadline)
	c.text("tick end", "deadline", c.right-2, deadline-4)
	for from := 0; from < len(t.bins); from++ {
		to := from
		for to < len(t.bins) && len(t.bins[to].times) > 0 {
			to++
		}
		if to > from {
			c.curve(t.bins, from, to, at)
		}
		from = max(from, to)
	}
}

// curve draws the bins of a stretch that has requests in each.
func (c *chart) curve(bins []bin, from, to int, at func(time.Duration) float64) {
	var upper, lower []string
	for i := from; i < to; i++ {
		times := slices.Sorted(slices.Values(bins[i].times))
		x1, x2 := c.x(time.Duration(i)*c.bin), c.x(time.Duration(i+1)*c.bin)
		step := func(p int) string {
			y := num(at(percentile(times, p)))
			return num(x1) + " " + y + "L" + num(x2) + " " + y
		}
		upper, lower = append(upper, step(99)), append(lower, step(50))
	}
	back := slices.Clone(lower)
	slices.Reverse(back)
	for i, s := range back {
		a, b, _ := strings.Cut(s, "L")
		back[i] = b + "L" + a
	}
	c.tag("path", "", "", "class", "spread", "d", "M"+strings.Join(append(slices.Clone(upper), back...), "L")+"z")
	c.tag("path", "", "", "class", "p99", "d", "M"+strings.Join(upper, "L"))
	c.tag("path", "", "", "class", "p50", "d", "M"+strings.Join(lower, "L"))
}

// decadeName is a power of ten of a second.
func decadeName(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%g ms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%g µs", float64(d)/1e3)
	}
}

// band shows, bin by bin, which part of something each region had; what is left is of requests that failed.
func (c *chart) band(t *track, height float64, share func(bin) (parts []int, rest int)) {
	n := len(c.cast.regions)
	paths := make([]strings.Builder, n+2)
	leaders := make([]int, len(t.bins))
	for i, b := range t.bins {
		parts, rest := share(b)
		all := append(slices.Clone(parts), rest)
		total := 0
		for _, k := range all {
			total += k
		}
		leaders[i] = -1
		y := c.y
		for r, k := range all {
			if k == 0 {
				continue
			}
			h := height * float64(k) / float64(total)
			x1, x2 := c.x(time.Duration(i)*c.bin), c.x(time.Duration(i+1)*c.bin)
			fmt.Fprintf(&paths[r], "M%s %sH%sV%sH%sz", num(x1), num(y), num(x2), num(y+h), num(x1))
			y += h
			if 10*k >= 6*total {
				leaders[i] = r
			}
		}
	}
	for r := range paths {
		if d := paths[r].String(); d != "" {
			fill := look(r, n)
			if r == n+1 {
				fill = "failed"
			}
			c.tag("path", c.share(r), "", "class", "share", "d", d, "fill", "url(#"+c.id+fill+")")
		}
	}
	c.names(leaders, height)
}

// share is what a part of a band is called.
func (c *chart) share(r int) string {
	switch n := len(c.cast.regions); {
	case r < n:
		return c.cast.regions[r]
	case r == n:
		return "another host"
	default:
		return "failed"
	}
}

// names writes on a band who has most of it, where there is room.
func (c *chart) names(leaders []int, height float64) {
	for from := 0; from < len(leaders); {
		to := from + 1
		for to < len(leaders) && leaders[to] == leaders[from] {
			to++
		}
		if leaders[from] >= 0 {
			x1, x2 := c.x(time.Duration(from)*c.bin), c.x(time.Duration(to)*c.bin)
			name := c.share(leaders[from])
			if textWidth(name)+14 < x2-x1 {
				c.text("on middle", name, (x1+x2)/2, c.y+height/2+4)
			}
		}
		from = to
	}
}

// lane is a row of decisions of the same sort.
type lane struct {
	name  string
	shape string // a path around the origin, so that the lanes can be told apart without their colour
	kinds []telemetry.Kind
}

// lanesOf are the rows of decisions, from what is about the account to what is about one request.
var lanesOf = []lane{
	{"topology", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", []telemetry.Kind{telemetry.KindTopology, telemetry.KindRefresh, telemetry.KindRanges}},
	{"endpoint health", "M-2-5h4v3h3v4h-3v3h-4v-3h-3v-4h3z", []telemetry.Kind{telemetry.KindHealth}},
	{"breaker", "M0-6L6 0L0 6L-6 0z", []telemetry.Kind{telemetry.KindBreaker, telemetry.KindProbe}},
	{"failover", "M-5-5h10v10h-10z", []telemetry.Kind{telemetry.KindOverride}},
	{"hedges", "M-5-5L6 0L-5 5z", []telemetry.Kind{telemetry.KindHedgeStarted, telemetry.KindHedgeWon, telemetry.KindHedgeWithheld}},
	{"next region", "M-6-4l4 0v-2l8 6l-8 6v-2h-4z", []telemetry.Kind{telemetry.KindRetry}},
	{"fallback", "M0-6L6 5H-6z", []telemetry.Kind{telemetry.KindFallback}},
	{"other", "M-5-2h10v4h-10z", nil},
}

// laneOf is the place of a kind's lane; the last one takes what has none.
func laneOf(k telemetry.Kind) int {
	at := slices.IndexFunc(lanesOf, func(l lane) bool { return slices.Contains(l.kinds, k) })
	if at < 0 {
		return len(lanesOf) - 1
	}
	return at
}

// lanes draws the decisions of our side: a mark for the first of those told as one, and a bar until the last.
func (c *chart) lanes(told []decided) {
	const height = 16.0
	for i, l := range lanesOf {
		of := slices.DeleteFunc(slices.Clone(told), func(d decided) bool { return laneOf(d.Kind) != i || d.from > c.end })
		if len(of) == 0 {
			continue
		}
		c.label(l.name, height)
		middle := c.y + height/2
		c.line("grid", c.left, middle, c.right, middle)
		for _, d := range of {
			if from, to := c.x(d.from), c.x(d.to); to-from > 3 {
				c.rect("lasting", "", from, middle-1.5, to-from, 3)
			}
		}
		last := math.Inf(-1)
		for _, d := range of {
			x := c.x(d.from)
			if x-last < 2 { // one mark for what cannot be told apart; the list has all
				continue
			}
			last = x
			c.tag("path", moment(d.from)+": "+d.Text, "", "class", "decision", "d", l.shape,
				"transform", "translate("+num(x)+" "+num(middle)+")")
		}
		c.y += height + 3
	}
}

// seconds is the time axis.
func (c *chart) seconds() {
	c.y += 4
	step := time.Second
	for _, s := range []time.Duration{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600} {
		step = s * time.Second
		if float64(c.end/step) <= (c.right-c.left)/44 {
			break
		}
	}
	c.line("grid", c.left, c.y, c.right, c.y)
	for t := time.Duration(0); t <= c.end; t += step {
		x := c.x(t)
		c.line("grid", x, c.y, x, c.y+4)
		anchor := "tick middle"
		if x > c.right-14 {
			anchor = "tick end"
		}
		c.text(anchor, fmt.Sprintf("%g s", t.Seconds()), x, c.y+16)
	}
	c.y += 20
}
