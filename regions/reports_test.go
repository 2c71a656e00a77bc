package regions

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The numbers are those of a collection of public reports against the Cosmos DB SDKs; each test names its thread.

// read is the list for a read without exclusions of a client with the global endpoint.
func read(t *Topology, preferred ...string) []string {
	return spell(t, NewView(t, NewNames(preferred...), nil, "global.example").Plan(none).Regions)
}

// Azure/azure-sdk-for-go#25102: without preferred regions the account's other regions are used, in its order.
func TestReport1_NoPreferenceUsesTheAccountsRegions(t *testing.T) {
	assert.Equal(t, []string{"A", "B", "C"}, read(topo(t, nil, false, []string{"A"}, "A", "B", "C")))
}

// Azure/azure-cosmos-dotnet-v3#4709: one preferred region limits the client to it.
func TestReport3_OnePreferredRegionIsALimit(t *testing.T) {
	assert.Equal(t, []string{"A"}, read(topo(t, nil, false, []string{"A"}, "A", "B", "C"), "A"))
}

// Azure/azure-cosmos-dotnet-v3#4639: three healthy read replicas are the way out, in the account's order.
func TestReport5_AccountOrderIsTheFallback(t *testing.T) {
	assert.Equal(t, []string{"A", "B", "C", "D"}, read(topo(t, nil, false, []string{"A"}, "A", "B", "C", "D")))
}

// Azure/azure-cosmos-dotnet-v3#1902: a region added later is used after the next account read.
func TestReport7_AddedRegionJoins(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A")
	assert.Equal(t, []string{"A"}, read(top))
	assert.Equal(t, []string{"A", "B"}, read(topo(t, top, false, []string{"A"}, "A", "B")))
}

// Azure/azure-cosmos-dotnet-v3#4206: never a region without a replica.
func TestReport9_NeverARegionTheAccountLacks(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B")
	assert.Equal(t, []string{"B"}, read(top, "Z", "B"))
	v := NewView(top, NewNames("Z", "B"), nil, "global.example")
	p := v.Plan(Route{Unavailable: MakeList(top.Lookup("Z"), 17, top.Lookup("B")), Override: None})
	assert.Zero(t, p.Regions.Set()&^top.Known())
}

// Azure/azure-sdk-for-python#39396: retries stay within the intersection of preference and account.
func TestReport11_RetriesStayInTheIntersection(t *testing.T) {
	assert.Equal(t, []string{"A", "B"}, read(topo(t, nil, false, []string{"A"}, "A", "B"), "A", "Z", "B"))
}

// Azure/azure-cosmos-dotnet-v3#2865: an unknown name is told with its value and is not fatal.
func TestReport13_UnknownNameIsToldAndNotFatal(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B")
	v := NewView(top, NewNames("Atlantis"), nil, "global.example")
	assert.Equal(t, []string{"Atlantis"}, v.Unknown())
	assert.Equal(t, []string{"A", "B"}, spell(top, v.Plan(none).Regions), "no known preference is no preference")
}

// Azure/azure-sdk-for-js#6026: the whole list, retries included, follows the preferred order.
func TestReport15_PreferredOrderForRetriesToo(t *testing.T) {
	assert.Equal(t, []string{"B", "C", "A"}, read(topo(t, nil, false, []string{"A"}, "A", "B", "C"), "B", "C", "A"))
}

// troubleshoot-sdk-availability: the only preferred region is removed from the account.
func TestReport17_OnlyPreferredRegionIsRemoved(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B", "C")
	assert.Equal(t, []string{"A"}, read(top, "A"))
	assert.Equal(t, []string{"B", "C"}, read(topo(t, top, false, []string{"B"}, "B", "C"), "A"))
}

// dapr/components-contrib#701: writes of a multi-write account follow the preferred regions.
func TestReport19_MultiWriteFollowsThePreference(t *testing.T) {
	top := topo(t, nil, true, []string{"A", "B", "C"}, "A", "B", "C")
	p := NewView(top, NewNames("C"), nil, "global.example").Plan(Route{Write: true, Override: None})
	assert.Equal(t, []string{"C"}, spell(top, p.Regions))
}

// Azure/azure-cosmos-dotnet-v3#4178: with all regions excluded the primary is used.
func TestReport23_AllExcludedIsThePrimary(t *testing.T) {
	for _, multi := range []bool{false, true} {
		writable := []string{"A"}
		if multi {
			writable = []string{"A", "B", "C"}
		}
		top := topo(t, nil, multi, writable, "A", "B", "C")
		for _, write := range []bool{false, true} {
			v := NewView(top, NewNames("C", "B", "A"), NewNames("A", "B", "C"), "global.example")
			p := v.Plan(Route{Write: write, Excluded: v.ClientExcluded(), Override: None})
			assert.Equal(t, []string{"A"}, spell(top, p.Regions))
			assert.Equal(t, multi || !write, p.Fallback, "rule W is no fallback")
		}
	}
}

