package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// partitionWrites are all writes of azcosmos, each of which takes effect: a
// delete has an item to delete.
var partitionWrites = []namedKeyed{
	{"create", always(createKey)},
	{"upsert", always(upsertKey)},
	{"replace", always(replaceKey)},
	{"patch", always(patchKey)},
	{"delete", deleteMade},
	{"batch", always(batchKey)},
}

// deleteMade deletes one of the items that it has made for itself.
func deleteMade(w *circuitWorld) keyed {
	const made = 30
	for _, pk := range []string{w.p1, w.p2} {
		for _, c := range []*azcosmos.ContainerClient{w.container, w.other} {
			for n := range made {
				_, err := c.CreateItem(w.Context(), key(pk), item(fmt.Sprint("made", n), pk, 0), nil)
				require.NoError(w, err)
			}
		}
	}
	deleted := map[string]int{}
	return func(ctx context.Context, c *azcosmos.ContainerClient, pk string) (*http.Response, error) {
		n := deleted[c.ID()+pk]
		deleted[c.ID()+pk]++
		require.Less(w, n, made)
		r, err := c.DeleteItem(ctx, key(pk), fmt.Sprint("made", n), nil)
		return r.RawResponse, err
	}
}

// sickWrites lets the writes of p1's range in "items" meet a fault in A.
func (w *circuitWorld) sickWrites(r gateway.Rule) *gateway.Fault {
	r.Region, r.Container, r.Range, r.Operations = A, "items", w.rangeOf(w.p1), []string{"write"}
	return w.Inject(r)
}

// effects is how many writes took effect, those of a batch counted as one.
func (w *circuitWorld) effects() int {
	requests := map[int]bool{}
	for _, e := range w.store.Executions("", "") {
		requests[e.Request] = true
	}
	return len(requests)
}

// TestFailoverMatrix: every write × everything that makes a region refuse: the
// call that discovers succeeds in that call, at the price of one round trip; the
// next ones go straight, another client's too; other partitions and containers
// stay; each call took effect once.
func TestFailoverMatrix(t *testing.T) {
	faults := []struct {
		name string
		rule gateway.Rule
	}{
		{"403 3", gateway.Rule{Status: 403, SubStatus: 3}},
		{"403 1008", gateway.Rule{Status: 403, SubStatus: 1008}},
		{"503", gateway.Rule{Status: 503}},
		{"410", gateway.Rule{Status: 410}},
		{"410 1022", gateway.Rule{Status: 410, SubStatus: 1022}},
		{"429 3092", gateway.Rule{Status: 429, SubStatus: 3092}},
		{"refused", gateway.Rule{Kind: gateway.Refuse}},
	}
	for _, f := range faults {
		for _, k := range knowledges {
			for _, o := range partitionWrites {
				t.Run(f.name+"/"+k.name+"/"+o.name, func(t *testing.T) {
					inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
						op := o.make(w)
						w.prepare(k, op)
						w.MoveRange("items", w.rangeOf(w.p1), B)
						w.sickWrites(f.rule)
						_, sibling := w.newClient(setup{})
						before := w.effects()
						require.Equal(w, "A B", w.times(1, op, w.container, w.p1), "the write that discovers")
						require.Equal(w, "B B B", w.times(3, op, w.container, w.p1))
						require.Equal(w, "B B", w.times(2, op, sibling, w.p1), "another client")
						require.Equal(w, "A A", w.times(2, op, w.container, w.p2), "another partition")
						require.Equal(w, "A A", w.times(2, op, w.other, w.p1), "another container")
						require.Equal(w, []string{"B"}, w.overrides())
						require.Equal(w, before+10, w.effects())
						require.Empty(w, w.store.Repeated())
					})
				})
			}
		}
	}
}

