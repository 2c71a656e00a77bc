package chaos

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

// TestRisen compares levels made by hand.
func TestRisen(t *testing.T) {
	before := level{goroutines: 3, descriptors: 10, heap: 1 << 20}
	for _, c := range []struct {
		after level
		want  string
	}{
		{before, ""},
		{level{3, 10, 9 << 20}, ""},
		{level{1, 8, 0}, ""},
		{level{4, 10, 1 << 20}, "4 goroutines, 3 before"},
		{level{3, 11, 1 << 20}, "11 open file descriptors, 10 before"},
		{level{3, 10, 9<<20 + 1}, "9216 KB on the heap, 1024 KB before"},
	} {
		require.Equal(t, c.want, risen(before, c.after), "%+v", c.after)
	}
	require.Empty(t, risen(level{3, -1, 0}, level{3, -1, 0}), "no /proc/self/fd")
}

// TestMeasure sees what a test leaves behind, and that it has gone.
func TestMeasure(t *testing.T) {
	before := measure(runtime.NumGoroutine())
	end := make(chan struct{})
	for range Margin.Goroutines + 1 {
		go func() { <-end }()
	}
	require.Contains(t, risen(before, measure(before.goroutines+Margin.Goroutines+1)), "goroutines")
	require.Contains(t, string(stacks()), "TestMeasure")
	close(end)
	require.True(t, settle(before.goroutines))

	ballast := make([]byte, Margin.Heap+(1<<20))
	require.Contains(t, risen(before, measure(before.goroutines)), "on the heap")
	ballast[0] = 1
	require.Empty(t, risen(before, measure(before.goroutines)), "the ballast is not used any more")

	if before.descriptors < 0 {
		return
	}
	files := make([]*os.File, Margin.Descriptors+1)
	for i := range files {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		files[i] = f
	}
	require.Contains(t, risen(before, measure(before.goroutines)), "descriptors")
	for _, f := range files {
		require.NoError(t, f.Close())
	}
	require.Empty(t, risen(before, measure(before.goroutines)))
}

// TestStalls sees none where time is exact, and some where four goroutines share one
// processor with the watch.
func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := watchStalls()
		pause(t.Context(), time.Second)
		require.Zero(t, watch())
	})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	watch := watchStalls()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
				continue // busy
			}
		})
	}
	group.Wait()
	require.Greater(t, watch(), time.Millisecond)
}

// upstreamFunc is an upstream that answers from a function.
type upstreamFunc func(ctx context.Context, r *gateway.Request) (*gateway.Answer, error)

func (f upstreamFunc) Do(ctx context.Context, r *gateway.Request) (*gateway.Answer, error) {
	return f(ctx, r)
}

func (upstreamFunc) Lookup(context.Context, string, string) (gateway.Container, bool) {
	return gateway.Container{}, false
}

// write is a request that writes, in a call with an activity id.
func write(operation, id, activity, body string) *gateway.Request {
	return &gateway.Request{
		Operation: operation, Write: true, Key: `["k0"]`, ID: id, Container: "items", Body: []byte(body),
		Header: http.Header{"X-Ms-Activity-Id": {activity}},
	}
}

// TestWitness sees what takes effect, and nothing else.
func TestWitness(t *testing.T) {
	status := http.StatusOK
	w := &witness{Upstream: upstreamFunc(func(context.Context, *gateway.Request) (*gateway.Answer, error) {
		return &gateway.Answer{Status: status}, nil
	})}
	do := func(r *gateway.Request) {
		t.Helper()
		a, err := w.Do(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, status, a.Status)
	}
	do(write("upsert", "", "a", `{"id":"1"}`))
	do(write("delete", "2", "b", ""))
	do(write("batch", "", "c", `[{"operationType":"Upsert","resourceBody":{"id":"1"}},{"operationType":"Read","id":"1"},{"operationType":"Delete","id":"3"}]`))
	do(&gateway.Request{Operation: "read", Key: `["k0"]`, ID: "1"})
	do(&gateway.Request{Operation: "container/create", Write: true})
	for _, status = range []int{207, 404, 409, 500} {
		do(write("upsert", "", "d", `{"id":"1"}`))
	}
	type seen struct {
		request                 int
		operation, id, activity string
	}
	var list []seen
	for _, x := range w.Executions() {
		require.Equal(t, `["k0"]`, x.Key)
		list = append(list, seen{x.Request, x.Operation, x.ID, x.Activity})
	}
	require.Equal(t, []seen{{1, "upsert", "1", "a"}, {2, "delete", "2", "b"}, {3, "batch/upsert", "1", "c"}, {3, "batch/delete", "3", "c"}}, list)
	require.Empty(t, repeated(w.Executions()))
}

