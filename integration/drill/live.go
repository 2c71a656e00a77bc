package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// lineWidth is what fits every terminal: a line that wraps could not be overwritten.
const lineWidth = 79

// live is the line that shows a run while it lasts. A nil one shows nothing; all methods may be called on it. It is used by one goroutine.
type live struct {
	out     io.Writer
	stop    chan struct{}
	stopped sync.WaitGroup
}

// newLive returns nil unless the writer is a terminal.
func newLive(w io.Writer) *live {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &live{out: w}
}

// begin shows a phase until end.
func (l *live) begin(phase string, sides []*recorder) {
	if l == nil {
		return
	}
	l.stop = make(chan struct{})
	begun := time.Now()
	l.stopped.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			fmt.Fprint(l.out, "\r\x1b[K", liveLine(phase, time.Since(begun), sides))
			select {
			case <-ticker.C:
			case <-l.stop:
				fmt.Fprint(l.out, "\r\x1b[K")
				return
			}
		}
	})
}

// end clears the line.
func (l *live) end() {
	if l == nil {
		return
	}
	close(l.stop)
	l.stopped.Wait()
}

// liveLine is the line at one moment: how many requests of each side were served, failed, and are under way.
func liveLine(phase string, passed time.Duration, sides []*recorder) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %.1fs", phase, passed.Seconds())
	for i, name := range []string{"ha", plain}[:len(sides)] {
		ok, failed, open := sides[i].counts()
		fmt.Fprintf(&b, " | %s %d ok %d failed %d open", name, ok, failed, open)
	}
	line := []rune(b.String())
	return string(line[:min(len(line), lineWidth)])
}