// TestFailoverTimeoutMatrix: every write × every way to end without telling
// whether it was carried out: it is not repeated; after the tenth the next one
// starts in the next region, whose answer moves the partition, and the caller
// sees each fault as it is.
func TestFailoverTimeoutMatrix(t *testing.T) {
	faults := []struct {
		name    string
		rule    gateway.Rule
		wait    time.Duration // how long the caller is ready to wait
		bound   time.Duration // of each attempt
		outcome string
		effect  bool // the write takes effect nevertheless
	}{
		{name: "408", rule: gateway.Rule{Status: 408}, outcome: "408"},
		{name: "502", rule: gateway.Rule{Status: 502}, outcome: "502"},
		{name: "504", rule: gateway.Rule{Status: 504}, outcome: "504"},
		{name: "reset", rule: gateway.Rule{Kind: gateway.Reset}, outcome: "error"},
		{name: "closed", rule: gateway.Rule{Kind: gateway.Close}, outcome: "error"},
		{name: "stream reset", rule: gateway.Rule{Kind: gateway.StreamReset}, outcome: "error"},
		{name: "lost", rule: gateway.Rule{Kind: gateway.Lost}, outcome: "error", effect: true},
		{name: "lost stream", rule: gateway.Rule{Kind: gateway.LostStream}, outcome: "error", effect: true},
		{name: "deadline", rule: gateway.Rule{Kind: gateway.Hang}, wait: 100 * time.Millisecond, outcome: "deadline"},
		{name: "slow", rule: gateway.Rule{Kind: gateway.Slow, Delay: time.Minute}, wait: time.Second, outcome: "deadline", effect: true},
		{name: "attempt timeout", rule: gateway.Rule{Kind: gateway.Hang}, bound: 200 * time.Millisecond, outcome: "deadline"},
	}
	for _, f := range faults {
		for _, k := range knowledges {
			for _, o := range partitionWrites {
				t.Run(f.name+"/"+k.name+"/"+o.name, func(t *testing.T) {
					s := ppafAccount(2)
					s.policy.Retry.AttemptTimeout = f.bound
					s.policy.Retry.RepeatWrites = k.bind // not on a single-write account
					inCircuit(t, s, func(w *circuitWorld) {
						op := o.make(w)
						w.prepare(k, op)
						// An unbound client knows the range of a key from an answer: this one tells it.
						w.learn(op)
						w.sickWrites(f.rule)
						before := w.effects()
						for n := range 10 {
							w.ResetLog()
							ctx, cancel := w.patience(f.wait)
							require.Equal(w, f.outcome, outcomeOf(op(ctx, w.container, w.p1)), "timeout %d", n+1)
							cancel()
							require.Equal(w, "A", w.data())
						}
						require.Equal(w, []string{"slow A"}, w.overrides())
						synctest.Wait()
						require.Equal(w, before+map[bool]int{true: 10}[f.effect], w.effects())

						w.MoveRange("items", w.rangeOf(w.p1), B)
						require.Equal(w, "B B", w.times(2, op, w.container, w.p1))
						require.Equal(w, []string{"B"}, w.overrides())
						require.Equal(w, "A", w.times(1, op, w.container, w.p2), "another partition")
						require.Equal(w, "A", w.times(1, op, w.other, w.p1), "another container")
						require.Empty(w, w.store.Repeated())
					})
				})
			}
		}
	}
}

// patience is the context of a caller who waits for that long; 0: for ever.
func (w *circuitWorld) patience(d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return w.Context(), func() {}
	}
	return context.WithTimeout(w.Context(), d)
}

// learn lets an answer other than a healthy one tell the range of p1's key.
func (w *circuitWorld) learn(op keyed) {
	w.Helper()
	fault := w.sickWrites(gateway.Rule{Status: 408, Hits: 1})
	_, _ = op(w.Context(), w.container, w.p1)
	fault.Remove()
	require.Equal(w, []string{"1 timeouts"}, w.overrides())
	require.Equal(w, "A", w.times(1, op, w.container, w.p1))
	require.Empty(w, w.overrides(), "an answer clears the count, and nothing is left")
}

