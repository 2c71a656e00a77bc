package dashboards_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// dashboard is the part of Grafana's format that is checked.
type dashboard struct {
	Title, UID string
	Panels     []panel
	Templating struct{ List []variable }
}

type panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr, LegendFormat string }
}

type variable struct{ Name, Type, Query string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	content, err := os.ReadFile("grafana.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(content, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

// TestDashboardAsksForWhatExists: every metric and attribute of every panel is one that the library records.
func TestDashboardAsksForWhatExists(t *testing.T) {
	known := recorded(t)
	asked := map[string]bool{}
	for _, p := range readDashboard(t).Panels {
		t.Run(p.Title, func(t *testing.T) {
			for _, target := range p.Targets {
				q := parse(t, target.Expr)
				q.check(t, known, legendLabels(target.LegendFormat))
				for _, s := range q.selectors {
					asked[known.base(s.metric)] = true
				}
			}
		})
	}
	for name := range known {
		require.True(t, asked[name], "no panel shows %s", name)
	}
}

// TestDashboardIsWhole: panels do not lie on each other, are told apart, and say what they show; variables that are used exist.
func TestDashboardIsWhole(t *testing.T) {
	d := readDashboard(t)
	known := recorded(t)
	ids, titles, cells := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	names := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		names[v.Name] = true
		if v.Type == "query" {
			m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Query)
			require.NotNil(t, m, v.Query)
			known.has(t, m[1], m[2])
		}
	}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], p.Title)
		require.False(t, titles[p.Title], p.Title)
		ids[p.ID], titles[p.Title] = true, true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, cells[cell], "%s lies on it", p.Title)
				cells[cell] = p.Title
			}
		}
		for _, target := range p.Targets {
			for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				require.True(t, names[m[1]], "%s: no variable %s", p.Title, m[1])
			}
		}
	}
}

// legendLabels are the labels that a legend names.
func legendLabels(legend string) (list []string) {
	for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(legend, -1) {
		list = append(list, m[1])
	}
	return list
}

// alert is a rule.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// TestAlertsAskForWhatExists: the same for the alert rules, and every rule is whole.
func TestAlertsAskForWhatExists(t *testing.T) {
	known := recorded(t)
	rules := readAlerts(t)
	require.Len(t, rules, 8)
	names := map[string]bool{}
	for _, r := range rules {
		t.Run(r.Alert, func(t *testing.T) {
			require.False(t, names[r.Alert])
			names[r.Alert] = true
			require.Regexp(t, `^Cosmos[A-Z]\w+$`, r.Alert)
			require.Regexp(t, `^\d+m$`, r.For)
			require.Contains(t, []string{"info", "warning", "critical"}, r.Labels["severity"])
			require.Equal(t, []string{"description", "summary"}, slices.Sorted(maps.Keys(r.Annotations)))
			var used []string
			for _, text := range r.Annotations {
				for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
					used = append(used, m[1])
				}
			}
			parse(t, r.Expr).check(t, known, used)
			require.NotContains(t, r.Expr, "$")
		})
	}
}

// readAlerts reads the one group of the file: YAML as plain as the rules need it, so that nothing in it can be misread.
func readAlerts(t *testing.T) (rules []alert) {
	t.Helper()
	content, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	var section map[string]string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") || slices.Contains([]string{"groups:", "  - name: azcosmos-ha", "    rules:"}, line) {
			continue
		}
		m := regexp.MustCompile(`^( {6}- | {8}| {10})(\w+):(?: (.+))?$`).FindStringSubmatch(line)
		require.NotNil(t, m, line)
		indent, key, value := m[1], m[2], scalar(t, m[3])
		if indent == "      - " {
			rules = append(rules, alert{Labels: map[string]string{}, Annotations: map[string]string{}})
		}
		require.NotEmpty(t, rules, line)
		r := &rules[len(rules)-1]
		switch key {
		case "alert":
			r.Alert = value
		case "expr":
			r.Expr = value
		case "for":
			r.For = value
		case "labels":
			section = r.Labels
		case "annotations":
			section = r.Annotations
		default:
			require.Equal(t, "          ", indent, line)
			require.Empty(t, section[key], line)
			section[key] = value
		}
	}
	return rules
}

// scalar is a word, or a string as in JSON, which YAML reads in the same way.
func scalar(t *testing.T, text string) string {
	t.Helper()
	if !strings.HasPrefix(text, `"`) {
		require.Regexp(t, `^\w*$`, text)
		return text
	}
	var s string
	require.NoError(t, json.Unmarshal([]byte(text), &s), text)
	return s
}

// TestValues: the values that are asked for are ones that the library gives.
func TestValues(t *testing.T) {
	allowed := map[string][]string{
		"cosmos_ha_reason": {string(telemetry.Initial), string(telemetry.Probe)},
		"cosmos_ha_cause":  {hedge.ReasonBudget.String()},
		"cosmos_ha_result": {"ok"}, // of a refresh that succeeded
		"error_type":       {telemetry.ErrorNotSent, telemetry.ErrorLostReply, telemetry.ErrorTimeout, telemetry.ErrorLost, telemetry.ErrorCancelled, "408", "410", "5.."},
	}
	var all []string
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, r := range readAlerts(t) {
		all = append(all, r.Expr)
	}
	seen := map[string]bool{}
	for _, expr := range all {
		for _, m := range regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"([^"$]+)"`).FindAllStringSubmatch(expr, -1) {
			if values, ok := allowed[m[1]]; ok {
				seen[m[1]] = true
				require.Subset(t, values, strings.Split(m[2], "|"), expr)
			}
		}
	}
	require.Len(t, seen, len(allowed))
}