// Azure/azure-sdk-for-rust#4487: the fallback is the hub's regional host, never the account's global one.
func TestReport25_FallbackIsRegional(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B")
	v := NewView(top, nil, NewNames("A", "B"), "global.example")
	p := v.Plan(Route{Excluded: v.ClientExcluded(), Override: None})
	assert.Equal(t, "a.example:443", top.Host(p.Regions.First()))
	for r := range top.Readable().All() {
		assert.NotEqual(t, "global.example", top.Host(r))
	}
}

// Azure/azure-cosmos-dotnet-v3#5789: one filter for reads and writes.
func TestReport27_OneFilterForAll(t *testing.T) {
	top := topo(t, nil, true, []string{"A", "B", "C"}, "A", "B", "C")
	v := NewView(top, nil, nil, "global.example")
	x := v.ExcludedFor(WithExcluded(t.Context(), "A", "C"))
	for _, r := range []Route{{}, {Write: true}, {Hedged: true}, {Write: true, Hedged: true}} {
		r.Excluded, r.Override = x, None
		assert.Equal(t, []string{"B"}, spell(top, v.Plan(r).Regions))
	}
}

// Azure/azure-cosmos-dotnet-v3#6100: metadata reads follow one rule, excluded regions last.
func TestReport29_MetadataReadsAskExcludedRegionsLast(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B", "C")
	v := NewView(top, nil, NewNames("A"), "global.example")
	p := v.Plan(Route{Metadata: true, Excluded: v.ClientExcluded(), Override: None})
	assert.Equal(t, []string{"B", "C", "A"}, spell(top, p.Regions))
}

// Azure/azure-sdk-for-java#36616: client-level exclusions change at run time, between concurrent requests.
func TestReport31_ExclusionsChangeAtRunTime(t *testing.T) {
	top := topo(t, nil, true, []string{"A", "B"}, "A", "B")
	var view atomic.Pointer[View]
	view.Store(NewView(top, nil, nil, "global.example"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				v := view.Load()
				l := v.Plan(Route{Excluded: v.ExcludedFor(t.Context()), Override: None}).Regions
				want := top.Readable().Set() &^ v.ClientExcluded()
				assert.Equal(t, want, l.Set(), "a plan is of one view")
			}
		})
	}
	for i := range 500 {
		view.Store(view.Load().WithExcluded(NewNames([]string{"A", "B"}[i%2])))
	}
	wg.Wait()
	assert.Equal(t, []string{"A"}, read2(view.Load()))
}

// read2 is the list of a read with the client's exclusions.
func read2(v *View) []string {
	return spell(v.Topology(), v.Plan(Route{Excluded: v.ClientExcluded(), Override: None}).Regions)
}

// Azure/azure-sdk-for-python#46246: an excluded hub leaves the account and comes back; writes stay away from it.
func TestReport33_ExcludedHubLeavesAndReturns(t *testing.T) {
	write := func(v *View) []string {
		return spell(v.Topology(), v.Plan(Route{Write: true, Excluded: v.ClientExcluded(), Override: None}).Regions)
	}
	all, without := []string{"A", "B", "C"}, []string{"B", "C"}
	top := topo(t, nil, true, all, all...)
	v := NewView(top, nil, NewNames("A"), "global.example")
	assert.Equal(t, without, write(v))
	gone := topo(t, top, true, without, without...)
	v = v.WithTopology(gone)
	assert.Equal(t, without, write(v))
	assert.Equal(t, []string{"A"}, v.Unknown())
	v = v.WithTopology(topo(t, gone, true, all, all...))
	assert.Equal(t, without, write(v))
	assert.Empty(t, v.Unknown())
}

// Azure/azure-sdk-for-java#36652: the list a session retry walks has no excluded region.
func TestReport35_SessionRetriesKeepTheExclusion(t *testing.T) {
	top := topo(t, nil, true, []string{"A", "B", "C"}, "A", "B", "C")
	assert.Equal(t, []string{"A", "C"}, read2(NewView(top, nil, NewNames("B"), "global.example")))
}

// Azure/azure-sdk-for-js#35739: a region that the last answer lacks is in no list.
func TestReport45_StaleRegionLeavesEveryList(t *testing.T) {
	top := topo(t, nil, false, []string{"A"}, "A", "B", "C")
	a := top.Lookup("A")
	next := topo(t, top, false, []string{"B"}, "B", "C")
	for _, preferred := range []Names{nil, NewNames("A", "C"), NewNames("A")} {
		v := NewView(next, preferred, nil, "a.example")
		for bits := range 32 {
			p := v.Plan(Route{
				Write: bits&1 != 0, Hedged: bits&2 != 0, Metadata: bits&4 != 0,
				Unavailable: MakeList([]Index{a, 1, 2}[:bits>>3]...), Override: a,
			})
			assert.False(t, p.Regions.Has(a), "%v %b", preferred, bits)
			assert.False(t, slices.Contains(spell(next, p.Regions), "A"))
		}
	}
}
