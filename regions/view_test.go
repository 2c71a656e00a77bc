package regions

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// none is a read without anything special about it.
var none = Route{Override: None}

func TestWithExcluded(t *testing.T) {
	ctx := t.Context()
	_, ok := Excluded(ctx)
	assert.False(t, ok)
	given := []string{"A", " ", "a", "B"}
	one := WithExcluded(ctx, given...)
	given[0] = "Z"
	names, ok := Excluded(one)
	assert.True(t, ok)
	assert.Equal(t, Names{"A", "B"}, names)
	for _, cleared := range []context.Context{WithExcluded(one), WithExcluded(one, "", " ")} {
		names, ok = Excluded(cleared)
		assert.True(t, ok, "an empty list is a list")
		assert.Empty(t, names)
	}
}

func TestView_ExcludedFor(t *testing.T) {
	top := topo(t, nil, true, []string{"A", "B", "C"}, "A", "B", "C")
	v := NewView(top, nil, NewNames("a", "B", "Atlantis"), "global.example")
	set := func(names ...string) Set { return top.SetOf(NewNames(names...)) }
	assert.Equal(t, set("A", "B"), v.ClientExcluded())
	assert.Equal(t, set("A", "B"), v.ExcludedFor(t.Context()))
	assert.Equal(t, set("C"), v.ExcludedFor(WithExcluded(t.Context(), "c", "Mu")), "replaces, does not add")
	assert.Equal(t, Set(0), v.ExcludedFor(WithExcluded(t.Context())), "empty clears")
	assert.Equal(t, set("C"), v.WithExcluded(NewNames("C")).ExcludedFor(t.Context()))
	assert.Equal(t, set("A", "B"), v.ExcludedFor(t.Context()), "the old view is untouched")
}

func TestView_Unknown(t *testing.T) {
	top := topo(t, nil, false, nil, "A", "B")
	v := NewView(top, NewNames("A", " At-lantis "), NewNames("atlantis", "Mu", "B"), "")
	assert.Equal(t, []string{" At-lantis ", "Mu"}, v.Unknown(), "as given, each once")
	v = v.WithTopology(topo(t, top, false, nil, "A", "B", "ATLANTIS"))
	assert.Equal(t, []string{"Mu"}, v.Unknown())
	assert.Equal(t, []string{"A", "ATLANTIS"}, spell(v.Topology(), v.ReadBase()), "used as soon as the account has it")
	assert.Nil(t, NewView(top, nil, nil, "").Unknown())
	assert.Equal(t, Names{"A"}, NewView(top, NewNames("A"), nil, "").Preferred())
}

func TestView_EffectivePreferredRegions(t *testing.T) {
	for _, tt := range []struct {
		multi        bool
		host         string
		preferred    Names
		reads, write string
	}{
		{false, "global.example", nil, "[A B C]", "[A]"},
		{false, "global.example", NewNames("C", "B"), "[C B]", "[A]"},
		{false, "B.example:443", nil, "[A]", "[A]"},
		{false, "b.example", NewNames("B"), "[B]", "[A]"},
		{false, "b.example", NewNames("C", "A"), "[C A]", "[A]"},
		{false, "b.example", NewNames("Atlantis"), "[A]", "[A]"},
		{true, "global.example", nil, "[A B C]", "[A B]"},
		{true, "global.example", NewNames("C", "B"), "[C B]", "[B]"},
		{true, "global.example", NewNames("C"), "[C]", "[A B]"}, // C takes no writes: no preference for them
		{true, "b.example", nil, "[B]", "[B]"},
		{true, "c.example", nil, "[C]", "[A]"}, // nothing left for writes: the primary
		{true, "b.example", NewNames("A", "B"), "[A B]", "[A B]"},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			writable := []string{"A"}
			if tt.multi {
				writable = []string{"A", "B"}
			}
			top := topo(t, nil, tt.multi, writable, "A", "B", "C")
			v := NewView(top, tt.preferred, nil, tt.host)
			assert.Equal(t, tt.reads, fmt.Sprint(spell(top, v.ReadBase())))
			assert.Equal(t, tt.write, fmt.Sprint(spell(top, v.WriteBase())))
			assert.Equal(t, top.ByHost(tt.host), v.Regional())
			assert.Equal(t, v.ReadBase(), v.Plan(none).Regions)
			assert.Equal(t, v.WriteBase(), v.Plan(Route{Write: true, Override: None}).Regions)
		})
	}
}

