package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// svg writes the elements of a drawing. Whatever text it is given, it escapes.
type svg struct{ b strings.Builder }

// open begins an element; attributes are names and values in turn.
func (s *svg) open(name string, attributes ...any) {
	s.start(name, attributes)
	s.b.WriteByte('>')
}

// close ends the element.
func (s *svg) close(name string) { s.b.WriteString("</" + name + ">\n") }

// tag is an element with a text, which may be empty, and with a title for who points at it, which may be empty too.
func (s *svg) tag(name, title, text string, attributes ...any) {
	s.start(name, attributes)
	if title == "" && text == "" {
		s.b.WriteString("/>\n")
		return
	}
	s.b.WriteByte('>')
	if title != "" {
		s.b.WriteString("<title>" + html.EscapeString(title) + "</title>")
	}
	s.b.WriteString(html.EscapeString(text))
	s.close(name)
}

func (s *svg) start(name string, attributes []any) {
	s.b.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		fmt.Fprintf(&s.b, ` %s="%s"`, attributes[i], html.EscapeString(value(attributes[i+1])))
	}
}

// rect is a rectangle.
func (s *svg) rect(class, title string, x, y, width, height float64, more ...any) {
	s.tag("rect", title, "", append([]any{"class", class, "x", x, "y", y, "width", width, "height", height}, more...)...)
}

// text is a line of text; its base line is at y.
func (s *svg) text(class, text string, x, y float64) {
	s.tag("text", "", text, "class", class, "x", x, "y", y)
}

// line is a straight line.
func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	s.tag("line", "", "", "class", class, "x1", x1, "y1", y1, "x2", x2, "y2", y2)
}

// value writes coordinates with a tenth of a pixel.
func value(v any) string {
	if f, ok := v.(float64); ok {
		return num(f)
	}
	return fmt.Sprint(v)
}

func num(f float64) string {
	s := strconv.FormatFloat(f, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// textWidth is about how wide a text of the drawing's usual size is.
func textWidth(text string) float64 { return 6.4 * float64(len([]rune(text))) }

// textures tell the regions apart for who cannot tell the colours apart: paths in a square of 8, in the order of the regions.
var textures = []string{
	"",
	"M-2 2l4-4M0 8l8-8M6 10l4-4",
	"M2 2h.01M6 6h.01",
	"M0 2h8M0 6h8",
	"M2 0v8M6 0v8",
	"M-2 6l4 4M0 0l8 8M6-2l4 4",
	"M0 4h8M4 0v8",
	"M2 2h4v4h-4z",
}

// palette is how many regions look different.
var palette = len(textures)

// look is the class and the texture of a region; the account's last place is that of hosts which are none of its.
func look(region, regions int) string {
	if region >= regions {
		return "rx"
	}
	return "r" + strconv.Itoa(region%palette)
}

// patterns defines the fills: f0 and so on, of the regions, and those of what failed and of faults. Ids begin with the prefix.
func (s *svg) patterns(prefix string) {
	s.open("defs")
	define := func(name, class, path, stroke string, size int) {
		s.open("pattern", "id", prefix+name, "width", size, "height", size, "patternUnits", "userSpaceOnUse")
		s.rect(class, "", 0, 0, float64(size), float64(size))
		if path != "" {
			s.tag("path", "", "", "class", stroke, "d", path)
		}
		s.close("pattern")
	}
	for i, path := range textures {
		name := "r" + strconv.Itoa(i)
		define(name, "c-"+name, path, "texture", 8)
	}
	define("rx", "c-rx", textures[6], "texture", 8)
	define("failed", "c-failed", "M-1 1l2-2M0 6l6-6M5 7l2-2", "hatch", 6)
	define("fault", "c-fault", "M-1 5l2 2M0 0l6 6M5-1l2 2", "warn", 6)
	s.close("defs")
}
