package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// settings are what the command line asks for.
type settings struct {
	quick  bool
	effort effort
	out    string
	readme string   // the file whose tables are written anew; "": none
	parts  []string // of the report; none means all
}

// wants reports whether a part of the report is asked for.
func (s settings) wants(part string) bool { return len(s.parts) == 0 || slices.Contains(s.parts, part) }

// partNames are what -parts takes.
var partNames = []string{"healthy", "scale", "cores", "virtual", "loopback"}

// parse reads the command line.
func parse(args []string, errs io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.BoolVar(&s.quick, "quick", false, "measure less, in under a minute, and end with status 1 if a promise is broken")
	flags.StringVar(&s.out, "o", "", "write the tables to this `file` too")
	flags.StringVar(&s.readme, "readme", "", "write the tables between the markers of this `file` anew, those of the parts that are measured")
	flags.Func("parts", "measure these parts only: "+strings.Join(partNames, ","), func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			if !slices.Contains(partNames, part) {
				return fmt.Errorf("there is no part %q", part)
			}
			s.parts = append(s.parts, part)
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q", flags.Arg(0))
		fmt.Fprintln(errs, err)
		return s, err
	}
	s.effort = full
	if s.quick {
		s.effort = quick
	}
	return s, nil
}

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	out := os.Stdout
	asTest(func(t *testing.T) {
		if err := run(t, s, out, os.Stderr); err != nil {
			t.Error(err)
		}
	})
}

// errBroken ends a quick run in which a promise was broken.
var errBroken = errors.New("a promise is broken: see the last table")

// run measures and writes the tables.
func run(t *testing.T, s settings, out, progress io.Writer) error {
	if err := s.checkReadme(); err != nil { // rather than after ten minutes
		return err
	}
	r, err := measure(t, s, func(part string) { fmt.Fprintln(progress, "measuring:", part) })
	if err != nil {
		return err
	}
	page := r.markdown()
	if _, err := out.Write(page); err != nil {
		return err
	}
	if s.out != "" {
		if err := os.WriteFile(s.out, page, 0o644); err != nil {
			return err
		}
	}
	if s.readme != "" {
		if err := updateFile(s.readme, r.quotes); err != nil {
			return err
		}
	}
	if s.quick && !kept(r.promises) {
		return errBroken
	}
	return nil
}

// checkReadme is the error for a README without a place for what is going to be measured.
func (s settings) checkReadme() error {
	if s.readme == "" {
		return nil
	}
	text, err := os.ReadFile(s.readme)
	if err != nil {
		return err
	}
	wanted := slices.DeleteFunc(slices.Clone(partNames), func(part string) bool { return !s.wants(part) })
	if err := checkMarkers(string(text), wanted); err != nil {
		return fmt.Errorf("%s: %w", s.readme, err)
	}
	return nil
}
