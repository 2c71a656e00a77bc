package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// rivals are the contenders of the scenarios.
var rivals = []contender{plain, ours, failsafe1, failsafeN, hedged}

// block is what all contenders made of one scenario; plain azcosmos is the first.
type block struct {
	scenario
	outcomes []outcome
}

// virtualBlocks runs all scenarios in virtual time, one after the other.
func virtualBlocks(t *testing.T, l load) ([]block, error) {
	var list []block
	for _, sc := range scenarios() {
		b := block{scenario: sc}
		for _, c := range rivals {
			o, err := inVirtualTime(t, sc, c, l)
			if err != nil {
				return nil, err
			}
			b.outcomes = append(b.outcomes, o)
		}
		list = append(list, b)
	}
	return list, nil
}

// loopbackBlocks runs the scenarios over loopback, so many at once, and all contenders of a scenario at once: each has an account
// of its own and is idle for most of the time.
func loopbackBlocks(l load, contenders []contender, atOnce int) ([]block, error) {
	list := make([]block, len(scenarios()))
	errs := make(chan error, len(list)*len(contenders))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, sc := range scenarios() {
		list[i] = block{sc, make([]outcome, len(contenders))}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			var one sync.WaitGroup
			for j, c := range contenders {
				one.Go(func() {
					var err error
					if list[i].outcomes[j], err = overLoopback(sc, c, l); err != nil {
						errs <- err
					}
				})
			}
			one.Wait()
		})
	}
	all.Wait()
	close(errs)
	return list, <-errs
}

// scenarioTable shows blocks.
func scenarioTable(title, how string, l load, blocks []block) *table {
	t := &table{title: title, text: 2, columns: []string{
		"scenario", "contender", "lost", "failed", "first success", "× plain", "p50", "p99", "p99.9", "× plain", "extra requests",
	}}
	var what strings.Builder
	for _, b := range blocks {
		fmt.Fprintf(&what, "\n* **%s**: %s.", b.name, b.what)
		for i, o := range b.outcomes {
			name := b.name
			if i > 0 {
				name = ""
			}
			base := b.outcomes[0]
			t.add(name, o.contender, strconv.Itoa(o.lost), strconv.Itoa(o.failed), short(o.first), against(o.first, base.first),
				short(o.p50), short(o.p99), short(o.p999), against(o.p999, base.p999), signed(o.extra))
		}
	}
	t.how = fmt.Sprintf("%s %d requests in each row, %d a second whatever becomes of those before them, each with a deadline of %v. "+
		"Round trips: %v to the first region, %v elsewhere. Hedging after %v for all who hedge. lost: failed, though a healthy region could have served the request from its beginning on; "+
		"first success: from the first request concerned by the fault to the first answer to one of those; times include failures; "+
		"extra requests: sent beyond one for each call, refused ones among them, negative when calls failed without being sent.\n%s",
		how, int(l.span.Seconds()*float64(l.rate)), l.rate, deadline, nearby, distant, threshold, what.String())
	return t
}

// against is a ratio of times; there is none when one of them does not exist.
func against(d, by time.Duration) string {
	if d < 0 || by <= 0 {
		return none
	}
	return times(float64(d) / float64(by))
}
