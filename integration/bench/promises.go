package main

import (
	"fmt"
	"time"
)

// promise is something that the middleware promises, and whether it was kept.
type promise struct {
	text, found string
	kept        bool
}

// The promises about what a healthy operation costs, beside plain azcosmos.
const (
	overOff, overArmed       = 0.02, 0.05
	objectsOff, objectsArmed = 8, 20
)

// costPromises checks the costs of ReadItem: plain azcosmos, ours with hedging off, ours with hedging armed.
func costPromises(reads []cost) []promise {
	base, off, on := reads[0], reads[1], reads[2]
	over := func(text string, c cost, limit float64) promise {
		return promise{fmt.Sprintf("a healthy ReadItem costs at most %s more, %s", percent(limit), text), percent(c.over() - 1), c.over()-1 <= limit}
	}
	objects := func(text string, c cost, limit float64) promise {
		return promise{fmt.Sprintf("it allocates at most %v objects more, %s", limit, text), whole(c.objects - base.objects), c.objects-base.objects <= limit}
	}
	return []promise{
		over("without hedging", off, overOff), over("with hedging armed", on, overArmed),
		objects("without hedging", off, objectsOff), objects("with hedging armed", on, objectsArmed),
	}
}

// retryCosts measures again, for those who were disturbed, until the promises are kept or have been broken often enough. It
// returns the costs that count.
func retryCosts(reads []cost, tries int, measure func() ([]cost, error)) ([]cost, error) {
	for range tries {
		if kept(costPromises(reads)) {
			break
		}
		again, err := measure()
		if err != nil {
			return nil, err
		}
		reads = again
	}
	return reads, nil
}

func kept(list []promise) bool {
	for _, p := range list {
		if !p.kept {
			return false
		}
	}
	return true
}

// sharePromises checks the decisions.
func sharePromises(shares []share) []promise {
	var list []promise
	for _, s := range shares {
		list = append(list, promise{
			fmt.Sprintf("%s: at most %s of a ReadItem, no allocation", s.name, percent(s.limit)),
			fmt.Sprintf("%s, %s", percent(s.of), whole(s.objects)), s.of <= s.limit && s.objects == 0,
		})
	}
	return list
}

// scenarioPromises checks what ours made of the scenarios. slack is what a machine may be late.
func scenarioPromises(where string, blocks []block, slack time.Duration) []promise {
	var list []promise
	for _, b := range blocks {
		for _, o := range b.outcomes {
			if o.contender != ours.name {
				continue
			}
			text := fmt.Sprintf("%s, %s: no request lost, first success within %s", where, b.name, short(b.atMost+slack))
			if b.because != "" {
				text += ": " + b.because
			}
			list = append(list, promise{
				text,
				fmt.Sprintf("%d lost, %s", o.lost, short(o.first)), o.lost == 0 && o.first >= 0 && o.first <= b.atMost+slack,
			})
		}
	}
	return list
}

// promiseTable shows them.
func promiseTable(list []promise) *table {
	t := &table{title: "Promises", text: 1, columns: []string{"promise", "found", "kept"}}
	for _, p := range list {
		word := "yes"
		if !p.kept {
			word = "**no**"
		}
		t.add(p.text, p.found, word)
	}
	return t
}
