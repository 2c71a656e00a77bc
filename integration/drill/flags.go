package main

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// settings is what the flags ask for.
type settings struct {
	regions    []string // of the account, the write region first
	multiWrite bool
	preferred  []string // as the account spells them; empty: no preferred regions
	chosen     bool     // preferred was given
	faults     []fault
	fresh      bool

	rate  int     // requests a second, on each side
	reads float64 // share of reads
	seed  uint64

	phase, failoverAfter, slow time.Duration
	timeout, attemptTimeout    time.Duration

	protocol      gateway.Protocol
	endpoint, key string
	client        *http.Client // for endpoint; nil: one of the drill's own

	plain, json bool

	otlp    string // URL of a collector; "": what the environment says
	picture string // file of the HTML report; "": none
}

// flagError is a flag that cannot be used.
type flagError struct {
	flag, value string // value is left empty for a secret
	reason      string
}

func (e *flagError) Error() string {
	if e.value == "" {
		return fmt.Sprintf("-%s: %s", e.flag, e.reason)
	}
	return fmt.Sprintf("-%s %q: %s", e.flag, e.value, e.reason)
}

// Bounds of -rate: what two cores serve in one process.
const maxRate = 2000

// words are the flags that are parsed further.
type words struct{ regions, preferred, faults, protocol string }

// define makes the flags with their defaults.
func define(s *settings, w *words) *flag.FlagSet {
	f := flag.NewFlagSet("drill", flag.ContinueOnError)
	f.SetOutput(io.Discard) // run prints errors, once
	f.StringVar(&w.regions, "regions", "North Central US,West US,Central US", "`names` of the account's regions, the write region first")
	f.BoolVar(&s.multiWrite, "multi-write", false, "every region takes writes")
	f.StringVar(&w.preferred, "preferred", "", "`names` of the preferred regions, most wanted first, or none (default: all, beginning with the second; with -multi-write with the first)")
	f.StringVar(&w.faults, "faults", "refuse,503,hang", "`list` of kind or kind@region: refuse, 503, hang, slow, reset, stream; empty for none (default region: the first preferred one)")
	f.BoolVar(&s.fresh, "fresh", true, "new clients before each fault")
	f.IntVar(&s.rate, "rate", 100, "requests a second on each side")
	f.Float64Var(&s.reads, "reads", 0.8, "share of reads, 0 to 1")
	f.Uint64Var(&s.seed, "seed", 1, "of the load")
	f.DurationVar(&s.phase, "phase", 2500*time.Millisecond, "duration of each phase")
	f.DurationVar(&s.failoverAfter, "failover-after", 0, "when the service moves a lost write region, after the loss; not within the phase: never (default: half of -phase)")
	f.DurationVar(&s.slow, "slow", time.Second, "how late the answers of a slow region are")
	f.DurationVar(&s.timeout, "timeout", 3*time.Second, "the caller's deadline for each request, on both sides")
	f.DurationVar(&s.attemptTimeout, "attempt-timeout", 500*time.Millisecond, "policy.RetryOptions.AttemptTimeout; 0 for none")
	f.StringVar(&w.protocol, "protocol", "h2", "of the gateways: http1, or h2 over TLS")
	f.StringVar(&s.endpoint, "endpoint", "", "`URL` of an emulator or account (default: a store in process)")
	f.StringVar(&s.key, "key", "", "its account key (default: $COSMOS_EMULATOR_KEY, or else the emulators' well-known key)")
	f.BoolVar(&s.plain, "plain", true, "run plain azcosmos beside")
	f.BoolVar(&s.json, "json", false, "print the table as JSON, and nothing else")
	f.StringVar(&s.otlp, "otlp", "", "`URL` of an OTLP/HTTP collector that takes the traces and metrics of our side, such as http://127.0.0.1:4318 (default: what the OTEL_EXPORTER_OTLP_* variables say, or none)")
	f.StringVar(&s.picture, "report", "", "`file` to write a picture of the run to, as an HTML page (default: none)")
	return f
}

// parse reads the command line. The error is flag.ErrHelp, or about the first flag that cannot be used.
func parse(args []string) (settings, error) {
	var s settings
	var w words
	f := define(&s, &w)
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := s.check(given); err != nil {
		return s, err
	}
	return s, s.refine(w, given)
}

