package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word of a query. kind is 'i' for identifiers and keywords, 'n' for numbers, 's' for strings, 'p' for parameters
// and 'o' for operators; value is that of a literal.
type token struct {
	kind  rune
	text  string
	value any
}

// scan cuts a query into tokens.
func scan(text string) ([]token, error) {
	var list []token
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return list, nil
		}
		t, n, err := scanToken(text)
		if err != nil {
			return nil, err
		}
		list, text = append(list, t), text[n:]
	}
}

// scanToken reads the token that a text begins with, and how long it is.
func scanToken(text string) (token, int, error) {
	ch, size := utf8.DecodeRuneInString(text)
	switch {
	case ch == '\'' || ch == '"':
		return scanString(text)
	case unicode.IsDigit(ch):
		n := span(text, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(".eE", r) })
		f, err := strconv.ParseFloat(text[:n], 64)
		if err != nil {
			return token{}, 0, fmt.Errorf("bad number %q", text[:n])
		}
		return token{'n', text[:n], f}, n, nil
	case ch == '@':
		n := 1 + span(text[1:], inName)
		return token{kind: 'p', text: text[:n]}, n, nil
	case inName(ch):
		n := span(text, inName)
		return token{kind: 'i', text: text[:n]}, n, nil
	}
	n := size
	if len(text) > 1 && slices.Contains([]string{"<=", ">=", "!=", "<>"}, text[:2]) {
		n = 2
	}
	return token{kind: 'o', text: text[:n]}, n, nil
}

// inName tells what names and keywords are made of.
func inName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// span is the number of leading bytes whose runes satisfy f.
func span(s string, f func(rune) bool) int {
	if i := strings.IndexFunc(s, func(r rune) bool { return !f(r) }); i >= 0 {
		return i
	}
	return len(s)
}

// scanString reads a literal in single or double quotes with JSON's escapes.
func scanString(s string) (token, int, error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			body := s[1:i]
			if s[0] == '\'' {
				body = strings.ReplaceAll(strings.ReplaceAll(body, `\'`, `'`), `"`, `\"`)
			}
			value, err := strconv.Unquote(`"` + body + `"`)
			if err != nil {
				return token{}, 0, fmt.Errorf("bad string %s", s[:i+1])
			}
			return token{'s', s[:i+1], value}, i + 1, nil
		}
	}
	return token{}, 0, errors.New("a string does not end")
}
