package gateway

import (
	"fmt"
	"math"
	"strings"
)

// query is a parsed SELECT.
type query struct {
	star, count bool
	value       expr // SELECT VALUE
	columns     []column
	where       expr
	order       []sortKey
	skip        int
	limit       int // -1: none
}

// column is one element of SELECT a, b AS c.
type column struct {
	name string
	expr expr
}

// sortKey is one element of ORDER BY.
type sortKey struct {
	expr       expr
	descending bool
}

// parser reads the subset of the query language that tests need:
//
//	SELECT [TOP n] * | VALUE COUNT(1) | VALUE e | e [AS name], ...
//	FROM c [WHERE e] [ORDER BY e [ASC|DESC], ...] [OFFSET n LIMIT n]
//	e: OR AND NOT = != <> < <= > >= IN (...) ( ) literals @parameters c.a.b c["a"][0]
//	   IS_NULL IS_DEFINED STARTSWITH CONTAINS ARRAY_CONTAINS
type parser struct {
	tokens     []token
	at         int
	alias      string
	parameters map[string]any
}

// parseQuery parses a query; what is outside of the subset is an error, never a wrong result.
func parseQuery(text string, parameters map[string]any) (q *query, err error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, alias: aliasIn(tokens), parameters: parameters}
	q = &query{limit: -1}
	for _, step := range []func(*query) error{p.selection, p.from, p.filter, p.sorting, p.window} {
		if err := step(q); err != nil {
			return nil, err
		}
	}
	if t := p.peek(); t.text != "" && t.text != ";" {
		return nil, fmt.Errorf("unexpected %q", t.text)
	}
	return q, nil
}

// aliasIn finds the name of the item, which the selection uses before FROM gives it.
func aliasIn(tokens []token) string {
	for i := 0; i+1 < len(tokens); i++ {
		if !strings.EqualFold(tokens[i].text, "FROM") {
			continue
		}
		alias := tokens[i+1].text
		rest := tokens[i+2:]
		if len(rest) > 0 && strings.EqualFold(rest[0].text, "AS") {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].kind == 'i' && !isKeyword(rest[0].text) {
			alias = rest[0].text
		}
		return alias
	}
	return "c"
}

// isKeyword tells the words that may follow FROM's name from an alias.
func isKeyword(word string) bool {
	return strings.Contains(" WHERE ORDER OFFSET JOIN GROUP ", " "+strings.ToUpper(word)+" ")
}

// peek is the next token, empty at the end.
func (p *parser) peek() token {
	if p.at >= len(p.tokens) {
		return token{}
	}
	return p.tokens[p.at]
}

// next takes the next token.
func (p *parser) next() token {
	t := p.peek()
	p.at++
	return t
}

// accept takes the next token if it is an operator or a keyword.
func (p *parser) accept(word string) bool {
	t := p.peek()
	if t.kind == 's' || !strings.EqualFold(t.text, word) || word == "" {
		return false
	}
	p.at++
	return true
}

// expect takes a word that has to come.
func (p *parser) expect(word string) error {
	if !p.accept(word) {
		return fmt.Errorf("%s expected, not %q", word, p.peek().text)
	}
	return nil
}

// number takes a count, as a literal or as a parameter.
func (p *parser) number() (int, error) {
	t := p.next()
	value := t.value
	if t.kind == 'p' {
		value = p.parameters[t.text]
	}
	f, ok := value.(float64)
	if !ok || f < 0 {
		return 0, fmt.Errorf("a number expected, not %q", t.text)
	}
	return int(min(f, math.MaxInt32)), nil
}

// selection reads SELECT up to FROM.
func (p *parser) selection(q *query) (err error) {
	if err := p.expect("SELECT"); err != nil {
		return err
	}
	if p.accept("TOP") {
		if q.limit, err = p.number(); err != nil {
			return err
		}
	}
	switch {
	case p.accept("*"):
		q.star = true
		return nil
	case p.accept("VALUE"):
		if p.accept("COUNT") {
			q.count = true
			for !p.accept(")") {
				if p.next().text == "" {
					return p.expect(")")
				}
			}
			return nil
		}
		q.value, err = p.or()
		return err
	}
	return p.columns(q)
}

// columns reads a list of expressions; a path is named after its last step.
func (p *parser) columns(q *query) error {
	for {
		e, err := p.or()
		if err != nil {
			return err
		}
		name, _ := p.tokens[p.at-1].value.(string) // c["x"] ends in ], named below
		if p.tokens[p.at-1].kind == 'i' {
			name = p.tokens[p.at-1].text
		}
		if p.accept("AS") {
			name = p.next().text
		}
		if name == "" {
			name = fmt.Sprintf("$%d", len(q.columns)+1)
		}
		q.columns = append(q.columns, column{name, e})
		if !p.accept(",") {
			return nil
		}
	}
}

// from reads FROM; aliasIn has found the name already.
func (p *parser) from(*query) error {
	if !p.accept("FROM") {
		return nil
	}
	if t := p.next(); t.kind != 'i' {
		return fmt.Errorf("a name expected after FROM, not %q", t.text)
	}
	if p.accept("AS") || p.peek().kind == 'i' && !isKeyword(p.peek().text) {
		p.next()
	}
	return nil
}

// filter reads WHERE.
func (p *parser) filter(q *query) (err error) {
	if p.accept("WHERE") {
		q.where, err = p.or()
	}
	return err
}

// sorting reads ORDER BY.
func (p *parser) sorting(q *query) error {
	if !p.accept("ORDER") {
		return nil
	}
	if err := p.expect("BY"); err != nil {
		return err
	}
	for {
		e, err := p.or()
		if err != nil {
			return err
		}
		k := sortKey{expr: e, descending: p.accept("DESC")}
		if !k.descending {
			p.accept("ASC")
		}
		q.order = append(q.order, k)
		if !p.accept(",") {
			return nil
		}
	}
}

// window reads OFFSET and LIMIT.
func (p *parser) window(q *query) (err error) {
	if !p.accept("OFFSET") {
		return nil
	}
	if q.skip, err = p.number(); err != nil {
		return err
	}
	if err := p.expect("LIMIT"); err != nil {
		return err
	}
	q.limit, err = p.number()
	return err
}
