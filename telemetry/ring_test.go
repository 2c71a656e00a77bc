package telemetry

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
)

// TestRingMerges: decisions that differ by their partition only are one entry
// with a count; others stand for themselves, the newest first.
func TestRingMerges(t *testing.T) {
	var r ring
	now := time.Unix(1000, 0)
	opened := Decision{Kind: KindBreaker, Region: "West US", To: "Unavailable", Cause: "consecutive failures", Partition: "range 1", At: now}
	r.add(opened)
	opened.Partition, opened.At = "range 2", now.Add(time.Second)
	r.add(opened)
	r.add(Decision{Kind: KindTopology, Detail: "readable A", At: now.Add(2 * time.Second)})
	opened.At = now.Add(3 * time.Second)
	r.add(opened)
	opened.At = now.Add(10 * time.Minute)
	r.add(opened)
	list := r.list()
	require.Len(t, list, 3)
	require.Equal(t, 1, list[0].Count, "too long ago to be merged")
	require.Equal(t, 3, list[1].Count)
	require.Empty(t, list[1].Partition, "of several partitions")
	require.Equal(t, now, list[1].Since)
	require.Equal(t, now.Add(3*time.Second), list[1].At)
	require.Equal(t, "topology: readable A", list[2].Text)
}

// TestRingForgets: the last 200 are kept.
func TestRingForgets(t *testing.T) {
	var r ring
	for i := range 3 * maxDecisions {
		r.add(Decision{Kind: KindTopology, Detail: fmt.Sprint(i), At: time.Unix(int64(i), 0)})
	}
	list := r.list()
	require.Len(t, list, maxDecisions)
	require.Equal(t, fmt.Sprint(3*maxDecisions-1), list[0].Detail)
	require.Equal(t, fmt.Sprint(2*maxDecisions), list[maxDecisions-1].Detail)
}

// TestMinutes: counts are of the window, whatever was before it.
func TestMinutes(t *testing.T) {
	m, now := newMinutes(2), time.Unix(6000, 0)
	for range 3 {
		m.add(1, now)
	}
	m.add(1, now.Add(5*time.Minute))
	require.EqualValues(t, 4, m.sum(1, now.Add(5*time.Minute)))
	require.EqualValues(t, 1, m.sum(1, now.Add(6*time.Minute)))
	require.Zero(t, m.sum(0, now))
	m.add(1, now.Add(6*time.Minute)) // takes the slot of the first minute
	require.EqualValues(t, 2, m.sum(1, now.Add(6*time.Minute)))
	require.Zero(t, m.sum(1, now.Add(time.Hour)))
	require.Zero(t, m.sum(1, now.Add(-time.Hour)), "a clock that was set back sees nothing of the future")
	m.add(1, now) // began long ago, and its cell is needed again
	require.EqualValues(t, 2, m.sum(1, now.Add(6*time.Minute)))
	m.add(1, now.Add(-90*time.Minute)) // a clock that was set back counts on
	require.EqualValues(t, 1, m.sum(1, now.Add(-90*time.Minute)))
}

func TestTraffic(t *testing.T) {
	traffic, now := NewTraffic(), time.Unix(6000, 0)
	traffic.Count(3, false, true, now.Add(-TrafficWindow-time.Minute)) // whose cell is needed again
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 1000 {
				traffic.Count(3, false, i%10 == 0, now)
			}
		})
	}
	group.Wait()
	traffic.Count(3, true, false, now)
	traffic.Count(-1, true, false, now)
	traffic.Count(64, true, false, now)
	all, failed := traffic.Region(3, false, now)
	require.EqualValues(t, 4000, all)
	require.EqualValues(t, 400, failed)
	all, failed = traffic.Region(3, true, now)
	require.Equal(t, [2]uint64{1, 0}, [2]uint64{all, failed})
	require.Zero(t, testing.AllocsPerRun(100, func() { traffic.Count(5, false, true, now) }))
}

// TestSetsAreBounded: what comes after the most is told as one.
func TestSetsAreBounded(t *testing.T) {
	s := newSets(10, "other", func(k string) string { return "set of " + k })
	for i := range 30 {
		k := fmt.Sprint(i)
		want := "set of " + k
		if i >= 10 {
			want = "set of other"
		}
		for range 2 {
			require.Equal(t, want, s.get(k, i%3))
		}
	}
	require.Len(t, *s.known.Load(), 10)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.get("1", 0); s.get("2", 0); s.get("29", 0) }), "keys that share a place")
}

// TestResultsAreBounded: statuses, sub-statuses and classes are of a fixed number.
func TestResultsAreBounded(t *testing.T) {
	seen := map[attribute.Distinct]bool{}
	for status := range 1000 {
		for _, sub := range []int{0, 3, 1002, 1, 77, -4, 1 << 30} {
			set := attribute.NewSet(Result{Status: status, SubStatus: sub, Class: fmt.Sprint("class", sub)}.bounded().attributes()...)
			seen[set.Equivalent()] = true
		}
	}
	require.LessOrEqual(t, len(seen), 26*3+2)
	require.Equal(t, []attribute.KeyValue{attribute.String("error.type", "other")}, Result{Class: "secret"}.bounded().attributes())
	require.Equal(t, []attribute.KeyValue{attribute.String("db.response.status_code", "other")}, Result{Status: 299}.bounded().attributes())
}
