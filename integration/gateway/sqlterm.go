package gateway

import (
	"fmt"
	"strings"
)

// operand reads a literal, a parameter, a path, a function or an expression in parentheses.
func (p *parser) operand() (expr, error) {
	t := p.next()
	switch t.kind {
	case 'n', 's':
		return constant(t.value), nil
	case 'p':
		v, ok := p.parameters[t.text]
		if !ok {
			return nil, fmt.Errorf("no parameter %s", t.text)
		}
		return constant(v), nil
	case 'i':
		return p.name(t.text)
	}
	switch t.text {
	case "(":
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case "-":
		n := p.next()
		if f, ok := n.value.(float64); ok {
			return constant(-f), nil
		}
		return nil, fmt.Errorf("a number expected after -, not %q", n.text)
	}
	return nil, fmt.Errorf("unexpected %q", t.text)
}

// constant is an expression that does not look at the item.
func constant(v any) expr { return func(any) any { return v } }

// name reads what begins with an identifier.
func (p *parser) name(word string) (expr, error) {
	switch strings.ToLower(word) {
	case "true":
		return constant(true), nil
	case "false":
		return constant(false), nil
	case "null":
		return constant(nil), nil
	case "undefined":
		return constant(undefined), nil
	}
	if p.peek().text == "(" {
		return p.function(strings.ToUpper(word))
	}
	if word != p.alias {
		return nil, fmt.Errorf("identifier %q could not be resolved", word)
	}
	return p.path()
}

// path reads .name, ["name"] and [index] after the item's name.
func (p *parser) path() (expr, error) {
	var steps []any
	for {
		switch {
		case p.accept("."):
			t := p.next()
			if t.kind != 'i' {
				return nil, fmt.Errorf("a name expected, not %q", t.text)
			}
			steps = append(steps, t.text)
		case p.accept("["):
			t := p.next()
			if t.kind != 's' && t.kind != 'n' {
				return nil, fmt.Errorf("a name or an index expected, not %q", t.text)
			}
			steps = append(steps, t.value)
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		default:
			return func(item any) any { return follow(item, steps) }, nil
		}
	}
}

// follow walks a path; a step that leads nowhere is undefined.
func follow(v any, steps []any) any {
	for _, step := range steps {
		switch node := v.(type) {
		case map[string]any:
			name, _ := step.(string)
			child, ok := node[name]
			if !ok {
				return undefined
			}
			v = child
		case []any:
			i, ok := step.(float64)
			if !ok || i < 0 || i >= float64(len(node)) {
				return undefined
			}
			v = node[int(i)]
		default:
			return undefined
		}
	}
	return v
}

// functions are the functions of the subset, on values that are already computed.
var functions = map[string]struct {
	arguments int
	call      func(v []any) any
}{
	"IS_NULL":        {1, func(v []any) any { return v[0] == nil }},
	"IS_DEFINED":     {1, func(v []any) any { return v[0] != undefined }},
	"STARTSWITH":     {2, texts(strings.HasPrefix)},
	"CONTAINS":       {2, texts(strings.Contains)},
	"ARRAY_CONTAINS": {2, arrayContains},
}

// texts makes a function of two strings; with anything else it is undefined.
func texts(f func(a, b string) bool) func([]any) any {
	return func(v []any) any {
		a, ok1 := v[0].(string)
		b, ok2 := v[1].(string)
		if !ok1 || !ok2 {
			return undefined
		}
		return f(a, b)
	}
}

// arrayContains looks for a value in a list.
func arrayContains(v []any) any {
	list, ok := v[0].([]any)
	if !ok {
		return undefined
	}
	for _, e := range list {
		if equal(e, v[1]) {
			return true
		}
	}
	return false
}

// function reads a call. Functions outside of the subset are errors.
func (p *parser) function(name string) (expr, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("%s is not a function that this store knows", name)
	}
	list, err := p.arguments()
	if err == nil && len(list) != f.arguments {
		err = fmt.Errorf("%s takes %d arguments", name, f.arguments)
	}
	return func(item any) any {
		values := make([]any, len(list))
		for i, e := range list {
			values[i] = e(item)
		}
		return f.call(values)
	}, err
}
