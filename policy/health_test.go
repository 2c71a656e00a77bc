package policy_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// concurrently makes n calls at once, and requires the outcome of each.
func (w *world) concurrently(n int, c call, outcome string) {
	w.Helper()
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() {
			got, _ := w.do(w.Context(), c)
			require.Equal(w, outcome, got)
		})
	}
	clients.Wait()
}

// sent is how many requests on items each region got.
func (w *world) sent() map[string]int {
	count := map[string]int{}
	for r := range strings.FieldsSeq(w.data()) {
		count[r]++
	}
	return count
}

// slowly gives every region a latency, so that concurrent requests overlap.
func slowly(o gateway.Options) gateway.Options {
	o.Latency = map[string]time.Duration{A: 5 * time.Millisecond, B: 5 * time.Millisecond, C: 5 * time.Millisecond}
	return o
}

// TestHealthMarks: what marks a region, for which requests: the next request
// of the same kind asks it last, one of the other kind as before.
func TestHealthMarks(t *testing.T) {
	only := func(r gateway.Rule, operation string) gateway.Rule {
		r.Operations = []string{operation}
		return r
	}
	tests := []struct {
		name    string
		account gateway.Options
		rule    gateway.Rule
		call    call
		first   string
		reads   string // where the next read goes
		writes  string // where the next write goes
	}{
		{"refused read", multi, only(fault(A, gateway.Refuse), "readop"), read, "A B", "B", "A"},
		{"refused write", multi, only(fault(A, gateway.Refuse), "write"), upsert, "A B", "A", "B"},
		{"refused query", single, only(fault(A, gateway.Refuse), "readop"), query, "A B", "B", "A"},
		{"refused metadata read", single, only(fault(A, gateway.Refuse), "meta"), readContainer, "A B", "B", "A"},
		{"403/3", multi, only(status(A, 403, 3), "write"), upsert, "A B", "A", "B"},
		{"403/1008 read", multi, only(status(A, 403, 1008), "readop"), read, "A B", "B", "A"},
		{"403/1008 write", multi, only(status(A, 403, 1008), "write"), upsert, "A B", "A", "B"},
		{"503", multi, only(status(A, 503, 0), "readop"), read, "A B", "A", "A"},
		{"408", multi, only(status(A, 408, 0), "readop"), read, "A B", "A", "A"},
		{"404/1002", multi, only(status(A, 404, 1002), "readop"), read, "A B", "A", "A"},
		{"403/3 read", multi, only(status(A, 403, 3), "readop"), read, "A B", "A", "A"},
		{"reset", multi, only(fault(A, gateway.Reset), "readop"), read, "A B", "A", "A"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, setup{gateway: test.account}, func(w *world) {
				w.Inject(test.rule)
				w.expect(test.call, "200", test.first, 0)
				w.RemoveAll()
				w.expect(read, "200", test.reads, 0)
				w.expect(query, "200", test.reads, 0)
				w.expect(readContainer, "200", test.reads, 0)
				w.expect(upsert, "200", test.writes, 0)
				w.expect(batch, "200", test.writes, 0)
			})
		})
	}
}

// TestHealthNeverRemoves: a marked region is asked when the others fail, and
// when all are marked the order is what it was.
func TestHealthNeverRemoves(t *testing.T) {
	inWorld(t, setup{policy: noBreaker}, func(w *world) {
		w.Down(A)
		w.expect(read, "200", "A B", 0)
		w.Inject(status(B, 503, 0))
		w.Inject(status(C, 503, 0))
		w.expect(read, "error", "B C A", 0)
		w.RemoveAll()
		w.Down(B)
		w.expect(read, "200", "B C", 0)
		w.Down(C)
		w.expect(read, "error", "C A B", 0)
		w.expect(read, "error", "A B C", 0)
		w.Up(C)
		w.expect(read, "200", "A B C", 0)
	})
	// The write region of a single-write account has no other place to be in.
	inWorld(t, setup{}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Kind: gateway.Refuse, Hits: 2})
		w.expect(upsert, "error", "A A", 0)
		w.expect(upsert, "200", "A", 0)
	})
}

