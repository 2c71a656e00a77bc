// Package browser opens what the project shows people in headless Chromium, while a region is lost: the state page of package
// telemetry, and the picture of the drill. Each is opened light and dark, on a telephone's width and a screen's, with scripts
// and without.
//
// It is a module of its own, so that a browser driver is nobody's dependency. The tests need /usr/bin/chromium, Debian's, and
// are skipped without it unless CHROMIUM=required:
//
//	CHROMIUM=required go -C integration/browser test -v ./...
//
// The screenshots are kept in a new directory, whose name -v prints, or in that of $SCREENSHOTS.
package browser
