package regions

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// scenarios are plans of an account with n regions: what a healthy request does, and the longest ways through the rules.
func scenarios(tb testing.TB, n int) map[string]func() Plan {
	names := many(0, n)
	multi := topo(tb, nil, true, names, names...)
	single := topo(tb, nil, false, names[:1], names...)
	multiView := NewView(multi, NewNames(names...), nil, "global.example")
	singleView := NewView(single, nil, nil, "global.example")
	half := multi.Readable()
	var odd Set
	for i := range n / 2 {
		odd = odd.With(half.At(2*i + 1))
	}
	one := MakeList(multi.Lookup("Region 0"))
	o := single.Lookup("Region 1")
	return map[string]func() Plan{
		"healthy":  func() Plan { return multiView.Plan(Route{Override: None}) },
		"excluded": func() Plan { return multiView.Plan(Route{Write: true, Excluded: odd, Override: None}) },
		"opened": func() Plan {
			return multiView.Plan(Route{Excluded: odd, Unavailable: one, Override: None})
		},
		"all opened": func() Plan { return singleView.Plan(Route{Unavailable: half, Override: o}) },
		"write":      func() Plan { return singleView.Plan(Route{Write: true, Override: o}) },
		"metadata":   func() Plan { return multiView.Plan(Route{Metadata: true, Excluded: odd, Override: None}) },
	}
}

func TestAllocations(t *testing.T) {
	var p Plan
	for name, plan := range scenarios(t, 3) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { p = plan() }), name)
		assert.NotZero(t, p.Regions.Len(), name)
	}

	top := topo(t, nil, true, []string{"A", "B", "C"}, "A", "B", "C")
	v := NewView(top, nil, NewNames("A"), "")
	ctx := WithExcluded(t.Context(), "b", "Atlantis")
	var set Set
	assert.Zero(t, testing.AllocsPerRun(100, func() { set = v.ExcludedFor(ctx) }))
	assert.Equal(t, top.SetOf(Names{"B"}), set)
	assert.Zero(t, testing.AllocsPerRun(100, func() { set = v.ExcludedFor(t.Context()) }))
	assert.Equal(t, top.SetOf(Names{"A"}), set)

	now := time.Now()
	h := (*Health)(nil).Mark(0, false, now).Mark(1, false, now.Add(-TrialAfter))
	var l List
	var trial Index
	assert.Zero(t, testing.AllocsPerRun(100, func() { l, trial = h.Order(MakeList(0, 1, 2), false, now) }))
	assert.Equal(t, MakeList(1, 2, 0), l)
	assert.Equal(t, Index(1), trial)

	var found Index
	assert.Zero(t, testing.AllocsPerRun(100, func() { found = top.Lookup(" c ") }))
	assert.Equal(t, "C", top.Name(found))
	assert.Zero(t, testing.AllocsPerRun(100, func() { found = top.ByHost("C.example") }))
	assert.Equal(t, "C", top.Name(found))

	n := 0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for range l.All() {
			n++
		}
		if top.HedgingDisabled() != nil || top.PartitionFailover() != nil {
			n++
		}
	}))
	assert.Equal(t, 3*101, n)
}

var sink Plan

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{3, 32} {
		for name, plan := range scenarios(b, n) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sink = plan()
				}
			})
		}
	}
}

func BenchmarkExcludedFor(b *testing.B) {
	top := topo(b, nil, true, []string{"West US 3"}, "West US 3", "East US", "North Europe")
	v := NewView(top, nil, nil, "")
	ctx := WithExcluded(b.Context(), "East US")
	var s Set
	b.ReportAllocs()
	for b.Loop() {
		s = v.ExcludedFor(ctx)
	}
	assert.Equal(b, 1, s.Len())
}

func BenchmarkOrder(b *testing.B) {
	now := time.Now()
	h := (*Health)(nil).Mark(0, false, now)
	l := MakeList(0, 1, 2)
	b.ReportAllocs()
	for b.Loop() {
		sink.Regions, _ = h.Order(l, false, now)
	}
}
