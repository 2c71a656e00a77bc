package regions

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// twin is a deliberately dumb second reading of the rules, sentence by sentence, on strings. Names come back as the
// account spells them.
func twin(a Account, q Query) (list []string, rule string, fallback bool) {
	spelled := map[string]string{}
	norms := func(regions []Region) []string {
		var out []string
		for _, r := range regions {
			n := Normalize(r.Name)
			if n == "" || slices.Contains(out, n) {
				continue
			}
			out = append(out, n)
			if spelled[n] == "" {
				spelled[n] = r.Name
			}
		}
		return out
	}
	readable, writable := norms(a.Readable), norms(a.Writable)
	if len(readable)+len(writable) == 0 {
		return nil, "", false
	}
	if len(readable) == 0 {
		readable = writable
	}
	if len(writable) == 0 {
		writable = readable[:1]
		if a.MultiWrite {
			writable = readable
		}
	}
	names, rule, fallback := twinRules(readable, writable, a.MultiWrite, q)
	for _, n := range names {
		list = append(list, spelled[n])
	}
	return list, rule, fallback
}

func twinRules(readable, writable []string, multi bool, q Query) (list []string, rule string, fallback bool) {
	primary := writable[0]
	acct := readable
	if q.Write {
		acct = writable
	}
	in := func(given []string) []string { // "every list below means its regions in acct"
		var out []string
		for _, g := range given {
			if n := Normalize(g); slices.Contains(acct, n) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		return out
	}
	o := Normalize(q.Override)
	if multi || o == primary || !slices.Contains(readable, o) {
		o = ""
	}
	// W
	if q.Write && !multi {
		if o != "" {
			return []string{o}, "W", false
		}
		return []string{primary}, "W", false
	}
	// base
	preferred, excluded, opened := in(q.Preferred), in(q.Excluded), in(q.Unavailable)
	regional := Normalize(q.Regional)
	global := !slices.Contains(readable, regional) && !slices.Contains(writable, regional)
	free := len(preferred) == 0 && global
	var base []string
	switch {
	case len(preferred) > 0:
		base = preferred
	case global:
		base = acct
	case multi:
		base = in([]string{regional})
	default:
		base = []string{primary}
	}
	if len(base) == 0 {
		base = []string{primary}
	}
	// U
	if !q.Write && free && o != "" && len(excluded) == 0 && len(opened) == 0 && len(base) > 1 {
		return []string{o, primary}, "U", false
	}
	// list, removed, fallback
	for _, r := range base {
		if !slices.Contains(excluded, r) && !slices.Contains(opened, r) {
			list = append(list, r)
		}
	}
	removed := false
	for _, r := range opened {
		if slices.Contains(base, r) && !slices.Contains(excluded, r) {
			removed = true
		}
	}
	rule = "filter"
	if len(list) == 0 {
		list, rule, fallback = []string{primary}, "fallback", true
	}
	if len(base) <= 1 || len(list) >= 2 || q.Hedged {
		return list, rule, fallback
	}
	// K
	if fallback && len(excluded) > 0 && !removed {
		if !q.Write && o != "" {
			return []string{o}, "K", true
		}
		return []string{primary}, "K", true
	}
	// O
	if fallback && free && !q.Write && o != "" {
		list, rule = []string{o, primary}, "O"
	}
	// M
	for _, r := range opened {
		if !slices.Contains(excluded, r) && !slices.Contains(list, r) {
			return append(list, r), rule + "+M", fallback
		}
	}
	return list, rule, fallback
}

// checkLaws holds for every account with a region and every query.
func checkLaws(t *testing.T, a Account, q Query) {
	t.Helper()
	p, top := plan(a, q)
	assert.Positive(t, p.Regions.Len(), "never empty")
	assert.Zero(t, p.Regions.Set()&^top.Known(), "only regions the account has")
	assert.Equal(t, p.Regions.Len(), p.Regions.Set().Len(), "no duplicates")
	if q.Hedged {
		assert.False(t, strings.HasSuffix(p.Rule.String(), "M"), "a hedge is never extended")
	}
	acct := top.Readable()
	if q.Write {
		acct = top.Writable()
	}
	excluded := top.SetOf(NewNames(q.Excluded...)) & acct.Set() // an exclusion without a region in acct is empty
	if !p.Fallback && p.Rule != RuleW {
		assert.Zero(t, p.Regions.Set()&excluded, "no excluded region but as the fallback")
	}
	if p.Fallback && (p.Rule == RuleFallback || p.Rule == RuleFallbackM) {
		assert.Equal(t, top.Primary(), p.Regions.First())
	}
	again, _ := plan(top.Account(), q)
	assert.Equal(t, p.Rule, again.Rule, "the cleaned account gives the same plan")
	assert.Equal(t, Applicable(a, q), Applicable(top.Account(), q))
	q.Preferred = append(q.Preferred, "Atlantis")
	q.Excluded = append(q.Excluded, "Nowhere", " ")
	same, _ := plan(a, q)
	assert.Equal(t, p, same, "unknown and blank names change nothing")
}

func TestPlan_LawsOnRows(t *testing.T) {
	for _, r := range rows(t) {
		checkLaws(t, r.account(), r.Query)
	}
}

// reader turns fuzz bytes into choices.
type reader []byte

func (r *reader) next() int {
	if len(*r) == 0 {
		return 0
	}
	b := (*r)[0]
	*r = (*r)[1:]
	return int(b)
}

var spellings = []string{
	"A", "B", "C", "West US 3", "west-us-3", "D", "WESTUS_3", "E", "F", "G", "H", " b ", "c", "Ü Nord", "ü-nord", "", " ",
}

// names picks up to 7 spellings, with repetitions.
func (r *reader) names() []string {
	var out []string
	for range r.next() % 8 {
		out = append(out, spellings[r.next()%len(spellings)])
	}
	return out
}

func FuzzPlan(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 1, 2, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1})
	f.Add([]byte{3, 0, 1, 2, 3, 0, 1, 2, 1, 1, 3, 0, 1, 2, 3, 0, 1, 2, 2, 1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader(data)
		a := Account{Readable: named(r.names()...), Writable: named(r.names()...)}
		flags := r.next()
		a.MultiWrite = flags&1 != 0
		q := Query{
			Write: flags&2 != 0, Hedged: flags&4 != 0,
			Preferred: r.names(), Excluded: r.names(), Unavailable: r.names(),
			Override: spellings[r.next()%len(spellings)],
		}
		if flags&8 != 0 {
			q.Regional = spellings[r.next()%len(spellings)]
		}
		want, rule, fallback := twin(a, q)
		assert.Equal(t, want, Applicable(a, q))
		p, top := plan(a, q)
		if top == nil {
			return
		}
		assert.Equal(t, rule, p.Rule.String())
		assert.Equal(t, fallback, p.Fallback)
		checkLaws(t, a, q)
	})
}
