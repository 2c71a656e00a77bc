package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// errCondition says that the condition of a patch does not hold.
var errCondition = errors.New("the condition of the patch is not met")

// patchStep is one operation of a partial document update.
type patchStep struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch applies a partial document update to a copy of an item: add, set, replace, remove and incr, with a condition in the
// form "from c where ...".
func patch(item map[string]any, request []byte) (map[string]any, error) {
	var p struct {
		Condition  string      `json:"condition"`
		Operations []patchStep `json:"operations"`
	}
	d := json.NewDecoder(strings.NewReader(string(request)))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("the patch is not JSON: %w", err)
	}
	if p.Condition != "" {
		q, err := parseQuery("SELECT * "+p.Condition, nil)
		if err != nil {
			return nil, err
		}
		if !q.matches(item) {
			return nil, errCondition
		}
	}
	body := clone(item).(map[string]any)
	for _, step := range p.Operations {
		if _, err := step.apply(body, strings.Split(strings.TrimPrefix(step.Path, "/"), "/")); err != nil {
			return nil, fmt.Errorf("patch %s %s: %w", step.Op, step.Path, err)
		}
	}
	return body, nil
}

// clone copies a JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	}
	return v
}

// apply walks to the parent of the path and changes it there; it returns the node, which is a new one for lists.
func (s *patchStep) apply(node any, path []string) (any, error) {
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch node := node.(type) {
	case map[string]any:
		if len(path) == 1 {
			return node, s.inObject(node, name)
		}
		child, ok := node[name]
		if !ok {
			return nil, errors.New("no such path")
		}
		changed, err := s.apply(child, path[1:])
		if err == nil {
			node[name] = changed
		}
		return node, err
	case []any:
		if len(path) == 1 {
			return s.inList(node, name)
		}
		i, err := position(name, len(node)-1)
		if err != nil {
			return nil, err
		}
		changed, err := s.apply(node[i], path[1:])
		if err == nil {
			node[i] = changed
		}
		return node, err
	}
	return nil, errors.New("no such path")
}

// inObject changes one property.
func (s *patchStep) inObject(node map[string]any, name string) error {
	old, exists := node[name]
	switch s.Op {
	case "add", "set":
		node[name] = s.Value
	case "replace", "remove":
		if !exists {
			return errors.New("no such path")
		}
		node[name] = s.Value
		if s.Op == "remove" {
			delete(node, name)
		}
	case "incr":
		sum, err := increment(old, s.Value)
		if err != nil {
			return err
		}
		node[name] = sum
	default:
		return errors.New("unknown operation")
	}
	return nil
}

// inList changes one element, or adds one before it; "-" is the end of the list.
func (s *patchStep) inList(node []any, name string) ([]any, error) {
	if s.Op == "add" {
		i := len(node)
		if name != "-" {
			var err error
			if i, err = position(name, len(node)); err != nil {
				return nil, err
			}
		}
		return slices.Insert(node, i, s.Value), nil
	}
	i, err := position(name, len(node)-1)
	if err != nil {
		return nil, err
	}
	switch s.Op {
	case "set", "replace":
		node[i] = s.Value
	case "remove":
		return slices.Delete(node, i, i+1), nil
	case "incr":
		if node[i], err = increment(node[i], s.Value); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("unknown operation")
	}
	return node, nil
}

// position reads an index that is at most most.
func position(name string, most int) (int, error) {
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || i > most {
		return 0, errors.New("no such index")
	}
	return i, nil
}

// increment adds two JSON numbers; nothing counts as zero.
func increment(old, by any) (json.Number, error) {
	if old == nil {
		old = json.Number("0")
	}
	a, ok1 := old.(json.Number)
	b, ok2 := by.(json.Number)
	x, ok3 := new(big.Rat).SetString(a.String())
	y, ok4 := new(big.Rat).SetString(b.String())
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return "", errors.New("not a number")
	}
	sum := x.Add(x, y)
	if sum.IsInt() {
		return json.Number(sum.Num().String()), nil
	}
	f, _ := sum.Float64()
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
}
