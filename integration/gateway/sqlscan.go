package gateway

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
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
	for i := 0; i < len(text); {
		rest := text[i:]
		switch ch := rune(rest[0]); {
		case unicode.IsSpace(ch):
			i++
			continue
		case ch == '\'' || ch == '"':
			t, n, err := scanString(rest)
			if err != nil {
				return nil, err
			}
			list, i = append(list, t), i+n
		case unicode.IsDigit(ch):
			n := span(rest, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(".eE", r) })
			f, err := strconv.ParseFloat(rest[:n], 64)
			if err != nil {
				return nil, fmt.Errorf("bad number %q", rest[:n])
			}
			list, i = append(list, token{'n', rest[:n], f}), i+n
		case ch == '@' || ch == '_' || unicode.IsLetter(ch):
			n := 1 + span(rest[1:], func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) })
			kind := 'i'
			if ch == '@' {
				kind = 'p'
			}
			list, i = append(list, token{kind: kind, text: rest[:n]}), i+n
		default:
			n := 1
			if len(rest) > 1 && strings.Contains("<= >= != <>", rest[:2]) && rest[1] != ' ' {
				n = 2
			}
			list, i = append(list, token{kind: 'o', text: rest[:n]}), i+n
		}
	}
	return list, nil
}

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
