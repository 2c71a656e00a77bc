package hedge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// armed is all that a hedged request asks of this package if its first leg answers in time.
func armed(client Options, o Options, given bool, l regions.List, start time.Time) State {
	candidates := Candidates(l, 0)
	schedule, _ := Plan(client.Merge(o, given), Query{Document: true, Candidates: candidates.Len()}, start, start.Add(time.Second), true)
	race := MakeRace(schedule)
	race.Next(start)
	race.Ended(First, Final(200, 0))
	return race.State()
}

func TestNothingAllocates(t *testing.T) {
	ctx := With(t.Context(), Options{Threshold: time.Second})
	l := list(a, b, c)
	budget, pages := NewBudget(Options{}), NewPages()
	var claims Claims
	var race Race
	tests := []struct {
		name string
		run  func()
	}{
		{"context without options", func() { FromContext(t.Context()) }},
		{"context with options", func() { FromContext(ctx) }},
		{"armed and not fired", func() {
			o, given := FromContext(ctx)
			armed(Options{}, o, given, l, epoch)
		}},
		{"off", func() { Plan(Options{Disabled: true}, Query{}, epoch, epoch, false) }},
		{"claims", func() {
			claims.Next(l, l.Set())
			claims.Claim(b)
			claims.Asked()
		}},
		{"budget", func() {
			budget.Acquire()
			budget.Release()
		}},
		{"a hedge", func() {
			race = MakeRace(MakeSchedule(Options{}, epoch, 0, 2))
			race.Tick(epoch)
			race.Ended(race.Sent(), true)
		}},
		{"pages", func() {
			key := pages.Key("dbs/d/colls/c", "0", "a continuation")
			pages.Remember(key, b)
			first, _ := pages.Lookup(key)
			Lead(l, first, 0)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(100, tt.run))
		})
	}
}

func BenchmarkArmedNotFired(b *testing.B) {
	ctx := With(b.Context(), Options{Threshold: time.Second})
	l := regions.MakeList(0, 1, 2)
	b.ReportAllocs()
	for b.Loop() {
		o, given := FromContext(ctx)
		armed(Options{}, o, given, l, epoch)
	}
}

func BenchmarkPage(b *testing.B) {
	pages := NewPages()
	token := string(make([]byte, 300))
	b.ReportAllocs()
	for b.Loop() {
		key := pages.Key("dbs/d/colls/c", "0", token)
		pages.Remember(key, 1)
		pages.Lookup(key)
	}
}

func BenchmarkBudget(b *testing.B) {
	budget := NewBudget(Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if budget.Acquire() {
				budget.Release()
			}
		}
	})
}
