package policy_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// timetable is when which region was asked, from the start of the log: "A@0s B@0s A@1s".
func (w *world) timetable(start time.Time) string {
	var list []string
	for _, e := range w.Log() {
		if e.Operation != "account" {
			list = append(list, fmt.Sprintf("%s@%s", lettersOf([]string{e.Region}), e.At.Sub(start)))
		}
	}
	return strings.Join(list, " ")
}

// TestElectionRounds: while the service elects, all candidates are asked at 0, 1
// and 3 s; a region that takes the write in between is found; a deadline ends
// the search at once when it leaves no time for another round.
func TestElectionRounds(t *testing.T) {
	const (
		one   = "A@0s B@0s C@0s"
		two   = one + " A@1s B@1s C@1s"
		three = two + " A@3s B@3s C@3s"
	)
	tests := []struct {
		name     string
		moves    time.Duration // when C takes the writes; 0: never
		deadline time.Duration // 0: none
		outcome  string
		took     time.Duration
		asked    string
	}{
		{"nobody takes it", 0, 0, "403/3", 3 * time.Second, three},
		{"at the second round", 999 * time.Millisecond, 0, "200", time.Second, two},
		{"at the third round", 1001 * time.Millisecond, 0, "200", 3 * time.Second, three},
		{"after the last round", 3001 * time.Millisecond, 0, "403/3", 3 * time.Second, three},
		{"no time for a second round", 0, time.Second, "403/3", 0, one},
		{"just time for a second round", 0, 1001 * time.Millisecond, "403/3", time.Second, two},
		{"no time for a third round", 0, 3 * time.Second, "403/3", time.Second, two},
		{"time for all", 0, time.Hour, "403/3", 3 * time.Second, three},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				w.Elect("items", "0")
				if test.moves > 0 {
					time.AfterFunc(test.moves, func() { w.MoveRange("items", "0", C) })
				}
				ctx, cancel := context.WithCancel(w.Context())
				if test.deadline > 0 {
					ctx, cancel = context.WithTimeout(w.Context(), test.deadline)
				}
				defer cancel()
				start := time.Now()
				got, took := w.do(ctx, upsert)
				require.Equal(w, test.outcome, got)
				require.Equal(w, test.took, took)
				require.Equal(w, test.asked, w.timetable(start))
				require.LessOrEqual(w, len(w.store.Executions("items", "1")), 2)
			})
		})
	}
}

// TestElectionCancelled: a caller who gives up during the pause is let go at once.
func TestElectionCancelled(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.Elect("items", "0")
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		got, took := w.do(ctx, upsert)
		require.Equal(w, 1500*time.Millisecond, took)
		require.Equal(w, "A B C A B C", w.contacted())
		require.Equal(w, "cancelled", got)
	})
}

// TestElectionSlowRounds: a round that takes its time ends when it ends, but
// none starts later than five seconds after the first 403/3.
func TestElectionSlowRounds(t *testing.T) {
	s := ppafAccount(1)
	s.gateway.Latency = map[string]time.Duration{A: 500 * time.Millisecond, B: time.Second, C: time.Second}
	inWorld(t, s, func(w *world) {
		w.Elect("items", "0")
		start := time.Now()
		got, _ := w.do(w.Context(), upsert)
		require.Equal(w, "403/3", got)
		// The first 403/3 comes at 0.5 s; a third round would start at 8 s.
		require.Equal(w, "A@0s B@500ms C@1.5s A@3.5s B@4s C@5s", w.timetable(start))
	})
}

