package telemetry_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// tags are the parts of a page that are not text.
var tags = regexp.MustCompile(`<[^>]*>`)

// FuzzHandler: whatever the names in a state are, and whatever a browser asks for, the answer is the page or its JSON. The
// page has the tags that it has for harmless names, and its text is nothing that could pass for something else.
func FuzzHandler(f *testing.F) {
	f.Add("West US", "text/html", "refresh=off")
	f.Add("<script>alert('x')</script>", "application/json", "")
	f.Add("\"' onload=\x00\u202e\xff<!-- --> {{.}}", "application/json;q=0", "format=json&format=html")
	f.Add("a", ";,;application/json", "%zz&;=&format")
	f.Fuzz(func(t *testing.T, name, accept, query string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL.RawQuery = query
		r.Header.Set("Accept", accept)
		show := func(name string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			telemetry.Handler(func() telemetry.State { return named(name) }).ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code)
			return w
		}
		w := show(name)
		body := w.Body.String()
		require.True(t, utf8.ValidString(body))
		if w.Header().Get("Content-Type") == "application/json" {
			var s telemetry.State
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &s))
			require.Equal(t, strings.ToValidUTF8(name, "\uFFFD") == name, s.Accounts[0].Endpoint == name)
			return
		}
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, tags.FindAllString(show("x").Body.String(), -1), tags.FindAllString(body, -1))
		if strings.TrimSpace(name) == name && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
			require.Contains(t, html.UnescapeString(body), name)
		}
		require.False(t, strings.ContainsAny(body, "\x00\x1b\u202e\u2066"))
	})
}

// named is a state in which everything has the same name.
func named(name string) telemetry.State {
	s := sampleState()
	s.Excluded = []string{name}
	a := &s.Accounts[0]
	a.Endpoint, a.Regions[0].Name, a.Unwell[0].Region = name, name, name
	p := &a.Unwell[0]
	p.Container, p.Partition, p.State, p.Cause = name, name, name, name
	a.Overrides[0] = telemetry.OverrideState{Container: name, Partition: name, Region: "to " + name, Slow: name, Hub: "in " + name}
	d := &s.Decisions[0]
	d.Kind, d.Text, d.Container, d.Partition = telemetry.Kind("a "+name), name, name+".", name+"."
	return s
}
