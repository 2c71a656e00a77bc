package request

import (
	"strconv"
	"strings"
)

// Kind is the type of one component of a partition key.
type Kind uint8

// The kinds of component that a partition key header can hold.
const (
	KindUndefined Kind = iota // {}: the item has no value there
	KindNull                  // null
	KindFalse                 // false
	KindTrue                  // true
	KindNumber                // Component.Number holds it
	KindString                // Component.String holds it
	KindInfinity              // the end of the key space, never an item's key
	kindCount
)

var kindNames = [kindCount]string{"Undefined", "Null", "False", "True", "Number", "String", "Infinity"}

// String returns the name of the kind, "Invalid" for any value that is not one
// of the constants.
func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return "Invalid"
}

// Component is one value of a partition key; a hierarchical key has several.
type Component struct {
	Kind   Kind
	Number float64 // the number, for KindNumber; finite, -0 is kept; else 0
	String string  // the string, for KindString; part of the header if it had no escapes; else ""
}

// PartitionKeyError says where a partition key header stopped making sense. It
// never holds any of the key itself, which is data of the application.
type PartitionKeyError struct {
	Offset int    // bytes of the header before the fault
	Reason string // what is wrong there, a constant
}

// Error gives the reason and the offset.
func (e *PartitionKeyError) Error() string {
	return "partition key header: " + e.Reason + " at byte " + strconv.Itoa(e.Offset)
}

// ParsePartitionKey reads an x-ms-documentdb-partitionkey header into buf[:0] and
// returns the components, none for "[]". The header is a JSON array of strings,
// numbers, true, false, null and {}; the JSON string "Infinity" in place of an
// array is one component of that kind. (Inside an array it is a string.)
//
// azcosmos v1.5.0 quotes strings as Go does, not as JSON: \a, \v, \x01 (a control
// character, \x7f, or a byte that is not UTF-8) and \U0001f600. These are
// understood beside all escapes of JSON, though the service may refuse them.
// Half a surrogate pair and a byte that is not UTF-8 become U+FFFD, as in
// encoding/json. azcosmos cannot write NaN or an infinite number: it fails before
// it sends anything; here they are errors, as are numbers beyond a float64.
//
// The only error is a *[PartitionKeyError], and then there are no components: the
// partition is unknown, which is no reason to fail a request. Nothing is allocated
// if buf has room and no string has an escape.
func ParsePartitionKey(header string, buf []Component) ([]Component, error) {
	p := parser{text: header}
	components, reason := p.key(buf[:0])
	if reason != "" {
		return nil, &PartitionKeyError{Offset: p.at, Reason: reason}
	}
	return components, nil
}

// The reasons of a PartitionKeyError; "" means that all is well.
const (
	reasonNotArray  = "not an array"
	reasonValue     = "not a value"
	reasonSeparator = "neither a comma nor the end of the array"
	reasonObject    = "an object that is not empty"
	reasonNumber    = "not a number"
	reasonTooLarge  = "a number too large"
	reasonUnclosed  = "a string without an end"
	reasonControl   = "a control character in a string"
	reasonEscape    = "not an escape"
	reasonTrailing  = "text after the end"
)

// parser walks over text; at is where it stands, and where it stopped on a fault.
type parser struct {
	text string
	at   int
}

// key reads the whole header.
func (p *parser) key(out []Component) (_ []Component, reason string) {
	p.space()
	switch {
	case p.accept('['):
		out, reason = p.components(out)
	case p.accept('"'):
		start := p.at
		var word string
		if word, reason = p.stringBody(); reason == "" && word != "Infinity" {
			p.at, reason = start-1, reasonNotArray
		}
		out = append(out, Component{Kind: KindInfinity})
	default:
		reason = reasonNotArray
	}
	if reason != "" {
		return nil, reason
	}
	if p.space(); p.at < len(p.text) {
		return nil, reasonTrailing
	}
	return out, ""
}

// components reads an array after its opening bracket.
func (p *parser) components(out []Component) ([]Component, string) {
	if p.space(); p.accept(']') {
		return out, ""
	}
	for {
		p.space()
		c, reason := p.component()
		if reason != "" {
			return nil, reason
		}
		out = append(out, c)
		p.space()
		switch {
		case p.accept(','):
		case p.accept(']'):
			return out, ""
		default:
			return nil, reasonSeparator
		}
	}
}

// component reads one value. Its first byte decides what it is.
func (p *parser) component() (Component, string) {
	switch c := p.peek(); {
	case c == '"':
		p.at++
		s, reason := p.stringBody()
		return Component{Kind: KindString, String: s}, reason
	case c == '-' || isDigit(c):
		f, reason := p.number()
		return Component{Kind: KindNumber, Number: f}, reason
	case c == '{':
		return Component{Kind: KindUndefined}, p.emptyObject()
	case p.word("null"):
		return Component{Kind: KindNull}, ""
	case p.word("false"):
		return Component{Kind: KindFalse}, ""
	case p.word("true"):
		return Component{Kind: KindTrue}, ""
	default:
		return Component{}, reasonValue
	}
}

// emptyObject reads {}, the only object that is a key.
func (p *parser) emptyObject() string {
	p.at++
	if p.space(); !p.accept('}') {
		return reasonObject
	}
	return ""
}

// number reads a number by JSON's grammar, which is narrower than ParseFloat's
// (no hexadecimal, no underscores, no names).
func (p *parser) number() (float64, string) {
	start := p.at
	p.accept('-')
	if !p.accept('0') && !p.digits() {
		return 0, reasonNumber
	}
	if p.accept('.') && !p.digits() {
		return 0, reasonNumber
	}
	if p.accept('e') || p.accept('E') {
		if !p.accept('+') {
			p.accept('-')
		}
		if !p.digits() {
			return 0, reasonNumber
		}
	}
	f, err := strconv.ParseFloat(p.text[start:p.at], 64)
	if err != nil {
		p.at = start
		return 0, reasonTooLarge
	}
	return f, ""
}

// digits reads one digit or more.
func (p *parser) digits() bool {
	start := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	return p.at > start
}

// word reads a literal name. A name that goes on is caught by what must follow.
func (p *parser) word(name string) bool {
	if !strings.HasPrefix(p.text[p.at:], name) {
		return false
	}
	p.at += len(name)
	return true
}

// accept reads one byte if it is the one given.
func (p *parser) accept(c byte) bool {
	if p.at >= len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// peek returns the next byte, 0 at the end; no rule accepts a 0.
func (p *parser) peek() byte {
	if p.at >= len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// space skips what JSON calls white space.
func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
