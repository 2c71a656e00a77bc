package request

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// stringBody reads a string after its opening quote, the closing one included.
// Without escapes the result is a part of the text.
func (p *parser) stringBody() (string, string) {
	start := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			s := p.text[start:p.at]
			if !utf8.ValidString(s) {
				return p.unescape(start)
			}
			p.at++
			return s, ""
		case c == '\\':
			return p.unescape(start)
		case c < ' ':
			return "", reasonControl
		}
		p.at++
	}
	return "", reasonUnclosed
}

// unescape reads the string again from its first byte, copying it.
func (p *parser) unescape(start int) (string, string) {
	p.at = start
	out := make([]byte, 0, len(p.text)-start)
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return string(out), ""
		case c == '\\':
			var reason string
			if out, reason = p.escape(out); reason != "" {
				return "", reason
			}
		case c < ' ':
			return "", reasonControl
		default:
			r, size := utf8.DecodeRuneInString(p.text[p.at:])
			out = utf8.AppendRune(out, r) // a byte that is not UTF-8 is U+FFFD here
			p.at += size
		}
	}
	return "", reasonUnclosed
}

// simpleEscapes maps the byte after a backslash to what the pair stands for. \a
// and \v are Go's only, \/ is JSON's only.
var simpleEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/',
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// escape reads one escape, or the two of a surrogate pair, and appends what it
// stands for. On a fault it stands at the backslash.
func (p *parser) escape(out []byte) ([]byte, string) {
	if p.at+1 >= len(p.text) {
		return nil, reasonEscape
	}
	c := p.text[p.at+1]
	if b := simpleEscapes[c]; b != 0 {
		p.at += 2
		return append(out, b), ""
	}
	switch c {
	case 'u':
		return p.escapeUTF16(out)
	case 'U': // Go's form of what JSON writes as a surrogate pair
		r, ok := p.hex(8)
		if !ok || !utf8.ValidRune(r) {
			return nil, reasonEscape
		}
		p.at += 10
		return utf8.AppendRune(out, r), ""
	case 'x': // a byte, not a character: Go's form of control characters and of bytes that are not UTF-8
		r, ok := p.hex(2)
		if !ok {
			return nil, reasonEscape
		}
		p.at += 4
		return append(out, byte(r)), ""
	default:
		return nil, reasonEscape
	}
}

// escapeUTF16 reads \uXXXX, and a second one if the two are a surrogate pair.
func (p *parser) escapeUTF16(out []byte) ([]byte, string) {
	r, ok := p.hex(4)
	if !ok {
		return nil, reasonEscape
	}
	p.at += 6
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), ""
	}
	if p.peek() == '\\' && p.at+1 < len(p.text) && p.text[p.at+1] == 'u' {
		if low, ok := p.hex(4); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				p.at += 6
				return utf8.AppendRune(out, pair), ""
			}
		}
	}
	return utf8.AppendRune(out, utf8.RuneError), ""
}

// hex reads n hexadecimal digits after the backslash and the letter that the
// parser stands at. Eight digits that do not fit a rune are not a number.
func (p *parser) hex(n int) (rune, bool) {
	start := p.at + 2
	if start+n > len(p.text) {
		return 0, false
	}
	v, err := strconv.ParseUint(p.text[start:start+n], 16, 31)
	return rune(v), err == nil
}
