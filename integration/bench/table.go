package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table is one table of the report: what it shows, how that was measured, and the rows.
type table struct {
	title   string
	how     string // Markdown
	text    int    // how many columns, from the left, are text: the first one at least; the others are numbers
	columns []string
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// render writes the table as Markdown, under its title.
func (t *table) render(w io.Writer) {
	fmt.Fprintf(w, "### %s\n\n", t.title)
	if t.how != "" {
		fmt.Fprintf(w, "%s\n\n", t.how)
	}
	t.grid(w)
	fmt.Fprintln(w)
}

// grid writes the rows, with their columns aligned for those who read the source.
func (t *table) grid(w io.Writer) {
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for i := range widths {
			widths[i] = max(widths[i], 3, utf8.RuneCountInString(cell(row, i)))
		}
	}
	t.line(w, t.columns, widths)
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
		if !t.isText(i) {
			rule[i] = rule[i][1:] + ":"
		}
	}
	t.line(w, rule, widths)
	for _, row := range t.rows {
		t.line(w, row, widths)
	}
}

// cell is a cell of a row that may be too short, with what would end it escaped.
func cell(row []string, i int) string {
	if i >= len(row) {
		return ""
	}
	return strings.ReplaceAll(row[i], "|", `\|`)
}

func (t *table) isText(column int) bool { return column < max(t.text, 1) }

func (t *table) line(w io.Writer, row []string, widths []int) {
	var b strings.Builder
	for i, width := range widths {
		text := cell(row, i)
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(text))
		if t.isText(i) {
			text += pad
		} else {
			text = pad + text
		}
		b.WriteString("| " + text + " ")
	}
	fmt.Fprintln(w, b.String()+"|")
}

// none stands where there is nothing to show.
const none = "–"

// times is a ratio: "1.034 ×".
func times(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return none
	case ratio >= 9.995:
		return strconv.FormatFloat(ratio, 'f', 1, 64) + " ×"
	default:
		return strconv.FormatFloat(ratio, 'f', 3, 64) + " ×"
	}
}

// percent is a share with about two digits that count: "12 %", "1.3 %", "0.04 %".
func percent(share float64) string {
	v := 100 * share
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case a >= 9.95:
		return strconv.FormatFloat(v, 'f', 0, 64) + " %"
	case a >= 0.095 || a == 0:
		return strconv.FormatFloat(v, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(v, 'f', 3, 64) + " %"
	}
}

// signed is a number of things more, or fewer: "+5", "−5", "0".
func signed(n int) string {
	switch {
	case n > 0:
		return "+" + strconv.Itoa(n)
	case n < 0:
		return "−" + strconv.Itoa(-n)
	}
	return "0"
}

// whole is a number without decimals.
func whole(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// short is a duration with about three digits that count; negative: there is none.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return none
	case d < 9950*time.Microsecond: // which would read 10.0
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	default:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
}
