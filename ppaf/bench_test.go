package ppaf

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// BenchmarkHealthy is what a write costs while nothing is recorded.
func BenchmarkHealthy(b *testing.B) {
	s := newStore()
	b.ReportAllocs()
	for b.Loop() {
		if s.On() && s.Empty() {
			s.Observe(Key{1, 1}, 0, s.Begin(0), Confirmed, epoch)
		}
	}
}

// BenchmarkMoved is what a write to a partition with an override costs.
func BenchmarkMoved(b *testing.B) {
	s, readable := newStore(), regions.MakeList(0, 1, 2)
	confirm(s, Key{1, 1}, 1)
	b.ReportAllocs()
	for b.Loop() {
		order := s.Start(Key{1, 1}, epoch).Candidates(0, readable, 0)
		r := order.First()
		s.Observe(Key{1, 1}, r, s.Begin(r), Confirmed, epoch)
	}
}

// BenchmarkElsewhere is what a write to a healthy partition costs while another one has moved.
func BenchmarkElsewhere(b *testing.B) {
	s := newStore()
	confirm(s, Key{1, 1}, 1)
	b.ReportAllocs()
	for b.Loop() {
		s.Start(Key{1, 2}, epoch)
		s.Observe(Key{1, 2}, 0, s.Begin(0), Confirmed, epoch)
	}
}

// A record, its key and its share of the index take at most 120 bytes.
func TestMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s := newStore()
	before := heap()
	for i := range uint64(maxRecords) {
		confirm(s, Key{1, i}, 1)
	}
	per := float64(heap()-before) / maxRecords
	t.Logf("%.0f bytes a record", per)
	require.Less(t, per, 120.0)
	s.Apply(three(false), epoch.Add(time.Second))
	require.True(t, s.Empty())
	require.Less(t, float64(heap())-float64(before), 1e6, "memory is given back")
}