func TestView_RegionalEndpointFollowsTheTopology(t *testing.T) {
	top := topo(t, nil, true, []string{"A", "B"}, "A", "B")
	v := NewView(top, nil, nil, "b.example:443")
	assert.Equal(t, []string{"B"}, spell(top, v.ReadBase()))
	top = topo(t, top, true, []string{"A"}, "A")
	v = v.WithTopology(top)
	assert.Equal(t, None, v.Regional(), "B has left: the endpoint is no region's own")
	assert.Equal(t, []string{"A"}, spell(top, v.ReadBase()))
	top = topo(t, top, true, []string{"A", "B"}, "A", "B")
	v = v.WithTopology(top)
	assert.Equal(t, "B", top.Name(v.Regional()))
}

func TestPlan_Metadata(t *testing.T) {
	for _, multi := range []bool{false, true} {
		top := topo(t, nil, multi, []string{"A", "B"}, "A", "B", "C")
		v := NewView(top, NewNames("C", "A", "B"), nil, "")
		all := top.Readable()
		p := v.Plan(Route{
			Metadata: true, Excluded: top.SetOf(Names{"C", "A"}), Unavailable: all, Override: top.Lookup("B"),
		})
		assert.Equal(t, []string{"B", "C", "A"}, spell(top, p.Regions), "excluded last, in their order")
		assert.Equal(t, "metadata", p.Rule.String())
		assert.False(t, p.Fallback)
		p = v.Plan(Route{Metadata: true, Excluded: top.Known(), Override: None})
		assert.Equal(t, []string{"C", "A", "B"}, spell(top, p.Regions))
		p = v.Plan(Route{Metadata: true, Write: true, Excluded: top.Known(), Override: top.Lookup("B"), Unavailable: all})
		assert.Equal(t, Plan{Regions: MakeList(top.Primary()), Rule: RuleW}, p, "metadata writes go to the primary")
	}
}

// Sets and lists kept from before a topology change mean the same regions afterwards.
func TestPlan_KeptSetsSurviveTopologyChanges(t *testing.T) {
	one := topo(t, nil, true, []string{"A", "B", "C"}, "A", "B", "C")
	v := NewView(one, nil, nil, "")
	r := Route{Excluded: one.SetOf(Names{"A"}), Unavailable: MakeList(one.Lookup("B")), Override: None}
	assert.Equal(t, []string{"C", "B"}, spell(one, v.Plan(r).Regions))
	two := topo(t, one, true, []string{"D", "C", "B"}, "D", "C", "B") // A has left: it is neither excluded nor D
	assert.Equal(t, []string{"D", "C"}, spell(two, v.WithTopology(two).Plan(r).Regions))
	three := topo(t, two, true, []string{"B", "A"}, "B", "A")
	p := v.WithTopology(three).Plan(r)
	assert.Equal(t, []string{"B"}, spell(three, p.Regions), "A is excluded again; B is opened, but the primary")
	assert.Equal(t, RuleFallback, p.Rule)
	assert.True(t, p.Fallback)
}

func TestPlan_OverrideThatDoesNotCount(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B")
	v := NewView(top, nil, nil, "")
	for _, o := range []Index{None, 40, 64, top.Primary()} {
		p := v.Plan(Route{Override: o})
		assert.Equal(t, RuleFilter, p.Rule, o)
		assert.Equal(t, MakeList(top.Primary()), v.Plan(Route{Write: true, Override: o}).Regions, o)
	}
	multi := topo(t, nil, true, []string{"A", "B"}, "A", "B")
	p := NewView(multi, nil, nil, "").Plan(Route{Override: multi.Lookup("B")})
	assert.Equal(t, RuleFilter, p.Rule, "multi-write accounts have no override")
}

// A service that lists a primary it does not list as readable: the rules for reads look at the readable regions alone.
func TestPlan_PrimaryIsNotReadable(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "B", "C")
	b := top.Lookup("B")
	p := NewView(top, nil, NewNames("A"), "").Plan(Route{Excluded: top.SetOf(Names{"A"}), Override: b})
	assert.Equal(t, RuleU, p.Rule, "an exclusion without a readable region is empty")
	assert.Equal(t, []string{"B", "A"}, spell(top, p.Regions))

	top = topo(t, nil, false, []string{"A"}, "B")
	p = NewView(top, nil, nil, "").Plan(Route{Override: top.Lookup("B")})
	assert.Equal(t, RuleFilter, p.Rule, "rule U is for more than one region")
	assert.Equal(t, []string{"B"}, spell(top, p.Regions))
}
