package policy_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// knowledge is how the partitions of a world are known.
type knowledge struct {
	name string
	bind bool
}

var knowledges = []knowledge{{"bound", true}, {"unbound", false}}

// prepare binds the client and lets it read the ranges, if that is wanted.
func (w *circuitWorld) prepare(k knowledge, op keyed) {
	if k.bind {
		w.ha.Bind(w.client)
	}
	w.times(1, op, w.container, w.p1)
	w.times(1, op, w.other, w.p1)
	w.changes.take()
}

// TestBreakerReads: with p1 sick in region A, exactly ten of its reads touch A;
// another range and another container never leave A; when A is well again one
// probe goes there in the shadow, and five failures, or ten successes, decide
// what becomes of it. For every kind of read, with ranges read through Bind and
// without.
func TestBreakerReads(t *testing.T) {
	for _, multiWrite := range []bool{false, true} {
		for _, k := range knowledges {
			for _, r := range keyedReads {
				name := map[bool]string{false: "single-write", true: "multi-write"}[multiWrite]
				t.Run(name+"/"+k.name+"/"+r.name, func(t *testing.T) {
					inCircuit(t, setup{gateway: gateway.Options{MultiWrite: multiWrite}}, func(w *circuitWorld) {
						op := r.make(w)
						w.prepare(k, op)
						w.readCycle(op)
					})
				})
			}
		}
	}
}

// readCycle takes a region through all states of the breaker.
func (w *circuitWorld) readCycle(op keyed) {
	w.Helper()
	fault := w.sick(A)
	require.Equal(w, repeat("A B", 10), w.times(10, op, w.container, w.p1))
	require.Equal(w, repeat("B", 20), w.times(20, op, w.container, w.p1))
	require.Equal(w, []string{"A read HealthyWithFailures>Unavailable consecutive failures 10"}, w.changes.take())
	require.Equal(w, []string{"A read Unavailable"}, w.unwell())
	require.Equal(w, repeat("A", 5), w.times(5, op, w.container, w.p2), "another range")
	require.Equal(w, repeat("A", 5), w.times(5, op, w.other, w.p1), "another container")

	// A answers again, but slowly: no caller notices the probe.
	fault.Remove()
	slow := w.Inject(gateway.Rule{Region: A, Container: "items", Delay: 3 * time.Second})
	took := w.awaitProbe(op)
	require.GreaterOrEqual(w, took, openFor)
	require.LessOrEqual(w, took, openAtMost)
	require.Equal(w, repeat("B", 20), w.times(20, op, w.container, w.p1), "while the probe is in flight")
	time.Sleep(3 * time.Second)
	synctest.Wait()
	slow.Remove()
	require.Equal(w, []string{"A read Unavailable>HealthyTentative probe succeeded 0"}, w.changes.take())

	// Let back tentatively, A is out again after five failures.
	fault = w.sick(A)
	require.Equal(w, repeat("A B", 5)+" B B", w.times(7, op, w.container, w.p1))
	require.Equal(w, []string{"A read HealthyTentative>Unavailable consecutive failures 5"}, w.changes.take())

	// A probe that fails puts the next one off for twice as long.
	w.awaitProbe(op)
	require.Equal(w, []string{"A read Unavailable>Unavailable probe failed 1"}, w.changes.take())
	fault.Remove()
	again := w.awaitProbe(op)
	require.GreaterOrEqual(w, again, 2*openFor)
	require.LessOrEqual(w, again, 2*openAtMost)

	// Ten successes, and nothing is left.
	require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
	require.Equal(w, repeat("A", 9), w.times(9, op, w.container, w.p1))
	require.Equal(w, []string{"A read HealthyTentative"}, w.unwell())
	require.Equal(w, "A", w.times(1, op, w.container, w.p1))
	require.Empty(w, w.unwell())
	require.Equal(w, []string{
		"A read Unavailable>HealthyTentative probe succeeded 0", "A read HealthyTentative>Healthy recovered 0",
	}, w.changes.take())
}

// awaitProbe makes a call of p1 every half second until one more request goes
// out beside it, and returns the time that this took. Every call is answered at
// once by B.
func (w *circuitWorld) awaitProbe(op keyed) time.Duration {
	w.Helper()
	start := time.Now()
	for range 400 {
		switch got := sorted(w.times(1, op, w.container, w.p1)); got {
		case "B":
			time.Sleep(500 * time.Millisecond)
		case "A B":
			return time.Since(start)
		default:
			require.Fail(w, "neither a call nor a call with its probe", got)
		}
	}
	require.Fail(w, "no probe")
	return 0
}

