package telemetry_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// get asks the handler of a state.
func get(s telemetry.State, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil) //nolint:noctx // nothing cancels it
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	telemetry.Handler(func() telemetry.State { return s }).ServeHTTP(w, r)
	return w
}

// TestPageTells: what is unwell, since when, why, and what comes next.
func TestPageTells(t *testing.T) {
	body := get(sampleState(), http.MethodGet, "/").Body.String()
	for _, text := range []string{
		"5 things are unwell",
		"UK South comes last for reads", "could not be reached, 1 min 12 s ago", "The next request tries it.",
		"North Central US is left out for 41 partitions", "the oldest for 3 min 20 s (consecutive failures)", "A probe is in flight.",
		"range [05C12FFF.., 05C13FFF..)", "slow wins", "Next probe in 5 s, at 02:17:47.", "(9 of 44, the oldest first)",
		"avoids North Central US, which timed out", "excluded: UK South", "7 / 64", "86 %",
		"× 41 since 02:16:36", "reads in North Central US: HealthyWithFailures → Unavailable (consecutive failures)",
		`<meta http-equiv="refresh" content="5">`,
	} {
		require.Contains(t, body, text)
	}
	require.NotContains(t, body, "<script")
	require.NotContains(t, body, " style=", "the policy forbids it")
	require.NotContains(t, get(sampleState(), http.MethodGet, "/?refresh=off").Body.String(), "http-equiv")
}

func TestPageWhenWell(t *testing.T) {
	s := sampleState()
	s.Hedging, s.Excluded, s.Decisions = telemetry.HedgingState{Limit: 64}, nil, nil
	a := &s.Accounts[0]
	a.Unwell, a.Overrides, a.UnwellCount, a.OpenCount, a.OverrideCount = nil, nil, 0, 0, 0
	for i := range a.Regions {
		a.Regions[i].Open, a.Regions[i].UnwellReads = 0, nil
	}
	require.Contains(t, get(s, http.MethodGet, "/").Body.String(), "<h1>All is well</h1>")
	a.Confirmed = before(11 * time.Minute)
	require.Contains(t, get(s, http.MethodGet, "/").Body.String(), "<h1>One thing is unwell</h1>")
	require.Contains(t, get(telemetry.State{}, http.MethodGet, "/").Body.String(), "<h1>No account is known yet</h1>")
}

// TestPageOfRefusedWrites: a mark for writes orders the regions of a multi-write
// account. On a single-write account it orders nothing, and a region that is
// not the write region does right to refuse.
func TestPageOfRefusedWrites(t *testing.T) {
	const refused = "it refused one (403), or could not be reached, 20 s ago. That moves nothing else"
	tests := []struct {
		name       string
		multiWrite bool
		region     int
		reads      bool
		tells, row string
		never      string
		refused    bool
	}{
		{
			name: "multi-write", multiWrite: true, region: 1, never: "did not take a write",
			tells: `<li class="bad"><b>West US comes last for writes</b> · its endpoint refused, or could not be reached, 20 s ago. <span class="next">Tried again in 10 s, at 02:17:52.</span>`,
			row:   `<span class="state">refused, writes: 20 s ago</span><small class="next">Tried again in 10 s, at 02:17:52.</small>`,
		},
		{
			name: "write region", never: "comes last for writes", refused: true,
			tells: `<li class="bad"><b>North Central US did not take a write</b>`,
			row:   `<span class="state">refused, writes: 20 s ago</span></td>`,
		},
		{
			name: "another region", region: 1, never: "comes last for writes", refused: true,
			tells: `<li class="warn"><b>West US did not take a write</b>`,
			row:   `<span class="state">refused, writes: 20 s ago</span></td>`,
		},
		{
			name: "reads too", region: 1, never: "comes last for writes", refused: true, reads: true,
			tells: `<li class="bad"><b>West US comes last for reads</b>`,
			row:   `<span class="state">refused, reads: 20 s ago, writes: 20 s ago</span><small class="next">Tried again in 10 s, at 02:17:52.</small>`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := sampleState()
			a := &s.Accounts[0]
			a.MultiWrite = test.multiWrite
			r := &a.Regions[test.region]
			trial := new(night.Add(10 * time.Second))
			r.UnwellWrites = new(before(20 * time.Second))
			if test.multiWrite {
				r.TrialWrites = trial
			}
			if test.reads {
				r.UnwellReads, r.TrialReads = r.UnwellWrites, trial
			}
			body := get(s, http.MethodGet, "/").Body.String()
			require.Contains(t, body, test.tells)
			require.Contains(t, body, test.row)
			require.NotContains(t, body, test.never)
			require.Equal(t, test.refused, strings.Contains(body, refused))
		})
	}
}

