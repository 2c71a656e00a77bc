package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const chromium = "/usr/bin/chromium"

// patience is how long a page may take on a busy machine.
const patience = time.Minute

// look is a way to look at a page.
type look struct {
	scheme  string // light or dark
	width   int64
	scripts bool
}

func (l look) String() string {
	scripts := "scripts"
	if !l.scripts {
		scripts = "noscripts"
	}
	return fmt.Sprintf("%s-%d-%s", l.scheme, l.width, scripts)
}

// looks are all that the pages are held to.
func looks() (list []look) {
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			for _, scripts := range []bool{true, false} {
				list = append(list, look{scheme, width, scripts})
			}
		}
	}
	return list
}

// start starts a browser with a profile of its own, which ends with the test.
func start(t *testing.T) context.Context {
	t.Helper()
	if _, err := os.Stat(chromium); err != nil {
		if os.Getenv("CHROMIUM") != "required" {
			t.Skip("chromium is not at " + chromium + ": apt-get install chromium")
		}
		require.NoError(t, err, "CHROMIUM=required")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(patience),
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return ctx
}

// visit is a page that is open in a tab.
type visit struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex // guards all below
	said     []string   // by the console, and of errors
	requests []string   // that the page made
}

// open opens an address in a new tab, which is closed at the test's end.
func open(t *testing.T, browser context.Context, address string, l look) *visit {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank"))) // the tab lives as long as this context
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	v := &visit{T: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, v.hear))
	call(v, network.Enable, network.EnableParams{})
	call(v, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: l.width, Height: 900, DeviceScaleFactor: 1, Mobile: l.width < 600,
	})
	call(v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
	})
	call(v, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !l.scripts})
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(address)))
	return v
}

// call runs a command of the debugger.
func call[P, R any](v *visit, command cdp.Command[P, R], parameters P) R {
	v.Helper()
	result, err := chromedp.Call(v.ctx, command, parameters)
	require.NoError(v, err)
	return result
}

// hear collects what should not be.
func (v *visit) hear(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		v.said = append(v.said, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		v.said = append(v.said, string(e.Type))
	case *log.EventEntryAdded:
		v.said = append(v.said, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			v.requests = append(v.requests, e.Request.URL)
		}
	}
}

func (v *visit) heard() (said, requests []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.said...), append([]string(nil), v.requests...)
}

// ask evaluates an expression in the page. The debugger may do so where the page's own scripts may not.
func ask[T any](v *visit, expression string) T {
	v.Helper()
	answer, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(v, err)
	return answer
}

// readable checks what holds for every page: it fits, says the texts, is quiet, loads nothing, and has the colours asked for.
func (v *visit) readable(l look, texts ...string) {
	v.Helper()
	wide := ask[map[string]float64](v, `({content: document.documentElement.scrollWidth, window: innerWidth})`)
	require.InDelta(v, l.width, wide["window"], 0)
	require.LessOrEqual(v, wide["content"], wide["window"], "horizontal scroll")
	beyond := ask[[]string](v, `[...document.querySelectorAll("body *")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 1 && (r.right > innerWidth + 1 || r.left < -1) && !e.closest("defs");
	}).map(e => e.tagName + "." + e.getAttribute("class") + ": " + e.textContent.slice(0, 60))`)
	require.Empty(v, beyond, "beyond the window")
	text := strings.ToLower(ask[string](v, `document.body.innerText`))
	for _, want := range texts {
		require.Contains(v, text, strings.ToLower(want))
	}
	light := ask[float64](v, `getComputedStyle(document.documentElement).colorScheme && (() => {
		let e = document.body, c;
		do { c = getComputedStyle(e).backgroundColor.match(/[\d.]+/g).map(Number); e = e.parentElement; } while (e && c[3] === 0);
		return (c[0] + c[1] + c[2]) / 765;
	})()`)
	if l.scheme == "dark" {
		require.Less(v, light, 0.25, "background")
	} else {
		require.Greater(v, light, 0.75, "background")
	}
	require.Empty(v, ask[[]string](v, faint), "text that can hardly be read")
	said, requests := v.heard()
	require.Empty(v, said, "console")
	require.Len(v, requests, 1, "the page alone is loaded")
}

// faint finds text without the contrast of 4.5 to 1 that is asked for in WCAG 2.2 (1.4.3), on plain backgrounds.
const faint = `(() => {
	const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const lum = c => { const l = [0, 1, 2].map(i => { const x = c[i] / 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; });
		return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
	const back = e => { const stack = [];
		for (; e; e = e.parentElement) stack.push(parse(getComputedStyle(e).backgroundColor));
		let c = [255, 255, 255, 1];
		for (const s of stack.reverse()) if (s[3] > 0) c = over(s, c);
		return c; };
	const out = [];
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest("svg") || e.checkVisibility && !e.checkVisibility()) continue;
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		const b = back(e), f = over(parse(getComputedStyle(e).color), b), x = lum(f), y = lum(b);
		const ratio = (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
		if (ratio < 4.5) out.push(ratio.toFixed(2) + " " + e.tagName + ": " + e.textContent.trim().slice(0, 40));
	}
	return out;
})()`

// keeps checks that the page's policy forbids what a stranger might bring in. The browser complains of it, so it comes last.
func (v *visit) keeps() {
	v.Helper()
	require.False(v, ask[bool](v, `(() => {
		const s = document.createElement("script"); s.textContent = "window.strange = true"; document.head.append(s);
		return window.strange === true;
	})()`), "a script ran")
	require.NotEqual(v, "9px", ask[string](v, `(() => {
		const s = document.createElement("style"); s.textContent = "body { letter-spacing: 9px }"; document.head.append(s);
		return getComputedStyle(document.body).letterSpacing;
	})()`), "a style was taken")
	require.True(v, ask[bool](v, `new Promise(done => {
		document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective === "img-src"));
		new Image().src = "/strange.png";
	})`), "an image was asked for")
}

// screenshots is where they go, decided once.
var screenshots = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		return dir, os.MkdirAll(dir, 0o755)
	}
	if !testing.Verbose() {
		return "", nil
	}
	return os.MkdirTemp("", "azcosmos-ha-screenshots-")
})

// picture takes a screenshot of the whole page.
func (v *visit) picture(name string) {
	v.Helper()
	dir, err := screenshots()
	require.NoError(v, err)
	beyond := true
	shot := call(v, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond}).Data
	require.NotEmpty(v, shot)
	if dir == "" {
		return
	}
	file := filepath.Join(dir, name+".png")
	require.NoError(v, os.WriteFile(file, shot, 0o644))
	v.Log("screenshot", file)
}