// TestElectionAnswers: which answer the caller sees when nobody takes the
// write: the first region's, if the others only refused, in whatever round;
// else the last one.
func TestElectionAnswers(t *testing.T) {
	refuses := func(region string) gateway.Rule { return status(region, 403, 3) }
	down := func(region string) gateway.Rule { return fault(region, gateway.Refuse) }
	tests := []struct {
		name    string
		rules   [3]gateway.Rule
		outcome string
		rounds  int
		took    time.Duration
	}{
		{"all refuse", [3]gateway.Rule{refuses(A), refuses(B), refuses(C)}, "403/3", 3, 3 * time.Second},
		{"the first is ill, the others refuse", [3]gateway.Rule{status(A, 503, 0), refuses(B), refuses(C)}, "503", 3, 3 * time.Second},
		{"the first is down, the others refuse", [3]gateway.Rule{down(A), refuses(B), refuses(C)}, "error", 3, 3 * time.Second},
		{"the first is full, the others refuse", [3]gateway.Rule{status(A, 429, 3092), refuses(B), refuses(C)}, "429/3092", 3, 3 * time.Second},
		{"the last is ill", [3]gateway.Rule{refuses(A), refuses(B), status(C, 503, 0)}, "503", 3, 3 * time.Second},
		{"the last is down", [3]gateway.Rule{refuses(A), refuses(B), down(C)}, "error", 3, 3 * time.Second},
		{"the second is ill", [3]gateway.Rule{refuses(A), status(B, 503, 0), refuses(C)}, "403/3", 3, 3 * time.Second},
		{"only the last refuses", [3]gateway.Rule{status(A, 503, 0), status(B, 503, 0), refuses(C)}, "403/3", 3, 3 * time.Second},
		{"all are ill: no election", [3]gateway.Rule{status(A, 503, 0), status(B, 503, 0), status(C, 410, 1022)}, "410/1022", 1, 0},
		{"all are down: no election", [3]gateway.Rule{down(A), down(B), down(C)}, "error", 1, 0},
		{"one times out: that ends it", [3]gateway.Rule{refuses(A), refuses(B), status(C, 408, 0)}, "408", 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				for _, r := range test.rules {
					w.Inject(r)
				}
				w.expect(upsert, test.outcome, repeat("A B C", test.rounds), test.took)
				require.Len(w, w.store.Executions("items", "1"), 1)
			})
			inWorld(t, ppafAccount(1), func(w *world) { // with an override it is dropped, unless that region never said no
				w.MoveRange("items", "0", C)
				w.expect(upsert, "200", "A B C", 0)
				for _, r := range test.rules {
					r.Region = map[string]string{A: C, B: A, C: B}[r.Region] // C is asked first, then A and B
					w.Inject(r)
				}
				got, took := w.do(w.Context(), upsert)
				require.Equal(w, test.took, took)
				require.NotEqual(w, "200", got)
				if strings.Contains(test.name, "times out") {
					require.Equal(w, []string{"C, 1 timeouts"}, w.overrides())
					return
				}
				require.Empty(w, w.overrides())
			})
		})
	}
}

// TestElectionEndsAtARegionThatComesBack: the partition's region cannot be
// reached while it is elected, and takes the write once it is there.
func TestElectionEndsAtARegionThatComesBack(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", C)
		w.Down(C)
		time.AfterFunc(2*time.Second, func() { w.Up(C) })
		w.expect(upsert, "200", "A B C A B C A B C", 3*time.Second)
		w.expect(upsert, "200", "C", 0)
	})
}

// TestFailoverMovesTwiceWithinAWrite: the region moves on just before it is
// asked, twice; the next round finds it, and nothing is carried out twice.
func TestFailoverMovesTwiceWithinAWrite(t *testing.T) {
	s := ppafAccount(1)
	s.gateway.Latency = map[string]time.Duration{A: 10 * time.Millisecond, B: 10 * time.Millisecond, C: 10 * time.Millisecond}
	inWorld(t, s, func(w *world) {
		w.MoveRange("items", "0", B)
		time.AfterFunc(15*time.Millisecond, func() { w.MoveRange("items", "0", C) })
		time.AfterFunc(25*time.Millisecond, func() { w.MoveRange("items", "0", A) })
		w.expect(upsert, "200", "A B C A", 1040*time.Millisecond)
		require.Empty(w, w.overrides())
		w.expect(upsert, "200", "A", 10*time.Millisecond)

		w.MoveRange("items", "0", B)
		time.AfterFunc(15*time.Millisecond, func() { w.MoveRange("items", "0", C) })
		w.expect(upsert, "200", "A B C", 30*time.Millisecond)
		w.expect(upsert, "200", "C", 10*time.Millisecond)
		require.Empty(w, w.store.Repeated())
	})
}

// TestElectionLearnsFromAnotherWrite: of two writers that wait for the second
// round, the one whose turn comes later starts where the other one was taken.
func TestElectionLearnsFromAnotherWrite(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.Elect("items", "0")
		time.AfterFunc(900*time.Millisecond, func() { w.MoveRange("items", "0", C) })
		var writers sync.WaitGroup
		write := func() {
			got, took := w.do(w.Context(), upsert)
			assert.Equal(w, "200", got)
			assert.Equal(w, time.Second, took)
		}
		writers.Go(write)
		pass(500 * time.Millisecond)
		writers.Go(write)
		writers.Wait()
		require.Equal(w, "A B C A B C A B C C", w.contacted()) // the last one at 1.5 s
	})
}