// TestFailoverTimeoutsThatDoNotCount: a cancel, a deadline of less than 100 ms
// and 408/21013 say nothing; any answer clears the count; timeouts that are
// more than a minute apart are not a run; each region has its own count.
func TestFailoverTimeoutsThatDoNotCount(t *testing.T) {
	tests := []struct {
		name string
		rule gateway.Rule
		ctx  func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"short deadline", gateway.Rule{Kind: gateway.Hang}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 99*time.Millisecond)
		}},
		{"cancel", gateway.Rule{Kind: gateway.Hang}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}},
		{"408 21013", gateway.Rule{Status: 408, SubStatus: 21013}, context.WithCancel},
		{"500", gateway.Rule{Status: 500}, context.WithCancel},
		{"404 1002", gateway.Rule{Status: 404, SubStatus: 1002}, context.WithCancel},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				test.rule.Operations = []string{"write"}
				fault := w.Inject(test.rule)
				for range 30 {
					ctx, cancel := test.ctx(w.Context())
					_, _ = w.do(ctx, upsert)
					cancel()
				}
				fault.Remove()
				require.Empty(w, w.overrides())
				w.expect(upsert, "200", "A", 0)
			})
		})
	}
	// fail lets n upserts time out, each a while after the one before.
	fail := func(w *world, n int, every time.Duration) {
		rule := status(A, 504, 0)
		rule.Hits = n
		fault := w.Inject(rule)
		for range n {
			time.Sleep(every)
			w.expect(upsert, "504", "A", 0)
		}
		fault.Remove()
	}
	inWorld(t, ppafAccount(1), func(w *world) {
		for range 4 {
			fail(w, 9, time.Second)
			w.expect(upsert, "200", "A", 0)
		}
		fail(w, 40, 7*time.Second) // 10 of them take 63 s
		w.expect(upsert, "200", "A", 0)
		fail(w, 10, 6*time.Second)
		w.expect(upsert, "200", "B C A", 0) // B and C refuse, so A is asked after all
		require.Empty(w, w.overrides())
		w.expect(upsert, "200", "A", 0)
	})
}

// TestFailoverSharesTheRange: what one key of a range has found holds for the
// others, when the client knows the ranges. Else each key finds it for itself,
// once: nothing but an answer tells where a key belongs.
func TestFailoverSharesTheRange(t *testing.T) {
	for _, k := range knowledges {
		inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
			w.prepare(k, upsertKey)
			w.discover(B)
			for n := range 20 {
				pk := fmt.Sprint("key", n)
				first := map[bool]string{true: "B", false: "A B"}[k.bind]
				if w.rangeOf(pk) != w.rangeOf(w.p1) {
					first = "A"
				}
				require.Equal(w, first, w.times(1, upsertKey, w.container, pk))
				require.Equal(w, first[len(first)-1:], w.times(1, upsertKey, w.container, pk))
			}
			require.Equal(w, []string{"B"}, w.overrides(), "one record for all of them")
		})
	}
}

// TestFailoverSplit: the range whose write region has moved is split; both of
// its children are found in the region that their parent was in, at the price
// of one round trip each at most.
func TestFailoverSplit(t *testing.T) {
	for _, k := range knowledges {
		t.Run(k.name, func(t *testing.T) {
			inCircuit(t, ppafAccount(2), func(w *circuitWorld) {
				w.prepare(k, upsertKey)
				w.discover(B)
				left, right := w.Split("items", w.rangeOf(w.p1))
				keys := []string{w.keyIn(left), w.keyIn(right)}
				for range 2 { // a bound client reads the new ranges within a minute
					for _, pk := range append(keys, keys...) {
						require.Contains(w, []string{"B", "A B"}, w.times(1, upsertKey, w.container, pk))
					}
					for _, pk := range keys {
						require.Equal(w, "B B", w.times(2, upsertKey, w.container, pk))
					}
					time.Sleep(time.Minute)
				}
				for _, pk := range keys {
					_ = w.times(1, upsertKey, w.container, pk)
					require.Equal(w, "B B", w.times(2, upsertKey, w.container, pk))
				}
				require.Equal(w, "A", w.times(1, upsertKey, w.container, w.p2), "another range")
				// The children go their own ways from here on.
				w.MoveRange("items", w.rangeOf(keys[0]), C)
				require.Equal(w, "B A C", w.times(1, upsertKey, w.container, keys[0]))
				require.Equal(w, "C B", w.times(1, upsertKey, w.container, keys[0])+" "+w.times(1, upsertKey, w.container, keys[1]))
				require.Empty(w, w.store.Repeated())
			})
		})
	}
}

// keyIn is a partition key of "items" that lies in a range.
func (w *circuitWorld) keyIn(rangeID string) string {
	for n := range 1000 {
		if pk := fmt.Sprint("key", n); w.rangeOf(pk) == rangeID {
			return pk
		}
	}
	require.Fail(w, "no key", "in range %s", rangeID)
	return ""
}