// check returns the first rule about a number, or about the endpoint, that is broken.
func (s *settings) check(given map[string]bool) error {
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"phase", s.phase, time.Millisecond},
		{"failover-after", s.failoverAfter, 0},
		{"slow", s.slow, 0},
		{"timeout", s.timeout, time.Millisecond},
		{"attempt-timeout", s.attemptTimeout, 0},
	} {
		if d.value < d.least {
			return &flagError{d.name, d.value.String(), fmt.Sprintf("must be at least %v", d.least)}
		}
	}
	switch {
	case s.rate < 1 || s.rate > maxRate:
		return &flagError{"rate", strconv.Itoa(s.rate), fmt.Sprintf("must be from 1 to %d", maxRate)}
	case !(s.reads >= 0 && s.reads <= 1):
		return &flagError{"reads", strconv.FormatFloat(s.reads, 'g', -1, 64), "must be from 0 to 1"}
	case s.endpoint == "" && given["key"]:
		return &flagError{flag: "key", reason: "there is no -endpoint"}
	}
	if !given["failover-after"] {
		s.failoverAfter = s.phase / 2
	}
	if err := s.checkOutputs(); err != nil {
		return err
	}
	return s.checkEndpoint()
}

// checkOutputs sees to it before the run that its results have somewhere to go.
func (s *settings) checkOutputs() error {
	if s.otlp != "" {
		if err := checkCollector(s.otlp); err != nil {
			return &flagError{"otlp", s.otlp, err.Error()}
		}
	}
	if s.picture == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(s.picture)); err != nil || !info.IsDir() {
		return &flagError{"report", s.picture, "is in no directory that exists"}
	}
	if info, err := os.Stat(s.picture); err == nil && info.IsDir() {
		return &flagError{"report", s.picture, "is a directory"}
	}
	return nil
}

func (s *settings) checkEndpoint() error {
	if s.key == "" {
		s.key = os.Getenv("COSMOS_EMULATOR_KEY")
	}
	if s.key == "" {
		s.key = gateway.EmulatorKey
	}
	if _, err := base64.StdEncoding.DecodeString(s.key); err != nil {
		return &flagError{flag: "key", reason: "is not base64"}
	}
	if s.endpoint == "" {
		return nil
	}
	u, err := url.Parse(s.endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
		return &flagError{"endpoint", s.endpoint, "must be http:// or https:// with a host, and nothing else"}
	}
	s.endpoint = u.Scheme + "://" + u.Host + "/"
	return nil
}

// refine parses the words.
func (s *settings) refine(w words, given map[string]bool) (err error) {
	s.chosen = given["preferred"]
	switch w.protocol {
	case "http1":
		s.protocol = gateway.HTTP1
	case "h2":
		s.protocol = gateway.TLSHTTP2
	default:
		return &flagError{"protocol", w.protocol, "must be http1 or h2"}
	}
	if s.regions, err = names("regions", w.regions); err != nil {
		return err
	}
	if err := s.prefer(w.preferred); err != nil {
		return err
	}
	victim := s.regions[0]
	if len(s.preferred) > 0 && indexOf(s.regions, s.preferred[0]) >= 0 { // else it waits for what the endpoint has
		victim = s.preferred[0]
	}
	s.faults, err = parseFaults(w.faults, s.regions, victim)
	return err
}

// prefer reads -preferred, or fills in its default. What an endpoint has is not known yet.
func (s *settings) prefer(word string) (err error) {
	switch {
	case word == "none":
	case s.chosen:
		if s.preferred, err = names("preferred", word); err != nil {
			return err
		}
	case s.multiWrite:
		s.preferred = slices.Clone(s.regions)
	default:
		s.preferred = append(slices.Clone(s.regions[1:]), s.regions[0])
	}
	if s.endpoint != "" {
		return nil
	}
	return spell("preferred", s.preferred, s.regions)
}

// names splits a list of regions.
func names(flag, list string) ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case regions.Normalize(name) == "":
			return nil, &flagError{flag, list, "must be names of regions, separated by commas"}
		case indexOf(out, name) >= 0:
			return nil, &flagError{flag, list, "names " + name + " twice"}
		}
		out = append(out, name)
	}
	return out, nil
}

// spell writes names as the account does, in place. The error is about the first that it does not have.
func spell(flag string, list, account []string) error {
	for i, name := range list {
		at := indexOf(account, name)
		if at < 0 {
			return &flagError{flag, name, "is none of the account's regions: " + strings.Join(account, ", ")}
		}
		list[i] = account[at]
	}
	return nil
}

func indexOf(list []string, name string) int {
	return slices.IndexFunc(list, func(r string) bool { return regions.Normalize(r) == regions.Normalize(name) })
}

// explain prints what is wrong with the flags, or the help that was asked for, and returns the exit status.
func explain(err error, stdout, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		var s settings
		var w words
		f := define(&s, &w)
		f.SetOutput(stdout)
		fmt.Fprintln(stdout, "Usage of drill (its package comment says what is counted):")
		f.PrintDefaults()
		return 0
	}
	fmt.Fprintln(stderr, "drill:", err)
	return 2
}