// TestFailoverLateFailures: writes that began before another one found the
// partition's region, and fail after it, undo nothing.
func TestFailoverLateFailures(t *testing.T) {
	late := map[string]gateway.Rule{
		"403 3": {Status: 403, SubStatus: 3}, "503": {Status: 503}, "410 1022": {Status: 410, SubStatus: 1022},
		"429 3092": {Status: 429, SubStatus: 3092}, "refused": {Kind: gateway.Refuse}, "reset": {Kind: gateway.Reset},
	}
	for name, rule := range late {
		t.Run(name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				w.MoveRange("items", "0", B)
				// The first writes hang in A for a second; everything refuses them then.
				rule.Operations, rule.Delay, rule.Hits = []string{"upsert"}, time.Second, 20
				rule.Region = A
				w.Inject(rule)
				var writers sync.WaitGroup
				for range 20 {
					writers.Go(func() { _, _ = w.do(w.Context(), upsert) })
				}
				pass(500 * time.Millisecond)
				require.Equal(w, "200", outcomeOf(replace(w.Context(), w.container)))
				require.Equal(w, []string{"B"}, w.overrides())
				for _, r := range []string{B, C} {
					w.Inject(gateway.Rule{Region: r, Operations: []string{"upsert"}, Status: 503, Hits: 20})
				}
				pass(600 * time.Millisecond)
				require.Equal(w, []string{"B"}, w.overrides(), "what is late and refused everywhere drops no override")
				writers.Wait()
				require.Equal(w, []string{"B"}, w.overrides())
				w.RemoveAll()
				w.expect(upsert, "200", "B", 0)
				require.Empty(w, w.store.Repeated())
			})
		})
	}
}

// TestFailoverConvergesUnderFaults: 64 writers while the partition moves three
// times and requests fail in every way: each write that the caller was told
// to have succeeded took effect once, none took effect twice, and one override
// is left.
func TestFailoverConvergesUnderFaults(t *testing.T) {
	s := ppafAccount(1)
	s.gateway.Seed = 7
	s.gateway.Latency = map[string]time.Duration{A: 3 * time.Millisecond, B: 5 * time.Millisecond, C: 7 * time.Millisecond}
	inWorld(t, s, func(w *world) {
		for _, r := range []gateway.Rule{
			{Status: 503},
			{Status: 410, SubStatus: 1022},
			{Status: 429, SubStatus: 3092},
			{Kind: gateway.Refuse},
			{Kind: gateway.Lost},
			{Kind: gateway.Reset},
			{Status: 408},
			{Kind: gateway.Slow, Delay: 50 * time.Millisecond},
		} {
			r.Operations, r.Probability = []string{"create"}, 0.01
			w.Inject(r)
		}
		for i, region := range []string{B, C, A, C} {
			time.AfterFunc(time.Duration(50+100*i)*time.Millisecond, func() { w.MoveRange("items", "0", region) })
		}
		succeeded := w.writers(64, 40)
		w.RemoveAll()
		for id := range succeeded {
			require.Len(w, w.store.Executions("items", id), 1, id)
		}
		require.Greater(w, len(succeeded), 64*40*9/10)
		require.Empty(w, w.store.Repeated())
		_, _ = w.do(w.Context(), upsert)
		w.expect(upsert, "200", "C", 7*time.Millisecond)
		require.Equal(w, []string{"C"}, w.overrides())
	})
}

// writers creates items from many goroutines and returns the ids of those that
// the callers were told to be there.
func (w *world) writers(n, each int) map[string]bool {
	var (
		group sync.WaitGroup
		mutex sync.Mutex // guards succeeded
	)
	succeeded := map[string]bool{}
	for writer := range n {
		group.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", writer, i)
				r, err := w.container.CreateItem(w.Context(), key("a"), item(id, "a", i), &azcosmos.ItemOptions{})
				got := outcomeOf(r.RawResponse, err)
				// What the service said in every region, or what nobody may repeat.
				assert.Contains(w, []string{"201", "408", "error", "503", "410/1022", "429/3092", "403/3"}, got)
				mutex.Lock()
				if got == "201" {
					succeeded[id] = true
				}
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	return succeeded
}