// TestHealthTrial: 30 s after the mark exactly one of a hundred concurrent
// requests is let through; its success clears the mark.
func TestHealthTrial(t *testing.T) {
	for name, c := range map[string]call{"read": read, "write": upsert} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, setup{gateway: slowly(multi)}, func(w *world) {
				w.Down(A)
				w.expect(c, "200", "A B", 5*time.Millisecond)
				marked := time.Now().Add(-5 * time.Millisecond) // refused at once, then B answered
				w.Up(A)
				time.Sleep(time.Until(marked.Add(30*time.Second - time.Nanosecond)))
				w.ResetLog()
				w.concurrently(100, c, "200")
				require.Equal(w, map[string]int{"B": 100}, w.sent(), "too early")

				w.ResetLog()
				w.concurrently(100, c, "200")
				require.Equal(w, map[string]int{"A": 1, "B": 99}, w.sent())
				w.ResetLog()
				w.concurrently(100, c, "200")
				require.Equal(w, map[string]int{"A": 100}, w.sent(), "cleared")
			})
		})
	}
}

// TestHealthTrialFails: a trial that is refused goes on to the next region and
// renews the mark.
func TestHealthTrialFails(t *testing.T) {
	inWorld(t, setup{gateway: slowly(multi), policy: noBreaker}, func(w *world) {
		refuse := w.Inject(gateway.Rule{Region: A, Kind: gateway.Refuse, Delay: 5 * time.Millisecond})
		w.expect(read, "200", "A B", 10*time.Millisecond)
		for range 12 { // longer than a mark without renewal lasts
			time.Sleep(30 * time.Second)
			w.ResetLog()
			w.concurrently(100, read, "200")
			require.Equal(w, map[string]int{"A": 1, "B": 100}, w.sent())
			time.Sleep(29 * time.Second)
			w.ResetLog()
			w.concurrently(10, read, "200")
			require.Equal(w, map[string]int{"B": 10}, w.sent(), "renewed")
		}
		refuse.Remove()
		time.Sleep(time.Second)
		w.expect(read, "200", "A", 5*time.Millisecond)
		w.expect(read, "200", "A", 5*time.Millisecond)
	})
}

// TestHealthTrialWithoutVerdict: a trial that says nothing about the endpoint,
// or that its caller gives up, lets the next request try; the mark stays.
func TestHealthTrialWithoutVerdict(t *testing.T) {
	marked := func(w *world) {
		w.Down(A)
		w.expect(read, "200", "A B", 0)
		w.Up(A)
		time.Sleep(30 * time.Second)
	}
	t.Run("503", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			marked(w)
			w.Inject(gateway.Rule{Region: A, Status: 503, Hits: 2})
			w.expect(read, "200", "A B", 0)
			w.expect(read, "200", "A B", 0)
			w.expect(read, "200", "A", 0)
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			marked(w)
			w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang, Hits: 1})
			ctx, cancel := context.WithCancel(w.Context())
			time.AfterFunc(time.Second, cancel)
			time.AfterFunc(time.Second/2, func() {
				got, _ := w.do(w.Context(), read)
				require.Equal(w, "200", got)
			})
			w.expectWith(ctx, alone(read), "cancelled", "A B", time.Second) // B: the other one, while the trial was in flight
			w.expect(read, "200", "A", 0)
		})
	})
}

// TestHealthLapses: after 5 minutes a mark is over for everybody; just before,
// there is still one trial at a time.
func TestHealthLapses(t *testing.T) {
	for wait, want := range map[time.Duration]map[string]int{
		5*time.Minute - time.Nanosecond: {"A": 1, "B": 99},
		5 * time.Minute:                 {"A": 100},
	} {
		inWorld(t, setup{gateway: slowly(single)}, func(w *world) {
			w.Down(A)
			w.expect(read, "200", "A B", 5*time.Millisecond)
			w.Up(A)
			time.Sleep(wait - 5*time.Millisecond)
			w.ResetLog()
			w.concurrently(100, read, "200")
			require.Equal(w, want, w.sent())
		})
	}
}

// TestHealthOfARegionThatReturns: a region that left the account and came back
// starts well.
func TestHealthOfARegionThatReturns(t *testing.T) {
	inWorld(t, setup{gateway: multi}, func(w *world) {
		refresh := func(r string) { // by an answer that asks for it; the next may come after a second
			w.Inject(gateway.Rule{Region: r, Operations: []string{"write"}, Status: 403, SubStatus: 1008, Hits: 1})
			_, _ = w.do(w.Context(), upsert)
			synctest.Wait()
			time.Sleep(time.Second)
		}
		w.Down(A)
		w.expect(read, "200", "A B", 0)
		w.expect(read, "200", "B", 0)
		synctest.Wait()
		time.Sleep(time.Second)
		w.SetRegions(B, C)
		refresh(B)
		w.Up(A)
		w.SetRegions(A, B, C)
		refresh(C)
		w.expect(read, "200", "A", 0)
	})
}
