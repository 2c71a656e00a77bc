package ppaf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// exchange is one attempt of a search: when its answer came, and what it was.
type exchange struct {
	at     time.Duration
	answer Answer
	want   Step
}

func ask(r regions.Index) Step { return Step{Action: Ask, Region: r} }

func again(wait time.Duration) Step {
	return Step{Action: Again, Region: regions.None, Wait: wait, Exhausted: true}
}

func TestSearch(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	stop, over := Step{Region: regions.None}, Step{Region: regions.None, Exhausted: true}
	for _, tc := range []struct {
		name     string
		deadline time.Duration
		steps    []exchange
	}{
		{"confirmed at once", 0, []exchange{{0, Confirmed, stop}}},
		{
			"each candidate once, no election without 403/3", 0,
			[]exchange{{0, Unavailable, ask(1)}, {s, NotSent, ask(2)}, {2 * s, Unavailable, over}},
		},
		{"a timeout ends it", 0, []exchange{{0, Refused, ask(1)}, {s, TimedOut, stop}}},
		{"other answers end it", 0, []exchange{{0, Refused, ask(1)}, {s, Other, stop}}},
		{"cancelled", 0, []exchange{{0, Refused, ask(1)}, {s, NoAnswer, stop}}},
		{
			"one 403/3 makes an election", 0,
			[]exchange{{0, Unavailable, ask(1)}, {0, Refused, ask(2)}, {0, NotSent, again(s)}, {s, Refused, ask(1)}},
		},
		{"three rounds at most", 0, []exchange{
			{0, Refused, ask(1)},
			{0, Refused, ask(2)},
			{0, Refused, again(s)},
			{s, Refused, ask(1)},
			{s, Refused, ask(2)},
			{s, Refused, again(2 * s)},
			{3 * s, Refused, ask(1)},
			{3 * s, Refused, ask(2)},
			{3 * s, Refused, over},
		}},
		{"a second round without 403/3 is the last", 0, []exchange{
			{0, Refused, ask(1)},
			{0, Refused, ask(2)},
			{0, Refused, again(s)},
			{s, NotSent, ask(1)},
			{s, NotSent, ask(2)},
			{s, NotSent, over},
		}},
		{
			"the budget counts from the first 403/3: a round may start at its end", 0,
			[]exchange{{0, Unavailable, ask(1)}, {9 * s, Refused, ask(2)}, {13 * s, Refused, again(s)}},
		},
		{
			"and not later", 0,
			[]exchange{{0, Unavailable, ask(1)}, {9 * s, Refused, ask(2)}, {13*s + ms, Refused, over}},
		},
		{"a round that began in time goes on", 0, []exchange{
			{0, Refused, ask(1)},
			{0, Refused, ask(2)},
			{4 * s, Refused, again(s)},
			{5 * s, Refused, ask(1)},
			{50 * s, Refused, ask(2)},
			{60 * s, Refused, over},
		}},
		{
			"a round starts before the deadline", 1001 * ms,
			[]exchange{{0, Refused, ask(1)}, {0, Refused, ask(2)}, {0, Refused, again(s)}},
		},
		{"or not at all", s, []exchange{{0, Refused, ask(1)}, {0, Refused, ask(2)}, {0, Refused, over}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var deadline time.Time
			if tc.deadline > 0 {
				deadline = epoch.Add(tc.deadline)
			}
			order := regions.MakeList(0, 1, 2)
			search := NewSearch(order, 7, deadline)
			assert.Equal(t, Token(7), search.Began())
			at := order.First()
			for i, x := range tc.steps {
				step := search.Next(at, x.answer, epoch.Add(x.at))
				assert.Equal(t, x.want, step, "step %d", i)
				at = step.Region
				if step.Action == Again {
					search.Round(order, 8)
					at = order.First()
				}
			}
		})
	}
}

// The region that is asked first need not be among the candidates: the topology may have changed since.
func TestSearchFromElsewhere(t *testing.T) {
	search := NewSearch(regions.MakeList(0, 1), 1, time.Time{})
	assert.Equal(t, ask(0), search.Next(5, Refused, epoch))
	assert.Equal(t, ask(1), search.Next(0, Refused, epoch))
	search = NewSearch(regions.List{}, 1, time.Time{})
	assert.True(t, search.Next(0, Unavailable, epoch).Exhausted)
}

func TestCandidates(t *testing.T) {
	const a, b, c, none = 0, 1, 2, regions.None
	abc := regions.MakeList(a, b, c)
	set := func(r ...regions.Index) regions.Set { return regions.MakeList(r...).Set() }
	for _, tc := range []struct {
		name     string
		start    Start
		primary  regions.Index
		readable regions.List
		excluded regions.Set
		want     regions.List
	}{
		{"the primary, then the service's order", Start{none, none}, b, abc, 0, regions.MakeList(b, a, c)},
		{"the override first, the primary among the others", Start{c, none}, a, abc, 0, regions.MakeList(c, a, b)},
		{"excluded last", Start{none, none}, a, abc, set(b), regions.MakeList(a, c, b)},
		{"an excluded start stays first", Start{c, none}, a, abc, set(a, c), regions.MakeList(c, b, a)},
		{"an override that left", Start{7, none}, a, abc, 0, regions.MakeList(a, b, c)},
		{"slow comes last", Start{none, a}, a, abc, 0, regions.MakeList(b, c, a)},
		{"from the next one on", Start{none, b}, a, abc, 0, regions.MakeList(c, a, b)},
		{"a slow override", Start{b, b}, a, abc, 0, regions.MakeList(c, a, b)},
		{"slow behind the excluded", Start{none, c}, a, abc, set(a), regions.MakeList(b, a, c)},
		{"a slow region that left", Start{none, 7}, a, abc, 0, regions.MakeList(a, b, c)},
		{"a primary that takes no reads", Start{none, none}, c, regions.MakeList(a, b), 0, regions.MakeList(c, a, b)},
		{"slow is all there is", Start{none, a}, a, regions.MakeList(a), 0, regions.MakeList(a)},
		{"no account", Start{none, none}, none, regions.List{}, 0, regions.List{}},
	} {
		assert.Equal(t, tc.want, tc.start.Candidates(tc.primary, tc.readable, tc.excluded), tc.name)
	}
}
