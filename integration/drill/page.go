package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// maxListed is how many decisions the page lists.
const maxListed = 100

// page is what the template shows.
type page struct {
	Policy    string // of the contents: nothing but the style, which is known by its hash
	Style     template.CSS
	Title     string
	About     []string
	Cards     []card
	Charts    []template.HTML
	Phases    []string
	Decisions []line
	More      int // decisions that are not listed
	Rows      []cells
	Errors    []mishap
	Broken    bool
}

// card is what became of a side.
type card struct {
	Side, Lost, Of, Rest string
	Good                 bool
}

// mishap is an error of lost requests.
type mishap struct {
	Text  string
	Times int
}

// line is a decision.
type line struct{ When, Lane, Text, Count string }

// cells are a row of the table.
type cells struct {
	Phase, Side, Requests, Failed, Lost, Unknown, P50, P99, Max, Regions string
	Bad                                                                  bool
}

// page makes the HTML page.
func (d *drill) page() ([]byte, error) {
	told := d.album.told(d.begun)
	sum := sha256.Sum256([]byte(pageCSS))
	p := page{
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(pageCSS), //nolint:gosec // a file of this package
		Title:  d.title(), About: strings.Split(strings.TrimSpace(d.describe()), "\n"),
		Broken: d.report.broken,
	}
	for _, l := range layouts {
		p.Charts = append(p.Charts, d.chart(l, told))
	}
	for _, t := range d.album.tracks {
		p.Cards = append(p.Cards, d.card(t))
		p.Errors = append(p.Errors, d.causes(t.side)...)
	}
	for _, s := range d.album.phases {
		p.Phases = append(p.Phases, fmt.Sprintf("%s, from %s to %s", s.name, moment(s.from), moment(s.to)))
	}
	for i, t := range told {
		if i == maxListed {
			p.More = len(told) - i
			break
		}
		p.Decisions = append(p.Decisions, listed(t))
	}
	for _, r := range d.report.rows {
		p.Rows = append(p.Rows, tabled(r))
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, p)
	return b.Bytes(), err
}

// title is the finding.
func (d *drill) title() string {
	words := make([]string, 0, 2)
	for _, t := range d.album.tracks {
		words = append(words, fmt.Sprintf("%s lost %d of %d requests", called(t.side), d.report.of(t.side).lost, d.report.of(t.side).requests))
	}
	return strings.Join(words, ", ")
}

// called is a side's name in a sentence.
func called(side string) string {
	if side == plain {
		return "plain azcosmos"
	}
	return side
}

func (d *drill) card(t *track) card {
	total := d.report.of(t.side)
	times := slices.Sorted(slices.Values(t.all))
	rest := fmt.Sprintf("%d failed in all, %d of them unknown. Half took up to %s, 99 of 100 up to %s, the slowest %s.",
		total.failed, total.unknown, short(percentile(times, 50)), short(percentile(times, 99)), short(percentile(times, 100)))
	if n := d.report.twice(t.side); n > 0 {
		rest += fmt.Sprintf(" %d writes were carried out twice.", n)
	}
	return card{
		Side: called(t.side), Lost: fmt.Sprintf("%d lost", total.lost), Of: fmt.Sprintf("of %d requests", total.requests),
		Rest: rest, Good: total.lost == 0 && d.report.twice(t.side) == 0,
	}
}

// causes are the errors of the requests that a side has lost, a few of them.
func (d *drill) causes(side string) (list []mishap) {
	for i, c := range d.report.errors[side] {
		if i == 8 {
			return append(list, mishap{called(side) + ": and other errors", len(d.report.errors[side]) - i})
		}
		list = append(list, mishap{called(side) + ", " + c.text, c.n})
	}
	return list
}

func listed(t decided) line {
	l := line{When: moment(t.from), Lane: lanesOf[laneOf(t.Kind)].name, Text: t.Text}
	if t.Count > 1 {
		l.Count = fmt.Sprintf("%d times until %s", t.Count, moment(t.to))
	}
	return l
}

func tabled(r row) cells {
	return cells{
		Phase: r.phase, Side: called(r.side), Requests: strconv.Itoa(r.requests), Failed: strconv.Itoa(r.failed), Lost: strconv.Itoa(r.lost),
		Unknown: strconv.Itoa(r.unknown), P50: short(r.p50), P99: short(r.p99), Max: short(r.max), Regions: list(r.contacted), Bad: r.lost > 0,
	}
}

// summary tells the picture to who cannot see it.
func (d *drill) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Time runs from left to right over %s. Phases: ", moment(d.album.end))
	for i, s := range d.album.phases {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s.name)
	}
	b.WriteString(". ")
	for _, r := range d.report.rows {
		fmt.Fprintf(&b, "%s, %s: %d of %d requests lost, half took up to %s, attempts at %s. ",
			called(r.side), r.phase, r.lost, r.requests, short(r.p50), list(r.contacted))
	}
	b.WriteString("The tables below have the numbers and the decisions.")
	return b.String()
}
