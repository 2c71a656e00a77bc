package telemetry

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
)

// refreshSeconds is how often the page loads itself anew.
const refreshSeconds = 5

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	page = template.Must(template.New("page").Parse(pageHTML))

	// pagePolicy allows the page its own style and nothing else.
	pagePolicy = "default-src 'none'; style-src 'sha256-" + hashOf(pageCSS) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Handler returns the state page: what is unwell, since when, why, and what
// happens next, for people, and the same as JSON to "Accept: application/json"
// or "?format=json". It reads only, and calls state once for each request; pass
// the State method of the Middleware.
//
//	mux.Handle("GET /debug/cosmos", guard(telemetry.Handler(ha.State)))
//
// Mount it on an internal port, behind whatever guards your other debugging
// pages: it tells the names of accounts, regions, databases and containers, and
// what is wrong with them, though no keys, item ids or tokens. It needs no
// script and no other file, and loads itself anew every 5 seconds.
//
// Other methods than GET and HEAD get 405. The page is built before anything is
// written, so an error is a plain 500.
func Handler(state func() State) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Add("Vary", "Accept")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the state can only be read", http.StatusMethodNotAllowed)
			return
		}
		content, kind, err := render(state(), r)
		if err != nil {
			http.Error(w, "the state could not be shown", http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", kind)
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
		}
	})
}

// render makes the answer to a request.
func render(s State, r *http.Request) (content []byte, kind string, err error) {
	query := r.URL.Query()
	if query.Get("format") == "json" || wantsJSON(r.Header.Get("Accept")) {
		content, err = json.MarshalIndent(s, "", "  ")
		return append(content, '\n'), "application/json", err
	}
	v := newView(s)
	if query.Get("refresh") != "off" {
		v.Refresh = refreshSeconds
	}
	var b bytes.Buffer
	err = page.Execute(&b, v)
	return b.Bytes(), "text/html; charset=utf-8", err
}

// wantsJSON reports whether JSON is asked for by name, and before HTML.
func wantsJSON(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "application/json":
			return !strings.Contains(strings.ReplaceAll(parameters, " ", ""), "q=0")
		case "text/html":
			return false
		}
	}
	return false
}