// TestPagePolicy: the headers allow the page its own style, by its hash, and
// nothing else.
func TestPagePolicy(t *testing.T) {
	w := get(sampleState(), http.MethodGet, "/")
	_, style, _ := strings.Cut(w.Body.String(), "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	require.Equal(t, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", w.Header().Get("Content-Security-Policy"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
}

func TestHandlerNegotiates(t *testing.T) {
	tests := []struct {
		method, target, accept string
		status                 int
		kind                   string
		empty                  bool
	}{
		{"GET", "/", "", 200, "text/html; charset=utf-8", false},
		{"GET", "/", "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8", 200, "text/html; charset=utf-8", false},
		{"GET", "/", "application/json", 200, "application/json", false},
		{"GET", "/", "Application/JSON; charset=utf-8, */*", 200, "application/json", false},
		{"GET", "/", "application/json;q=0, */*", 200, "text/html; charset=utf-8", false},
		{"GET", "/?format=json", "text/html", 200, "application/json", false},
		{"HEAD", "/", "", 200, "text/html; charset=utf-8", true},
		{"POST", "/", "", 405, "text/plain; charset=utf-8", false},
		{"DELETE", "/?format=json", "", 405, "text/plain; charset=utf-8", false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.method, test.target, test.accept), func(t *testing.T) {
			w := get(sampleState(), test.method, test.target, "Accept", test.accept)
			require.Equal(t, test.status, w.Code)
			require.Equal(t, test.kind, w.Header().Get("Content-Type"))
			require.Equal(t, test.empty, w.Body.Len() == 0)
			require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
			if test.kind == "application/json" {
				var s telemetry.State
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &s))
				require.Equal(t, sampleState(), s, "what was marshalled comes back")
			}
			if test.status == http.StatusMethodNotAllowed {
				require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
			}
		})
	}
}

// TestPageEscapes: names and errors with markup, control characters, characters
// that turn the direction of writing, and bytes that are no text.
func TestPageEscapes(t *testing.T) {
	evil := "<script>alert('x')</script>\"'&\x00\x1b[31m\u202e\u2066\xff<!--"
	s := sampleState()
	a := &s.Accounts[0]
	s.Excluded, a.Endpoint = []string{evil}, evil
	a.Confirmed = before(time.Hour)
	a.Regions[0].Name, a.Unwell[0].Region = evil, evil
	p := &a.Unwell[0]
	p.Container, p.Partition, p.State, p.Cause = evil, evil, evil, evil
	a.Overrides[0] = telemetry.OverrideState{Container: evil, Partition: evil, Region: evil, Slow: evil, Hub: evil}
	d := &s.Decisions[0]
	d.Kind, d.Text, d.Container, d.Partition = telemetry.Kind(evil), evil, evil, evil
	body := get(s, http.MethodGet, "/").Body.String()
	require.GreaterOrEqual(t, strings.Count(body, "&lt;script&gt;"), 15)
	for _, bad := range []string{"<script", "<!--", "\x00", "\x1b", "\u202e", "\u2066", "\xff"} {
		require.NotContains(t, body, bad)
	}
	encoded := get(s, http.MethodGet, "/?format=json").Body.String()
	require.True(t, json.Valid([]byte(encoded)))
	require.NotContains(t, encoded, "<script")
}

// TestPageOfAnOutage: with 200 partitions listed of 100,000 the page is made in
// good time and is of bounded size.
func TestPageOfAnOutage(t *testing.T) {
	s := sampleState()
	a := &s.Accounts[0]
	p := a.Unwell[0]
	a.Unwell = nil
	for i := range 200 {
		p.Partition = fmt.Sprint("key #", i)
		a.Unwell = append(a.Unwell, p)
	}
	a.UnwellCount, a.OpenCount, a.Regions[0].Open = 100_000, 100_000, 100_000
	body := get(s, http.MethodGet, "/").Body.String()
	require.Contains(t, body, "(200 of 100000, the oldest first)")
	require.Contains(t, body, "left out for 100000 partitions")
	require.Less(t, len(body), 200_000)
}
