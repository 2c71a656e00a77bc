package main

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// report is all that a run has found.
type report struct {
	tables   []*table
	promises []promise
	quotes   map[string]string // for a README, by part
}

// wireSlack is what an answer over loopback may come late on a busy machine.
const wireSlack = 400 * time.Millisecond

// measure makes the report. tell says what is being done.
func measure(t *testing.T, s settings, tell func(string)) (*report, error) {
	r := &report{quotes: map[string]string{}}
	for _, part := range []struct {
		name string
		do   func(*testing.T, settings, effort) error
	}{
		{"healthy", r.healthy}, {"scale", r.scale}, {"cores", r.cores}, {"virtual", r.virtual}, {"loopback", r.loopback},
	} {
		if s.wants(part.name) {
			tell(part.name)
			if err := part.do(t, s, s.effort); err != nil {
				return nil, fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	if len(r.promises) > 0 {
		r.tables = append(r.tables, promiseTable(r.promises))
	}
	return r, nil
}

func (r *report) healthy(_ *testing.T, s settings, e effort) error {
	list, perByte, err := healthyCosts(e)
	if err != nil {
		return err
	}
	reads := list[0]
	if s.quick {
		reads, err = retryCosts(reads, 3, func() ([]cost, error) {
			return costs(operations[0], []contender{plain, oursOff, ours}, e.sittings, plan{2 * e.rounds, 1, true}, perByte)
		})
	}
	r.tables, r.promises = append(r.tables, healthyTable(e, list, perByte)), append(r.promises, costPromises(reads)...)
	r.quotes["healthy"] = quoteHealthy(s, list, perByte)
	return err
}

func (r *report) scale(_ *testing.T, s settings, e effort) error {
	t, err := scaleTable(e)
	if err != nil {
		return err
	}
	shares, err := measureLookups(e)
	r.tables, r.promises = append(r.tables, t, lookupTable(shares)), append(r.promises, sharePromises(shares)...)
	r.quotes["scale"] = quoteScale(s, t)
	return err
}

func (r *report) cores(_ *testing.T, s settings, e effort) error {
	t, err := coresTable(e)
	if err != nil {
		return err
	}
	r.tables = append(r.tables, t)
	if len(t.rows) > 0 { // else there was one processor
		r.quotes["cores"] = quoteCores(s, t)
	}
	return nil
}

func (r *report) virtual(t *testing.T, s settings, e effort) error {
	l := load{e.span, e.rate}
	blocks, err := virtualBlocks(t, l)
	if err != nil {
		return err
	}
	r.tables = append(r.tables, scenarioTable("Scenarios, in virtual time",
		"The real clients in a testing/synctest bubble over an account in memory. "+virtualWords, l, blocks))
	r.promises = append(r.promises, scenarioPromises("virtual time", blocks, 0)...)
	r.quotes["virtual"] = quoteVirtual(s, l, blocks)
	return nil
}

func (r *report) loopback(_ *testing.T, s settings, e effort) error {
	l, contenders, atOnce := load{e.wire, e.wireRate}, rivals, 2
	if s.quick {
		contenders, atOnce = []contender{plain, ours}, 10
	}
	blocks, err := loopbackBlocks(l, contenders, atOnce)
	if err != nil {
		return err
	}
	r.tables = append(r.tables, scenarioTable("Scenarios, over loopback",
		"HTTP/2 over TLS, real sockets, listeners of an account with the round trips added; all contenders of a scenario at once, each with an account of its own.", l, blocks))
	r.promises = append(r.promises, scenarioPromises("loopback", blocks, wireSlack)...)
	r.quotes["loopback"] = quoteLoopback(s, l, blocks)
	return nil
}

// markdown is the report as a page.
func (r *report) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## Benchmarks\n\n%s on %d CPUs; %s. Everything in one run of `go -C integration/bench run .`; "+
		"what the contenders are made of is in its doc.go.\n\n", runtime.Version(), runtime.NumCPU(), versions())
	for _, t := range r.tables {
		t.render(&b)
	}
	return b.Bytes()
}

// versions are those of the modules that are compared.
func versions() string {
	var list []string
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown versions"
	}
	for _, m := range info.Deps {
		for _, name := range []string{"sdk/azcore", "azcosmos", "failsafe-go", "hedgedhttp"} {
			if strings.HasSuffix(m.Path, "/"+name) {
				list = append(list, name[strings.LastIndex(name, "/")+1:]+" "+m.Version)
			}
		}
	}
	return strings.Join(list, ", ")
}