// TestWitnessOfALostWrite sees a write that its client did not wait for, once it
// takes effect, and one that is carried out twice.
func TestWitnessOfALostWrite(t *testing.T) {
	released := make(chan struct{})
	w := &witness{Upstream: upstreamFunc(func(ctx context.Context, _ *gateway.Request) (*gateway.Answer, error) {
		<-released
		return &gateway.Answer{Status: http.StatusCreated}, ctx.Err()
	})}
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := w.Do(gone, write("create", "1", "a", ""))
	require.ErrorIs(t, err, context.Canceled)
	close(released)
	require.Len(t, w.Executions(), 1)

	_, err = w.Do(t.Context(), write("create", "1", "b", ""))
	require.NoError(t, err)
	require.Empty(t, repeated(w.Executions()), "of another operation")
	_, err = w.Do(t.Context(), write("create", "1", "a", ""))
	require.NoError(t, err)
	again := repeated(w.Executions())
	require.Len(t, again, 1)
	require.Equal(t, 3, again[0].Request)
}

// TestGenerate makes the same world from the same seed, draws everything that can
// happen, and keeps to what a service can do.
func TestGenerate(t *testing.T) {
	all := service{replicates: true, splits: true, batches: true, crossQuery: true}
	drawn := map[string]int{}
	for seed := range uint64(300) {
		w := generate(seed, 3*time.Second, 2, all)
		require.Equal(t, w, generate(seed, 3*time.Second, 2, all))
		for _, e := range w.Events {
			drawn[string(e.Do)]++
			if e.Rule != nil {
				drawn[e.Rule.Kind]++
			}
		}
		for _, c := range w.Callers[1] {
			drawn[string(c.Op)]++
		}

		poor := generate(seed, 3*time.Second, 2, service{})
		require.Nil(t, poor.Account.Lag)
		script, err := json.Marshal(poor)
		require.NoError(t, err)
		for _, word := range []string{`"split"`, `"batch"`, `"crossquery"`} {
			require.NotContains(t, string(script), word)
		}
	}
	for _, word := range []string{
		"fault", "down", "latency", "move", "elect", "split", "primary", "regions", "failover", "nohedging", "exclude",
		"status", "refuse", "hang", "slow", "delay", "reset", "close", "streamreset", "lost", "loststream",
		"read", "query", "crossquery", "upsert", "create", "replace", "delete", "batch", "container",
	} {
		require.Positive(t, drawn[word], word)
	}
}

// order notes what a schedule does.
type order struct{ done []string }

func (o *order) Begin(event int) func() {
	name := string(rune('a' + event))
	o.done = append(o.done, name)
	return func() { o.done = append(o.done, "/"+name) }
}

// TestSteps plays a schedule: everything in its time, and an end after its begin.
func TestSteps(t *testing.T) {
	list := steps([]simulation.Event{{At: 1, For: 10}, {At: 2}, {At: 3, For: 4}, {At: 11}})
	o := &order{}
	last := time.Duration(0)
	for _, s := range list {
		require.GreaterOrEqual(t, s.at, last)
		last = s.at
		s.do(o)
	}
	require.Equal(t, []string{"a", "b", "c", "/c", "/a", "d"}, o.done)
}

// TestAnHonestRoundAndAForgedOne plays a round in which nothing happens, and judges it with
// what the store says, and with less and more than that.
func TestAnHonestRoundAndAForgedOne(t *testing.T) {
	a := arena{protocol: gateway.TLSHTTP2}
	w := generate(5, 300*time.Millisecond, 2, a.service())
	w.Events = nil
	run, err := a.play(t.Context(), w, 300*time.Millisecond, runtime.NumGoroutine())
	require.NoError(t, err)
	require.Empty(t, simulation.Judge(run))
	require.NotEmpty(t, run.Stored)

	broken := func() (names []string) {
		for _, v := range simulation.Judge(run) {
			names = append(names, v.Invariant)
		}
		return names
	}
	writes := run.Writes
	run.Writes = nil
	require.Contains(t, broken(), "every acknowledged write is in the store")
	run.Writes, run.Double = writes, writes[len(writes)-1:]
	require.Contains(t, broken(), "no ambiguous write is sent again")
	run.Double, run.Stored["k0/0"] = nil, -1
	require.Contains(t, broken(), "the store holds what was written last")
}