// TestBreakerCrossPartitionQuery: a query over all partitions counts for the
// container: what it opens does not touch requests that name a partition.
func TestBreakerCrossPartitionQuery(t *testing.T) {
	for _, k := range knowledges {
		t.Run(k.name, func(t *testing.T) {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				w.prepare(k, queryAll)
				fault := w.Inject(gateway.Rule{Region: A, Container: "items", Operations: []string{"query"}, Status: 503})
				require.Equal(w, repeat("A B", 10)+" B B", w.times(12, queryAll, w.container, ""))
				require.Equal(w, []string{"A read Unavailable"}, w.unwell())
				require.Equal(w, "container", w.knownBy())
				require.Equal(w, "A A", w.times(2, readKey, w.container, w.p1))
				require.Equal(w, "A A", w.times(2, queryAll, w.other, ""))
				fault.Remove()
				w.awaitProbe(queryAll)
				require.Equal(w, repeat("A", 10), w.times(10, queryAll, w.container, ""))
				require.Empty(w, w.unwell())
			})
		})
	}
}

// TestBreakerWrites: the same for writes on a multi-write account: five
// failures open A for the writes of p1 and for nothing else, the first write
// that is due is the probe, and two failures or five successes decide.
func TestBreakerWrites(t *testing.T) {
	for _, k := range knowledges {
		for _, write := range keyedWrites {
			t.Run(k.name+"/"+write.name, func(t *testing.T) {
				inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
					op := write.make(w)
					w.prepare(k, op)
					w.writeCycle(op)
				})
			})
		}
	}
}

func (w *circuitWorld) writeCycle(op keyed) {
	w.Helper()
	fault := w.sick(A)
	require.Equal(w, repeat("A B", 5)+" B B B", w.times(8, op, w.container, w.p1))
	require.Equal(w, []string{"A write HealthyWithFailures>Unavailable consecutive failures 5"}, w.changes.take())
	require.Equal(w, "A A", w.times(2, op, w.container, w.p2), "another range")
	require.Equal(w, "A A", w.times(2, op, w.other, w.p1), "another container")
	require.Equal(w, "A B", w.times(1, readKey, w.container, w.p1), "reads are apart")
	require.Equal(w, []string{"A read HealthyWithFailures", "A write Unavailable"}, w.unwell())

	// The probe is a write, and one that fails is still carried out.
	took := w.awaitWriteProbe(op, "A B")
	require.GreaterOrEqual(w, took, openFor)
	require.LessOrEqual(w, took, openAtMost)
	require.Equal(w, []string{"A write Unavailable>Unavailable probe failed 1"}, w.changes.take())
	require.Equal(w, "B B", w.times(2, op, w.container, w.p1))
	fault.Remove()
	took = w.awaitWriteProbe(op, "A")
	require.GreaterOrEqual(w, took, 2*openFor)
	require.LessOrEqual(w, took, 2*openAtMost)

	fault = w.sick(A)
	require.Equal(w, "A B A B B", w.times(3, op, w.container, w.p1))
	fault.Remove()
	w.awaitWriteProbe(op, "A")
	require.Equal(w, repeat("A", 5), w.times(5, op, w.container, w.p1))
	require.Equal(w, []string{"A read HealthyWithFailures"}, w.unwell())
	require.Equal(w, []string{
		"A write Unavailable>HealthyTentative probe succeeded 0", "A write HealthyTentative>Unavailable consecutive failures 2",
		"A write Unavailable>HealthyTentative probe succeeded 0", "A write HealthyTentative>Healthy recovered 0",
	}, w.changes.take())
	require.Empty(w, w.store.Repeated())
}

// awaitWriteProbe makes a write every half second until one goes to A.
func (w *circuitWorld) awaitWriteProbe(op keyed, want string) time.Duration {
	w.Helper()
	start := time.Now()
	for range 400 {
		if got := w.times(1, op, w.container, w.p1); got != "B" {
			require.Equal(w, want, got)
			return time.Since(start)
		}
		time.Sleep(500 * time.Millisecond)
	}
	require.Fail(w, "no probe")
	return 0
}

// TestBreakerSingleWriteWrites: a write on a single-write account has no other
// place to go: nothing is counted and nothing trips, whatever fails.
func TestBreakerSingleWriteWrites(t *testing.T) {
	for _, write := range keyedWrites {
		t.Run(write.name, func(t *testing.T) {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				op := write.make(w)
				w.Inject(gateway.Rule{Region: A, Container: "items", Operations: []string{"write"}, Status: 503})
				w.ResetLog()
				for range 30 {
					require.Equal(w, "503", outcomeOf(op(w.Context(), w.container, w.p1)))
				}
				require.Equal(w, repeat("A", 30), w.data())
				require.Empty(w, w.unwell())
				require.Empty(w, w.changes.take())
			})
		})
	}
}

// TestBreakerOff: Disabled means that nothing is counted.
func TestBreakerOff(t *testing.T) {
	s := setup{}
	s.policy.Breaker.Disabled = true
	inCircuit(t, s, func(w *circuitWorld) {
		w.sick(A)
		require.Equal(w, repeat("A B", 30), w.times(30, readKey, w.container, w.p1))
		require.Empty(w, w.unwell())
	})
}
