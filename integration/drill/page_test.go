package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// drawn is a small run that was made up: a fault of the write region, and a failover.
func drawn(regions ...string) *drill {
	s := settings{
		regions: regions, preferred: regions, rate: 10, phase: time.Second, timeout: time.Second, reads: 1,
		faults: []fault{{"hang", regions[0]}}, picture: "unused",
	}
	c := &cast{settings: s}
	d := &drill{cast: c, begun: time.Unix(1000, 0), album: newAlbum(c), events: chronicle{usable: regions}}
	d.events.follow(regions[0], 0)
	d.events.lose(regions[0], time.Second)
	d.events.leave(1500 * time.Millisecond)
	d.events.follow(regions[1], 1500*time.Millisecond)
	d.events.heal(3 * time.Second)
	ha := &side{name: ours}
	azcosmos := &side{name: plain}
	for i, p := range c.phases() {
		from := time.Duration(i) * time.Second
		d.album.phase(p, from, from+time.Second)
		for _, s := range []*side{ha, azcosmos} {
			o := operation{start: from, end: from + 2*time.Millisecond, contacted: regions[:2], answered: regions[1]}
			if s == azcosmos && p.fault != nil {
				o.err, o.answered, o.end = errors.New("<script>alert(1)</script>"), "", from+time.Second
			}
			r, errs := d.events.tally(p.name, s.name, []operation{o})
			d.report.add(r, errs)
			d.album.add(&d.events, s, []operation{o})
		}
	}
	at := d.begun.Add(1100 * time.Millisecond)
	d.album.decisions[nil] = []telemetry.DecisionState{
		{Decision: telemetry.Decision{Kind: telemetry.KindBreaker, At: at.Add(time.Second)}, Since: at, Count: 7, Text: "opened <b>" + regions[0]},
		{Decision: telemetry.Decision{Kind: "unheard.of", At: at}, Since: at, Count: 1, Text: "something new"},
	}
	return d
}

// TestPage: the page is one file that says everything, and nothing that came from outside is markup in it.
func TestPage(t *testing.T) {
	d := drawn("North Central US", `West "US" <b>`)
	content, err := d.page()
	require.NoError(t, err)
	page := string(content)
	for _, want := range []string{
		"azcosmos-ha lost 0 of 3 requests, plain azcosmos lost 1 of 3 requests", "North Central US hangs", "opened &lt;b&gt;North Central US",
		"7 times until 2.1 s", "something new", "prefers-color-scheme: dark", "West &#34;US&#34; &lt;b&gt;", "&lt;script&gt;",
	} {
		require.Contains(t, page, want)
	}
	for _, no := range []string{"<script", "<b>", " style=", "http:", "https:", "url(h", "@import", "NaN", "Inf"} {
		require.NotContains(t, page, no)
	}
	style := page[strings.Index(page, "<style>")+len("<style>") : strings.Index(page, "</style>")]
	sum := sha256.Sum256([]byte(style))
	require.Contains(t, page, base64.StdEncoding.EncodeToString(sum[:]), "the policy allows this style")
	require.Equal(t, 3, strings.Count(page, `role="img"`))
}

// TestCharts: a drawing is well-formed, its ids are its own, and what it refers to is there.
func TestCharts(t *testing.T) {
	many := make([]string, 12)
	for i := range many {
		many[i] = "Region " + string(rune('A'+i))
	}
	ids := map[string]bool{}
	for name, regions := range map[string][]string{"two": {"A", "B"}, "more than colours": many} {
		d := drawn(regions...)
		told := d.album.told(d.begun)
		clear(ids)
		for _, l := range layouts {
			t.Run(name+"/"+l.name, func(t *testing.T) {
				drawing := string(d.chart(l, told))
				decoder := xml.NewDecoder(strings.NewReader(drawing))
				for {
					if _, err := decoder.Token(); errors.Is(err, io.EOF) {
						break
					} else {
						require.NoError(t, err)
					}
				}
				for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(drawing, -1) {
					require.False(t, ids[m[1]], m[1])
					ids[m[1]] = true
				}
				for _, m := range regexp.MustCompile(`url\(#([^)]+)\)`).FindAllStringSubmatch(drawing, -1) {
					require.True(t, ids[m[1]], m[1])
				}
				for _, want := range []string{"1.1 s: opened", "breaker", "other", "deadline", "fault", "<desc", "attempts at"} {
					require.Contains(t, drawing, want)
				}
			})
		}
	}
}

// TestAlbum: requests are where they began, and what became of them is there.
func TestAlbum(t *testing.T) {
	d := drawn("A", "B")
	require.Len(t, d.album.tracks, 2)
	require.Equal(t, time.Second, d.album.bin, "ten requests at ten a second")
	fault := d.album.tracks[1].bins[1]
	require.Equal(t, []time.Duration{time.Second}, fault.times)
	require.Equal(t, []int{1, 1, 0}, fault.asked)
	require.Equal(t, []int{0, 0, 0}, fault.answered)
	require.Equal(t, 1, fault.verdicts[lost])
	require.Equal(t, []int{0, 1, 0}, d.album.tracks[0].bins[1].answered)
	for want, d := range map[time.Duration]time.Duration{20: 1, 50: 21, 100: 100, 200: 101, 1000: 700, 2000: 1001} {
		require.Equal(t, want*time.Millisecond, roundWidth(d*time.Millisecond))
	}
}

// TestNoAlbum: without -report nothing is kept.
func TestNoAlbum(t *testing.T) {
	var a *album
	a.phase(phase{}, 0, 1)
	a.add(nil, &side{ha: &policy.Middleware{}}, nil)
	require.NoError(t, (&drill{}).draw())
}

// TestReportFlag: the page is written to the file, also of a run that was broken off; a file that cannot be is told before.
func TestReportFlag(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.html")
	status, _ := play(t, "-faults", "503", "-report", file)
	require.Equal(t, 0, status)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	for text, want := range map[string]bool{"West US answers 503": true, "Unavailable": true, "item-": false} {
		require.Equal(t, want, strings.Contains(string(content), text), text)
	}
	for _, bad := range []string{filepath.Join(file, "x.html"), t.TempDir()} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run([]string{"-report", bad}, &stdout, &stderr))
		require.Contains(t, stderr.String(), "drill: -report")
	}
}
