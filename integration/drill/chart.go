package main

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"time"
)

// chart draws an album at one width. What is drawn is placed from top to bottom: y is where the next row begins.
type chart struct {
	svg
	*album
	events *chronicle
	id     string // prefix of the ids
	width  float64
	left   float64 // where time begins
	right  float64 // where it ends
	narrow bool    // labels are above their rows, not beside them
	y      float64
	least  float64 // of the latency axis: logarithms of seconds
	most   float64
}

// layout is a width that the page has room for, from some width of the window on.
type layout struct {
	name  string
	width float64
	left  float64
}

// layouts are what a telephone, a half window and a screen show: text that is drawn has the size it is read at.
var layouts = []layout{{"narrow", 330, 48}, {"medium", 680, 112}, {"wide", 1160, 124}}

// chart draws the picture for one layout.
func (d *drill) chart(l layout, told []decided) template.HTML {
	c := &chart{
		album: d.album, events: &d.events, id: l.name + "-", width: l.width, left: l.left, right: l.width - 6,
		narrow: l.name == "narrow",
	}
	c.axis()
	c.legend()
	top := c.y
	c.header()
	c.account()
	for _, t := range c.tracks {
		c.track(t)
		if t.side == ours {
			c.lanes(told)
		}
	}
	c.seconds()
	body := c.b.String()
	c.b.Reset()
	c.open("svg", "class", l.name, "viewBox", "0 0 "+num(c.width)+" "+num(c.y), "width", c.width, "height", c.y,
		"role", "img", "aria-labelledby", c.id+"title "+c.id+"desc")
	c.tag("title", "", "Latency, regions, faults and decisions over time", "id", c.id+"title")
	c.tag("desc", "", d.summary(), "id", c.id+"desc")
	c.patterns(c.id)
	c.backdrop(top)
	c.b.WriteString(body)
	c.close("svg")
	return template.HTML(c.b.String()) //nolint:gosec // every text in it was escaped by svg
}

// x is where a time is.
func (c *chart) x(t time.Duration) float64 {
	t = min(max(t, 0), c.end)
	return c.left + (c.right-c.left)*float64(t)/float64(max(c.end, 1))
}

// label names the row that is to be drawn next, whose height is given.
func (c *chart) label(text string, height float64) {
	if c.narrow {
		c.text("label", text, 0, c.y+9)
		c.y += 13
		return
	}
	c.text("label end", text, c.left-8, c.y+height/2+4)
}

// legend says what looks like what.
func (c *chart) legend() {
	x, y := 0.0, 12.0
	key := func(name string, mark func(x, y float64)) {
		wide := 24 + textWidth(name)
		if x > 0 && x+wide > c.width {
			x, y = 0, y+20
		}
		mark(x, y)
		c.text("", name, x+20, y)
		x += wide + 14
	}
	swatch := func(fill string) func(x, y float64) {
		return func(x, y float64) { c.rect("swatch", "", x, y-10, 14, 12, "fill", "url(#"+c.id+fill+")") }
	}
	for i, region := range c.cast.regions {
		key(region, swatch(look(i, len(c.cast.regions))))
	}
	if c.others() {
		key("another host", swatch("rx"))
	}
	key("failed", swatch("failed"))
	key("fault", swatch("fault"))
	key("half of the requests (p50)", func(x, y float64) { c.line("p50", x, y-4, x+15, y-4) })
	key("slowest of a hundred (p99)", func(x, y float64) {
		c.rect("spread", "", x, y-4, 15, 6)
		c.line("p99", x, y-5, x+15, y-5)
	})
	c.y = y + 16
}

// others reports whether a host was asked that is none of the account's regions.
func (c *chart) others() bool {
	n := len(c.cast.regions)
	for _, t := range c.tracks {
		for _, b := range t.bins {
			if b.asked[n]+b.answered[n] > 0 {
				return true
			}
		}
	}
	return false
}

// header names the phases: by number where there is no room for more.
func (c *chart) header() {
	for i, p := range c.phases {
		x, room := c.x(p.from), c.x(p.to)-c.x(p.from)
		number := strconv.Itoa(i + 1)
		c.tag("circle", p.name, "", "class", "number", "cx", x+11, "cy", c.y+10, "r", 8.0)
		c.text("digit", number, x+11, c.y+14)
		for _, name := range []string{p.name, p.deed()} {
			if textWidth(name)*1.08+28 < room {
				c.text("strong", name, x+24, c.y+14)
				break
			}
		}
	}
	c.y += 26
}

// backdrop is behind everything from some height on: phases and faults.
func (c *chart) backdrop(top float64) {
	for i, p := range c.phases {
		class := "phase"
		if i%2 == 1 {
			class = "phase odd"
		}
		c.rect(class, "", c.x(p.from), top, c.x(p.to)-c.x(p.from), c.y-top-20)
	}
	for _, s := range c.events.lost {
		c.rect("lost", "", c.x(s.from), top+24, c.x(s.to)-c.x(s.from), c.y-top-44)
	}
}

// account shows what was done to the regions, and which one took writes.
func (c *chart) account() {
	const height = 16.0
	c.heading("The account")
	for i, region := range c.cast.regions {
		c.label(region, height)
		c.rect("region "+look(i, len(c.cast.regions)), "", c.left, c.y+5, c.right-c.left, height-10)
		if !c.cast.multiWrite && c.cast.direct == nil {
			for _, s := range c.events.primary {
				c.stay(s, region, height, "primary "+look(i, len(c.cast.regions)), "", "write region", "writes")
			}
		}
		for _, s := range c.events.lost {
			c.stay(s, region, height, "fault", "fault", c.fault(s))
		}
		c.y += height + 5
	}
}

// stay is a stretch of time of one region, with the first of its names that there is room for.
func (c *chart) stay(s stay, region string, height float64, class, fill string, names ...string) {
	from, to := c.x(s.from), c.x(s.to)
	if s.region != region || to-from < 0.5 {
		return
	}
	var more []any
	if fill != "" {
		more = []any{"fill", "url(#" + c.id + fill + ")"}
	}
	c.rect(class, fmt.Sprintf("%s: %s from %s", region, names[0], moment(s.from)), from, c.y, to-from, height, more...)
	for _, name := range names {
		if textWidth(name)+8 < to-from {
			c.text("on middle", name, (from+to)/2, c.y+height/2+4)
			return
		}
	}
}

// fault is what a lost region did meanwhile.
func (c *chart) fault(s stay) string {
	for _, p := range c.phases {
		if p.fault != nil && p.from <= s.from && s.from < p.to {
			return p.deed()
		}
	}
	return "lost"
}

// heading begins a block of rows.
func (c *chart) heading(text string) {
	x := 0.0
	if !c.narrow {
		x = c.left
		c.text("block end", text, x-8, c.y+14)
	} else {
		c.text("block", text, x, c.y+14)
	}
	c.y += 22
}

// axis finds out what the latency axis has to show.
func (c *chart) axis() {
	least, most := c.cast.timeout, time.Millisecond
	for _, t := range c.tracks {
		for _, b := range t.bins {
			for _, d := range b.times {
				least, most = min(least, d), max(most, d)
			}
		}
	}
	c.least = math.Floor(math.Log10(max(least, 10*time.Microsecond).Seconds()))
	c.most = math.Log10(max(most, c.cast.timeout).Seconds()) + 0.15
}

// moment is a time since the run began.
func moment(t time.Duration) string { return fmt.Sprintf("%.1f s", max(t, 0).Seconds()) }
