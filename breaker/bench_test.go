package breaker

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The goals of these benchmarks are shares of what a read of azcosmos costs without any of this (13 µs where they were set):
// healthy at most 0.1 %, a lookup with ten thousand records at most 1 %, with a million at most 2.5 %.

// begun carries a monotonic reading, as the times of requests do.
var begun = time.Now()

// tripped returns a store in which n partitions have a region opened.
func tripped(n int) *Store {
	s := newStore(Options{ReadFailures: 1}, limit, steady)
	for i := range uint64(n) {
		s.Record(Key{1, i}, west, false, Failure, begun)
	}
	return s
}

// BenchmarkHealthy is what every request pays while nothing is wrong: the question, and the outcome.
func BenchmarkHealthy(b *testing.B) {
	s := NewStore(Options{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := uint64(0); pb.Next(); i++ {
			if !s.Empty() {
				b.Error("not healthy")
			}
			s.Record(Key{1, i}, west, false, Success, started)
		}
	})
}

// BenchmarkRoute looks up opened partitions, and healthy ones among them, in random order.
func BenchmarkRoute(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"10k", 10_000}, {"1M", 1_000_000}} {
		s := tripped(size.n)
		for name, from := range map[string]uint64{"opened": 0, "healthy": 1 << 40} {
			b.Run(size.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				var seed atomic.Uint64
				b.RunParallel(func(pb *testing.PB) {
					x := seed.Add(1) * 0x9e3779b97f4a7c15
					want := 1
					if from > 0 {
						want = 0
					}
					for pb.Next() {
						x ^= x << 13
						x ^= x >> 7
						x ^= x << 17
						k := Key{1, from + x%uint64(size.n)}
						if s.Route(k, false, begun).Count != want {
							b.Error("wrong route")
						}
					}
				})
			})
		}
	}
}

// BenchmarkTenFailures lets ten failures happen to each of many partitions, round by round. "x of 100k" is what a million cost,
// as a multiple of what a hundred thousand do: 15 is the most it may be.
func BenchmarkTenFailures(b *testing.B) {
	run := func(n uint64) time.Duration {
		runtime.GC()
		s := newStore(Options{}, limit, steady)
		begin := time.Now()
		for range 10 {
			for i := range n {
				s.Record(Key{1, i}, west, false, Failure, begun)
			}
		}
		took := time.Since(begin)
		if s.Route(Key{1, n / 2}, false, begun).Count != 1 {
			b.Error("not opened")
		}
		return took
	}
	// The best of some rounds each, in turn: whoever else is busy on the machine slows single rounds.
	small, large := time.Hour, time.Hour
	for b.Loop() {
		for range 3 {
			small = min(small, run(100_000))
			large = min(large, run(1_000_000))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(large)/float64(small), "x-of-100k")
	b.ReportMetric(float64(large.Nanoseconds())/1e7, "ns/failure")
}

// held is the memory that is in use after a collection.
func held() (bytes, objects uint64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.HeapObjects
}

// perRecord measures a store of n records: bytes and heap objects each, and what is left of it when all have lapsed.
func perRecord(n int) (bytes, objects, left float64) {
	s := newStore(Options{ReadFailures: 1}, limit, steady)
	bytes0, objects0 := held()
	for i := range uint64(n) {
		s.Record(Key{1, i}, west, false, Failure, started)
	}
	bytes1, objects1 := held()
	for now := started.Add(time.Hour); !s.Empty(); now = now.Add(sweepRound) {
		s.Lapse(now, nil)
	}
	bytes2, _ := held()
	runtime.KeepAlive(s)
	diff := func(a, b uint64) float64 { return float64(int64(a-b)) / float64(n) }
	return diff(bytes1, bytes0), diff(objects1, objects0), diff(bytes2, bytes0)
}

// BenchmarkMemory measures a million records.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		bytes, objects, left := perRecord(1_000_000)
		b.ReportMetric(bytes, "B/record")
		b.ReportMetric(objects, "objects/record")
		b.ReportMetric(left, "B-left/record")
	}
	b.ReportMetric(0, "ns/op")
}

// TestMemory checks the promise with few enough records to be quick.
func TestMemory(t *testing.T) {
	for _, n := range []int{20_000, 50_000, 100_000, 130_000} {
		bytes, objects, left := perRecord(n)
		t.Logf("%d: %.1f bytes and %.4f objects a record, %.1f bytes after recovery", n, bytes, objects, left)
		assert.LessOrEqual(t, bytes, 120.0)
		assert.LessOrEqual(t, objects*float64(n), 3.0*256, "two a shard, none a record")
		assert.LessOrEqual(t, left, 1.0, "all gone")
	}
}
