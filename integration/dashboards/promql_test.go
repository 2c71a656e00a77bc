package dashboards_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// query is what a PromQL expression asks for.
type query struct {
	text      string
	selectors []selector
	grouped   []string // labels after by, without, on and ignoring
}

// selector is a metric with the labels that it is selected by.
type selector struct {
	metric string
	labels []string
	ranged bool
}

// What the expressions may use beside metrics and labels.
var (
	functions = []string{"rate", "increase", "histogram_quantile", "sum"}
	clauses   = []string{"by", "without", "on", "ignoring"}
	operators = []string{"or", "and", "unless", "offset", "bool"}
)

var token = regexp.MustCompile(`^(?:\s+|"(?:[^"\\]|\\.)*"|\$?[A-Za-z_]\w*|\d+(?:\.\d+)?[smhd]?|=~|!~|!=|>=|<=|==|[-+*/%^(){}\[\],=<>])`)

// tokens cuts an expression up; blanks are left out.
func tokens(t *testing.T, text string) (list []string) {
	t.Helper()
	for rest := text; rest != ""; {
		word := token.FindString(rest)
		require.NotEmpty(t, word, "%s: cannot be read from %q on", text, rest)
		rest = rest[len(word):]
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// parse reads an expression as far as names go. Its brackets must match.
func parse(t *testing.T, text string) *query {
	t.Helper()
	q := &query{text: text}
	list := tokens(t, text)
	q.balanced(t, list)
	for i := 0; i < len(list); i++ {
		word := list[i]
		next := ""
		if i+1 < len(list) {
			next = list[i+1]
		}
		switch {
		case !regexp.MustCompile(`^[A-Za-z_]`).MatchString(word) || slices.Contains(operators, word):
		case slices.Contains(clauses, word):
			require.Equal(t, "(", next, text)
			for i += 2; list[i] != ")"; i++ {
				if list[i] != "," {
					q.grouped = append(q.grouped, list[i])
				}
			}
		case slices.Contains(functions, word):
		default:
			require.NotEqual(t, "(", next, "%s: no function %s is known here", text, word)
			i = q.selector(t, list, i)
		}
	}
	require.NotEmpty(t, q.selectors, text)
	return q
}

// selector reads one that begins at i, and returns where it ends.
func (q *query) selector(t *testing.T, list []string, i int) int {
	t.Helper()
	s := selector{metric: list[i]}
	if i+1 < len(list) && list[i+1] == "{" {
		for i += 2; list[i] != "}"; i++ {
			if list[i] == "," {
				continue
			}
			require.Contains(t, []string{"=", "!=", "=~", "!~"}, list[i+1], q.text)
			require.Regexp(t, `^"`, list[i+2], q.text)
			s.labels = append(s.labels, list[i])
			i += 2
		}
	}
	if i+1 < len(list) && list[i+1] == "[" {
		require.Regexp(t, `^(\d+[smhd]|\$__rate_interval)$`, list[i+2], q.text)
		s.ranged = true
		i += 3
	}
	q.selectors = append(q.selectors, s)
	return i
}

func (q *query) balanced(t *testing.T, list []string) {
	t.Helper()
	var open []string
	for _, word := range list {
		if at := strings.Index("({[", word); at >= 0 {
			open = append(open, string(")}]"[at]))
		} else if strings.Contains(")}]", word) {
			require.NotEmpty(t, open, q.text)
			require.Equal(t, open[len(open)-1], word, q.text)
			open = open[:len(open)-1]
		}
	}
	require.Empty(t, open, q.text)
}

// check requires that all names exist. used are labels of the result that something else names.
func (q *query) check(t *testing.T, known metrics, used []string) {
	t.Helper()
	for _, s := range q.selectors {
		known.has(t, s.metric, s.labels...)
		// A counter by itself says nothing, and a gauge has no rate.
		require.Equal(t, !known[known.base(s.metric)].gauge, s.ranged, "%s: %s", q.text, s.metric)
	}
	for _, label := range q.grouped {
		require.True(t, slices.ContainsFunc(q.selectors, func(s selector) bool { return known.carries(s.metric, label) }), "%s: label %s", q.text, label)
	}
	for _, label := range used {
		require.Contains(t, q.grouped, label, q.text)
	}
}

// TestChecksAreStrict: what must not pass does not.
func TestChecksAreStrict(t *testing.T) {
	known := recorded(t)
	require.False(t, known.exists("cosmos_ha_attempts"), "a counter without its suffix")
	require.False(t, known.exists("cosmos_ha_hedge_lost_total"))
	require.False(t, known.exists("cosmos_ha_hedge_limit_total"), "a gauge with a counter's suffix")
	require.False(t, known.exists("cosmos_ha_attempt_duration_bucket"), "without its unit")
	require.True(t, known.exists("cosmos_ha_attempt_duration_seconds_bucket"))
	require.True(t, known.carries("cosmos_ha_attempt_duration_seconds_bucket", "le"))
	require.False(t, known.carries("cosmos_ha_attempt_duration_seconds_count", "le"))
	require.False(t, known.carries("cosmos_ha_attempt_duration_seconds_count", "cosmos_ha_reason"))
	q := parse(t, `sum by (a, b) (rate(m_total{x="(}", y!~"z"}[5m])) / n > 0.5`)
	require.Equal(t, []selector{{"m_total", []string{"x", "y"}, true}, {"n", nil, false}}, q.selectors)
	require.Equal(t, []string{"a", "b"}, q.grouped)
}
