package main

import (
	"errors"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// asTest runs f as a test of package testing, and ends the process: synctest hands out bubbles to tests only, and testing.Main is
// how a program that go test has not built runs one. What package testing says goes to standard error.
func asTest(f func(*testing.T)) {
	_ = flag.CommandLine.Parse(nil) // package testing reads its flags there, and has none of ours
	os.Stdout = os.Stderr
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "bench", F: f}}, nil, nil)
}

// inBubble runs f in virtual time: its clock goes on when all that it has started is waiting.
func inBubble(t *testing.T, f func() error) (err error) {
	synctest.Test(t, func(*testing.T) {
		err = f()
		// Whatever still waits, a loser of a race, an idle goroutine, comes to its end.
		time.Sleep(time.Hour)
	})
	return err
}

// inVirtualTime runs a scenario for a contender.
func inVirtualTime(t *testing.T, sc scenario, c contender, l load) (o outcome, err error) {
	err = inBubble(t, func() error {
		st, err := newStage(sc, true)
		if err != nil {
			return err
		}
		calls, extra, err := play(st, sc, c, l)
		o = tally(sc, c, calls, extra)
		return err
	})
	return o, err
}

// overLoopback runs a scenario for a contender over real sockets: HTTP/2 over TLS, on loopback listeners.
func overLoopback(sc scenario, c contender, l load) (outcome, error) {
	st, err := newStage(sc, false)
	if err != nil {
		return outcome{}, err
	}
	calls, extra, err := play(st, sc, c, l)
	return tally(sc, c, calls, extra), errors.Join(err, st.close())
}
