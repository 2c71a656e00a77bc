package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// expr is an expression over one item. It returns a JSON value or undefined.
type expr func(item any) any

// nothing is the value of a path that an item lacks. Comparisons with it are undefined, and an undefined condition is not met.
type nothing struct{}

var undefined any = nothing{}

// matches tells whether the item meets the condition.
func (q *query) matches(item any) bool { return q.where == nil || q.where(item) == true }

// project sorts, cuts and shapes the items that matched.
func (q *query) project(items []any) []any {
	if q.count {
		return []any{len(items)}
	}
	slices.SortStableFunc(items, q.compare)
	items = items[min(q.skip, len(items)):]
	if q.limit >= 0 {
		items = items[:min(q.limit, len(items))]
	}
	list := make([]any, 0, len(items))
	for _, item := range items {
		if v := q.shape(item); v != undefined {
			list = append(list, v)
		}
	}
	return list
}

// compare orders two items by the keys of ORDER BY.
func (q *query) compare(a, b any) int {
	for _, k := range q.order {
		c := order(k.expr(a), k.expr(b))
		if k.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// shape makes of an item what SELECT asks for; undefined values are left out.
func (q *query) shape(item any) any {
	switch {
	case q.star:
		return item
	case q.value != nil:
		return q.value(item)
	}
	object := map[string]any{}
	for _, c := range q.columns {
		if v := c.expr(item); v != undefined {
			object[c.name] = v
		}
	}
	return object
}

// or reads operands of OR, in the logic of three values: true beats undefined.
func (p *parser) or() (expr, error) {
	return p.chain("OR", p.and, func(a, b any) any {
		if a == true || b == true {
			return true
		}
		return both(a, b)
	})
}

// and reads operands of AND: false beats undefined.
func (p *parser) and() (expr, error) {
	return p.chain("AND", p.not, func(a, b any) any {
		if a == false || b == false {
			return false
		}
		return both(a, b)
	})
}

// both is the result when neither operand decides alone.
func both(a, b any) any {
	if a == b {
		return a
	}
	return undefined
}

// chain reads operands that are joined by one word, from left to right.
func (p *parser) chain(word string, operand func() (expr, error), f func(a, b any) any) (expr, error) {
	left, err := operand()
	for err == nil && p.accept(word) {
		var right expr
		l := left
		if right, err = operand(); err == nil {
			left = func(item any) any { return f(truthOf(l(item)), truthOf(right(item))) }
		}
	}
	return left, err
}

// truthOf makes everything that is not a boolean undefined, so that it can be compared and combined.
func truthOf(v any) any {
	if b, ok := v.(bool); ok {
		return b
	}
	return undefined
}

// not reads NOT; the opposite of undefined is undefined.
func (p *parser) not() (expr, error) {
	if !p.accept("NOT") {
		return p.comparison()
	}
	e, err := p.not()
	return func(item any) any {
		if b, ok := e(item).(bool); ok {
			return !b
		}
		return undefined
	}, err
}

// comparisons decide on the order of two comparable values.
var comparisons = map[string]func(c int) bool{
	"=": func(c int) bool { return c == 0 }, "!=": func(c int) bool { return c != 0 }, "<>": func(c int) bool { return c != 0 },
	"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 },
	">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
}

// comparison reads an operand, alone or compared with another or with a list.
func (p *parser) comparison() (expr, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.accept("IN") {
		list, err := p.arguments()
		return func(item any) any {
			v := left(item)
			if v == undefined {
				return undefined
			}
			return slices.ContainsFunc(list, func(e expr) bool { return equal(v, e(item)) })
		}, err
	}
	test := comparisons[p.peek().text]
	if p.peek().kind != 'o' || test == nil {
		return left, nil
	}
	operator := p.next().text
	right, err := p.operand()
	return func(item any) any { return compared(left(item), right(item), operator, test) }, err
}

// compared is undefined for values of different types, except that they are never equal.
func compared(a, b any, operator string, test func(int) bool) any {
	switch {
	case a == undefined || b == undefined:
		return undefined
	case rank(a) != rank(b):
		return map[string]any{"=": false, "!=": true, "<>": true}[operator] == true
	case rank(a) > 4:
		return test(map[bool]int{true: 0, false: 1}[equal(a, b)])
	}
	return test(order(a, b))
}

// arguments reads a list in parentheses.
func (p *parser) arguments() (list []expr, err error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for !p.accept(")") {
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.accept(",") {
			return list, p.expect(")")
		}
	}
	return list, nil
}

// rank orders the types as ORDER BY does: undefined, null, booleans, numbers, strings, arrays, objects.
func rank(v any) int {
	switch v.(type) {
	case nothing:
		return 0
	case nil:
		return 1
	case bool:
		return 2
	case json.Number, float64, int, int64:
		return 3
	case string:
		return 4
	case []any:
		return 5
	}
	return 6
}

// order compares two values of any types.
func order(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch rank(a) {
	case 2:
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	case 3:
		return cmp.Compare(float(a), float(b))
	case 4:
		return strings.Compare(a.(string), b.(string))
	}
	return 0
}

// float is a number in whatever form the store or a query has it.
func float(v any) float64 {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// equal compares two values of any types; lists and objects by their JSON.
func equal(a, b any) bool {
	if rank(a) != rank(b) {
		return false
	}
	if rank(a) > 4 {
		return string(encode(a)) == string(encode(b))
	}
	return order(a, b) == 0
}
