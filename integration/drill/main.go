package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the command; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	if err != nil {
		return explain(err, stdout, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return perform(ctx, s, stdout, stderr)
}

// perform runs the drill that the settings ask for.
func perform(ctx context.Context, s settings, stdout, stderr io.Writer) int {
	c, err := prepare(ctx, s)
	if e, bad := errors.AsType[*flagError](err); bad {
		return explain(e, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "drill:", err)
		return 1
	}
	if c.export, err = newExport(ctx, s.otlp); err != nil {
		return explain(err, stdout, stderr)
	}
	var l *live
	if !s.json {
		fmt.Fprint(stdout, c.describe())
		l = newLive(stdout)
	}
	d, err := newDrill(ctx, c, l)
	if err == nil {
		err = d.run(ctx)
	}
	err = errors.Join(err, d.close())
	d.report.broken = err != nil
	err = errors.Join(err, c.export.close(stderr), d.draw())
	switch {
	case s.json:
		err = errors.Join(err, d.report.json(stdout))
	case len(d.report.rows) > 0:
		fmt.Fprintln(stdout)
		d.report.render(stdout)
		if s.picture != "" {
			fmt.Fprintln(stdout, "\nThe picture is in", s.picture)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "drill:", err)
	}
	if err == nil && d.report.passed() {
		return 0
	}
	return 1
}

// describe says what is about to be done, and to what.
func (c *cast) describe() string {
	var b strings.Builder
	kind := "single-write"
	if c.multiWrite {
		kind = "multi-write"
	}
	preferred := "none"
	if len(c.preferred) > 0 {
		preferred = strings.Join(c.preferred, ", ")
	}
	fmt.Fprintf(&b, "A %s account in %s; preferred regions: %s.\n", kind, strings.Join(c.regions, ", "), preferred)
	switch {
	case c.direct != nil:
		fmt.Fprintf(&b, "It is the account at %s. It has several regions of its own: there is a load only, and no faults.\n", c.endpoint)
	case c.upstream != nil:
		fmt.Fprintf(&b, "Its regions are gateways before %s.\n", c.endpoint)
	}
	protocol := "HTTP/2 over TLS"
	if c.protocol == gateway.HTTP1 {
		protocol = "HTTP/1.1"
	}
	if c.direct != nil {
		protocol = "what the account speaks"
	}
	fmt.Fprintf(&b, "%d requests a second on each side, %.0f %% reads, over %s; deadline %v, attempts of %s %s.\n",
		c.rate, c.reads*100, protocol, c.timeout, ours, bound(c.attemptTimeout))
	return b.String()
}

func bound(d time.Duration) string {
	if d == 0 {
		return "unbounded"
	}
	return "at most " + d.String()
}
