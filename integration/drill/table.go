package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// report is what a run has found.
type report struct {
	broken   bool // the run did not come to its end
	rows     []row
	repeated []count            // writes carried out twice, by side; empty when nobody can tell
	errors   map[string][]cause // of lost requests, by side
}

// cause is an error of lost requests, and how many of them it was.
type cause struct {
	text string
	n    int
}

// add takes in a row, with the errors of its lost requests.
func (r *report) add(line row, errs []error) {
	r.rows = append(r.rows, line)
	if r.errors == nil {
		r.errors = map[string][]cause{}
	}
	for _, err := range errs {
		r.errors[line.side] = counted(r.errors[line.side], line.phase+": "+brief(err))
	}
}

func counted(list []cause, text string) []cause {
	for i := range list {
		if list[i].text == text {
			list[i].n++
			return list
		}
	}
	return append(list, cause{text, 1})
}

// brief is an error in one line.
func brief(err error) string {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		status := strconv.Itoa(e.StatusCode)
		return status + " " + strings.TrimPrefix(e.ErrorCode, status+" ") // without a code of its own it is the status line
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// of adds up a side's rows.
func (r *report) of(side string) (total row) {
	total.side = side
	for _, line := range r.rows {
		if line.side == side {
			total.requests += line.requests
			total.failed += line.failed
			total.lost += line.lost
			total.unknown += line.unknown
		}
	}
	return total
}

// twice is how many writes a side carried out twice.
func (r *report) twice(side string) int {
	for _, c := range r.repeated {
		if c.region == side {
			return c.n
		}
	}
	return 0
}

// passed reports whether our side did what the exit status stands for.
func (r *report) passed() bool { return !r.broken && r.of(ours).lost == 0 && r.twice(ours) == 0 }

// columns of the table; the first two and the last are text.
var columns = []string{"phase", "side", "requests", "failed", "lost", "unknown", "p50", "p99", "max", "regions contacted"}

// render writes the table and what follows from it.
func (r *report) render(w io.Writer) {
	lines := [][]string{columns}
	for _, l := range r.rows {
		lines = append(lines, []string{
			l.phase, l.side, strconv.Itoa(l.requests), strconv.Itoa(l.failed), strconv.Itoa(l.lost), strconv.Itoa(l.unknown),
			short(l.p50), short(l.p99), short(l.max), list(l.contacted),
		})
	}
	for i := len(lines) - 1; i > 1; i-- { // a phase is named once
		if lines[i][0] == lines[i-1][0] {
			lines[i][0] = ""
		}
	}
	widths := make([]int, len(columns))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(aligned(line, widths), " "))
	}
	fmt.Fprintln(w)
	r.conclude(w)
}

// aligned is one line: text to the left, numbers to the right.
func aligned(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if number := i > 1 && i < len(cells)-1; number {
			b.WriteString(pad + cell + "  ")
		} else {
			b.WriteString(cell + pad + "  ")
		}
	}
	return b.String()
}

func list(counts []count) string {
	words := make([]string, len(counts))
	for i, c := range counts {
		words[i] = c.region + " " + strconv.Itoa(c.n)
	}
	return strings.Join(words, ", ")
}

// short is a duration with about three digits.
func short(d time.Duration) string {
	switch {
	case d < 9950*time.Microsecond: // which would read 10.0
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	default:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
}

// conclude says who lost what.
func (r *report) conclude(w io.Writer) {
	for _, side := range []string{ours, plain} {
		t := r.of(side)
		if t.requests == 0 {
			continue
		}
		fmt.Fprintf(w, "%s lost %d of %d requests that a healthy region could have served", side, t.lost, t.requests)
		if t.unknown > 0 {
			fmt.Fprintf(w, "; of %d writes it is unknown whether they were carried out", t.unknown)
		}
		if n := r.twice(side); n > 0 {
			fmt.Fprintf(w, "; %d writes were carried out twice", n)
		}
		fmt.Fprintln(w, ".")
		for i, c := range r.errors[side] {
			if i == 8 {
				fmt.Fprintf(w, "  and %d other errors\n", len(r.errors[side])-i)
				break
			}
			fmt.Fprintf(w, "  %d × %s\n", c.n, c.text)
		}
	}
}

// json writes the report for programs. Times are milliseconds.
func (r *report) json(w io.Writer) error {
	type line struct {
		Phase    string         `json:"phase"`
		Side     string         `json:"side"`
		Requests int            `json:"requests"`
		Failed   int            `json:"failed"`
		Lost     int            `json:"lost"`
		Unknown  int            `json:"unknown"`
		P50      float64        `json:"p50Milliseconds"`
		P99      float64        `json:"p99Milliseconds"`
		Max      float64        `json:"maxMilliseconds"`
		Regions  map[string]int `json:"regions"`
	}
	out := struct {
		Passed bool           `json:"passed"`
		Twice  map[string]int `json:"writesCarriedOutTwice,omitempty"` // absent when nobody can tell
		Rows   []line         `json:"rows"`
	}{Passed: r.passed(), Twice: byName(r.repeated), Rows: []line{}}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for _, l := range r.rows {
		out.Rows = append(out.Rows, line{
			l.phase, l.side, l.requests, l.failed, l.lost, l.unknown, ms(l.p50), ms(l.p99), ms(l.max), byName(l.contacted),
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func byName(counts []count) map[string]int {
	m := map[string]int{}
	for _, c := range counts {
		m[c.region] = c.n
	}
	return m
}
