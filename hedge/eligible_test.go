package hedge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

func TestEligible(t *testing.T) {
	read := Query{Document: true, Candidates: 1}
	with := func(change func(*Query)) Query {
		q := read
		change(&q)
		return q
	}
	write := with(func(q *Query) { q.Write = true })
	multi := with(func(q *Query) { q.Write, q.MultiWrite = true, true })
	tests := []struct {
		name    string
		options Options
		query   Query
		want    Reason
	}{
		{"a read", Options{}, read, ReasonNone},
		{"a read on a multi-write account", Options{}, with(func(q *Query) { q.MultiWrite = true }), ReasonNone},
		{"the zero query", Options{}, Query{}, ReasonMetadata},
		{"off", Options{Disabled: true}, read, ReasonOff},
		{"off comes before all", Options{Disabled: true}, Query{AccountDisabled: true}, ReasonOff},
		{"the account", Options{}, with(func(q *Query) { q.AccountDisabled = true }), ReasonAccount},
		{
			"the account beats every option",
			Options{Writes: true, Threshold: 1, MaxHedges: 5},
			Query{Document: true, Write: true, MultiWrite: true, AccountDisabled: true, Candidates: 9},
			ReasonAccount,
		},
		{"metadata", Options{}, with(func(q *Query) { q.Document = false }), ReasonMetadata},
		{"a metadata write", Options{Writes: true}, Query{Write: true, MultiWrite: true, Candidates: 1}, ReasonMetadata},
		{"a write nobody asked for", Options{}, multi, ReasonWrite},
		{"a write asked for", Options{Writes: true}, multi, ReasonNone},
		{"a write on a single-write account", Options{Writes: true}, write, ReasonWrite},
		{"one region", Options{}, with(func(q *Query) { q.Candidates = 0 }), ReasonOneRegion},
		{"one region, a write", Options{Writes: true}, with(func(q *Query) { q.Candidates, q.Write, q.MultiWrite = 0, true, true }), ReasonOneRegion},
		{"a negative count", Options{}, with(func(q *Query) { q.Candidates = -1 }), ReasonOneRegion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, reason := Eligible(tt.options, tt.query)
			assert.Equal(t, tt.want, reason)
			assert.Equal(t, tt.want == ReasonNone, ok)
		})
	}
}

func TestReasonNames(t *testing.T) {
	var names []string
	for r := range reasonCount {
		names = append(names, r.String())
	}
	assert.Equal(t, []string{"", "off", "account", "metadata", "write", "one_region", "deadline", "budget", "no_region"}, names)
	assert.Empty(t, reasonCount.String())
}

const a, b, c, d = regions.Index(0), regions.Index(1), regions.Index(2), regions.Index(63)

func list(r ...regions.Index) regions.List { return regions.MakeList(r...) }

func TestCandidates(t *testing.T) {
	tests := []struct {
		name       string
		applicable regions.List
		never      regions.Set
		want       regions.List // as a set
	}{
		{"all but the first", list(c, a, d, b), 0, list(a, d, b)},
		{"one region", list(a), 0, list()},
		{"none", list(), 0, list()},
		{"an opened one that rule M added", list(a, b), regions.Set(0).With(b), list()},
		{"in the middle", list(a, b, c), regions.Set(0).With(b), list(c)},
		{"the first is left out anyway", list(a, b), regions.Set(0).With(a), list(b)},
		{"a region that is not applicable", list(a, b), regions.Set(0).With(d), list(b)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want.Set(), Candidates(tt.applicable, tt.never))
		})
	}
}
