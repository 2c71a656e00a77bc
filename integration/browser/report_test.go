package browser_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drill runs the drill with faults of which one moves the write region, and returns its picture.
func drill(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	command, file := filepath.Join(dir, "drill"), filepath.Join(dir, "report.html")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", command, ".")
	build.Dir = "../drill"
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	output, err = exec.CommandContext(t.Context(), command, "-phase", "1500ms", "-timeout", "1500ms", "-attempt-timeout", "400ms",
		"-faults", "503,hang,refuse@North Central US", "-report", file).CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 1 { // 1: a write was lost, which the picture shows too
		require.NoError(t, err, string(output))
	}
	require.FileExists(t, file, string(output))
	return file
}

// TestReport: the picture of a run can be read wherever it is opened.
func TestReport(t *testing.T) {
	browser := start(t)
	file := drill(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }))
	t.Cleanup(server.Close)
	for _, l := range looks() {
		t.Run(l.String(), func(t *testing.T) {
			v := open(t, browser, server.URL, l)
			v.readable(l, "azcosmos-ha lost", "plain azcosmos", "West US answers 503", "West US hangs", "North Central US refuses",
				"breaker", "topology", "The numbers")
			v.drawn(l)
			v.picture("report-" + l.String())
			if l.scripts {
				v.keeps()
			}
		})
	}
}

// drawn checks the drawing: one is shown, at a size that can be read, and it tells what happened.
func (v *visit) drawn(l look) {
	v.Helper()
	shown := ask[[]string](v, `[...document.querySelectorAll("svg")].filter(s => s.checkVisibility()).map(s => s.getAttribute("class"))`)
	want := "wide"
	if l.width < 600 {
		want = "narrow"
	}
	require.Equal(v, []string{want}, shown)
	scale := ask[float64](v, `(() => { const s = document.querySelector("svg.`+want+`"); return s.getBoundingClientRect().width / s.viewBox.baseVal.width; })()`)
	require.InDelta(v, 1, scale, 0.12, "the size of the drawing's text")
	texts := ask[[]string](v, `[...document.querySelectorAll("svg.`+want+` text")].map(t => t.textContent)`)
	all := strings.Join(texts, "\n")
	for _, text := range []string{"The account", "azcosmos-ha", "plain azcosmos", "answered by", "attempts at", "deadline", "breaker", "failed", "topology"} {
		require.Contains(v, all, text)
	}
	outside := ask[[]string](v, `(() => { const s = document.querySelector("svg.`+want+`"), b = s.getBoundingClientRect();
		return [...s.querySelectorAll("text, rect, path, circle")].filter(e => !e.closest("defs")).filter(e => {
			const r = e.getBoundingClientRect();
			return r.left < b.left - 1 || r.right > b.right + 1 || r.top < b.top - 1 || r.bottom > b.bottom + 1;
		}).map(e => e.tagName + " " + e.getAttribute("class") + " " + e.textContent); })()`)
	require.Empty(v, outside, "outside of the drawing")
	name := ask[string](v, `(() => { const s = document.querySelector("svg.`+want+`");
		return s.getAttribute("role") + ": " + s.getAttribute("aria-labelledby").split(" ").map(i => document.getElementById(i).textContent).join(" | "); })()`)
	require.Contains(v, name, "img: Latency, regions, faults and decisions over time | Time runs from left to right")
	require.Contains(v, name, "West US hangs")
}

// TestReportFile: the picture is one file, and needs no server.
func TestReportFile(t *testing.T) {
	browser := start(t)
	file := drill(t)
	v := open(t, browser, "file://"+file, look{"light", 700, true})
	v.readable(look{"light", 700, true}, "azcosmos-ha lost")
	v.picture("report-file-700")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(content), "<script")
	require.NotContains(t, string(content), "http://")
	require.NotContains(t, string(content), "https://")
}
