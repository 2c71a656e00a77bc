package regions

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// located region for tests: "A" lives at a.example:443.
func at(names ...string) []Region {
	var out []Region
	for _, n := range names {
		out = append(out, Region{Name: n, Endpoint: fmt.Sprintf("https://%s.example:443/", Normalize(n))})
	}
	return out
}

// topo makes a topology that must not fail.
func topo(tb testing.TB, prev *Topology, multi bool, writable []string, readable ...string) *Topology {
	tb.Helper()
	t, err := NewTopology(Account{Readable: at(readable...), Writable: at(writable...), MultiWrite: multi}, prev)
	require.NoError(tb, err)
	return t
}

// spell turns a list into names.
func spell(t *Topology, l List) []string {
	var out []string
	for r := range l.All() {
		out = append(out, t.Name(r))
	}
	return out
}

func TestTopology_Accessors(t *testing.T) {
	a, err := ParseAccount([]byte(full))
	require.NoError(t, err)
	top, err := NewTopology(a, nil)
	require.NoError(t, err)
	west, east := top.Lookup("WESTUS3"), top.Lookup("east-us")
	assert.Equal(t, MakeList(west, east), top.Readable())
	assert.Equal(t, MakeList(west), top.Writable())
	assert.Equal(t, west, top.Primary())
	assert.Equal(t, Set(0).With(west).With(east), top.Known())
	assert.False(t, top.MultiWrite())
	assert.True(t, *top.PartitionFailover())
	assert.Nil(t, top.HedgingDisabled())
	assert.Equal(t, "East US", top.Name(east))
	assert.Equal(t, "acct-eastus.documents.azure.com:443", top.Host(east), "as azcosmos has it, port included")
	assert.Empty(t, top.Dropped())
	assert.Equal(t, a, top.Account())

	*top.PartitionFailover() = false
	assert.True(t, *top.PartitionFailover(), "a copy is handed out")
	for _, no := range []Index{2, 63, 64, None} {
		assert.Empty(t, top.Name(no))
		assert.Empty(t, top.Host(no))
	}
}

func TestTopology_ByHost(t *testing.T) {
	top, err := NewTopology(Account{Readable: []Region{
		{"A", "https://a.example:443/"},
		{"B", "https://b.example"},
		{"C", "http://c.example:80"},
		{"D", "https://127.0.0.1:8081"},
	}}, nil)
	require.NoError(t, err)
	for host, want := range map[string]string{
		"a.example": "A", "A.Example:443": "A", "a.example:80": "", "a.example:444": "",
		"b.example": "B", "B.EXAMPLE:443": "B",
		"c.example": "C", "c.example:80": "C", "c.example:443": "",
		"127.0.0.1:8081": "D", "127.0.0.1": "",
		"": "", ":443": "", "global.example": "",
	} {
		assert.Equal(t, want, top.Name(top.ByHost(host)), host)
	}
}

func TestTopology_Zero(t *testing.T) {
	var top Topology
	assert.Equal(t, None, top.Primary())
	assert.Equal(t, None, top.Lookup("A"))
	assert.Equal(t, None, top.ByHost("a.example"))
	assert.Equal(t, Account{}, top.Account())
	v := NewView(nil, NewNames("A"), nil, "a.example")
	assert.Equal(t, []string{"A"}, v.Unknown())
	for _, r := range []Route{{}, {Write: true}, {Metadata: true}, {Override: None}, {Unavailable: MakeList(0)}, {Excluded: 1}} {
		p := v.Plan(r)
		assert.Zero(t, p.Regions.Len())
	}
}

func TestNewTopology_CleansTheAnswer(t *testing.T) {
	top, err := NewTopology(Account{
		Readable: []Region{
			{"West US", "https://1.example"},
			{"west-us", "https://2.example"}, // the first wins
			{"", "https://3.example"},
			{"East US", "nonsense"}, // usable through the writable list
			{"Atlantis", "ftp://atlantis.example"},
		},
		Writable: []Region{{"EastUS", "https://4.example"}, {"EastUS", "https://5.example"}, {"Mu", ""}},
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"West US", "EastUS"}, spell(top, top.Readable()))
	assert.Equal(t, []string{"EastUS"}, spell(top, top.Writable()))
	assert.Equal(t, "1.example", top.Host(top.Lookup("west us")))
	assert.Equal(t, "4.example", top.Host(top.Lookup("east us")))
	assert.Equal(t, []string{
		"readableLocations[2]: no name",
		`readableLocations[4] "Atlantis": endpoint "ftp://atlantis.example" is unusable`,
		`writableLocations[2] "Mu": endpoint "" is unusable`,
	}, top.Dropped())
}

func TestNewTopology_MissingLists(t *testing.T) {
	ab := topo(t, nil, false, []string{"B"}, "A", "B")
	for name, tt := range map[string]struct {
		multi              bool
		readable, writable []string
		prev               *Topology
		wantR, wantW       []string
	}{
		"no readable":                  {false, nil, []string{"B"}, nil, []string{"B"}, []string{"B"}},
		"no writable":                  {false, []string{"A", "B"}, nil, nil, []string{"A", "B"}, []string{"A"}},
		"no writable, primary known":   {false, []string{"A", "B"}, nil, ab, []string{"A", "B"}, []string{"B"}},
		"no writable, primary is gone": {false, []string{"A", "C"}, nil, ab, []string{"A", "C"}, []string{"A"}},
		"no writable, multi-write":     {true, []string{"A", "B"}, nil, ab, []string{"A", "B"}, []string{"A", "B"}},
	} {
		t.Run(name, func(t *testing.T) {
			top := topo(t, tt.prev, tt.multi, tt.writable, tt.readable...)
			assert.Equal(t, tt.wantR, spell(top, top.Readable()))
			assert.Equal(t, tt.wantW, spell(top, top.Writable()))
		})
	}
	full := topo(t, nil, false, []string{"Region 0"}, many(0, 64)...)
	reused := topo(t, full, false, nil, append(many(1, 63), "Region 100")...)
	assert.Equal(t, full.Primary(), reused.Lookup("Region 100"))
	assert.Equal(t, "Region 1", reused.Name(reused.Primary()), "who takes the old primary's index is not the primary")
	_, err := NewTopology(Account{}, ab)
	require.ErrorIs(t, err, ErrNoRegion)
}

// many returns n region names beginning with number from.
func many(from, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("Region %d", from+i))
	}
	return out
}

func TestNewTopology_100Regions(t *testing.T) {
	top := topo(t, nil, true, []string{"Region 99", "Region 3", "Region 98"}, many(0, 100)...)
	assert.Equal(t, MaxRegions, top.Known().Len())
	assert.Equal(t, "Region 99", top.Name(top.Primary()), "the primary always finds room")
	assert.Equal(t, append(many(0, 63), "Region 99"), spell(top, top.Readable()))
	assert.Equal(t, []string{"Region 99", "Region 3"}, spell(top, top.Writable()))
	require.Len(t, top.Dropped(), 36, "63 to 98, each told once")
	assert.Equal(t, `"Region 63": more than 64 regions`, top.Dropped()[0])

	next := topo(t, top, true, many(100, 1), many(36, 64)...)
	assert.Equal(t, 64, next.Known().Len(), "vanished indices are reused when no other is free")
	assert.Equal(t, "Region 100", next.Name(next.Primary()))
	for _, name := range many(36, 27) {
		assert.Equal(t, top.Lookup(name), next.Lookup(name), name)
	}
}

func TestNewTopology_IndicesAreStable(t *testing.T) {
	one := topo(t, nil, false, []string{"A"}, "A", "B", "C")
	a, b, c := one.Lookup("A"), one.Lookup("B"), one.Lookup("C")
	two := topo(t, one, false, []string{"C"}, "D", "c", "B") // A left, D came, another order and spelling
	assert.Equal(t, c, two.Primary())
	assert.Equal(t, b, two.Lookup("B"))
	assert.Equal(t, None, two.Lookup("A"))
	assert.Equal(t, "A", two.Name(a), "a vanished region keeps its name")
	assert.Empty(t, two.Host(a))
	assert.Equal(t, None, two.ByHost("a.example"))
	d := two.Lookup("D")
	assert.False(t, slices.Contains([]Index{a, b, c}, d), "D does not take A's place")
	three := topo(t, two, false, []string{"A"}, "A", "D")
	assert.Equal(t, a, three.Primary(), "A is A again")
	assert.Equal(t, d, three.Lookup("D"))
	assert.Equal(t, []string{"A", "B", "C"}, spell(one, one.Readable()), "the old one is untouched")
}

func TestNewTopology_FlagsCarryOver(t *testing.T) {
	yes, no := true, false
	a := Account{Readable: at("A"), PartitionFailover: &yes, HedgingDisabled: &yes}
	one, err := NewTopology(a, nil)
	require.NoError(t, err)
	yes2 := topo(t, one, false, nil, "A")
	assert.True(t, *yes2.PartitionFailover(), "absent is no change")
	assert.True(t, *yes2.HedgingDisabled())
	a.PartitionFailover, a.HedgingDisabled = &no, &no
	off, err := NewTopology(a, yes2)
	require.NoError(t, err)
	assert.False(t, *off.PartitionFailover())
	assert.False(t, *off.HedgingDisabled())
	no = true
	assert.False(t, *off.PartitionFailover(), "the account's pointer is not kept")
	assert.Nil(t, topo(t, nil, false, nil, "A").PartitionFailover())
}

func TestTopology_Equal(t *testing.T) {
	base := topo(t, nil, false, []string{"A"}, "A", "B")
	yes := true
	flagged := base.Account()
	flagged.HedgingDisabled = &yes
	failover := base.Account()
	failover.PartitionFailover = &yes
	moved := base.Account()
	moved.Readable = append([]Region{{"A", "https://elsewhere.example"}}, moved.Readable[1])
	renamed := base.Account()
	renamed.ID = "acct-westus"
	for name, tt := range map[string]struct {
		a    Account
		want bool
	}{
		"same":       {base.Account(), true},
		"other id":   {renamed, true},
		"order":      {Account{Readable: at("B", "A"), Writable: at("A")}, false},
		"fewer":      {Account{Readable: at("A"), Writable: at("A")}, false},
		"writable":   {Account{Readable: at("A", "B"), Writable: at("B")}, false},
		"multi":      {Account{Readable: at("A", "B"), Writable: at("A"), MultiWrite: true}, false},
		"host":       {moved, false},
		"hedge flag": {flagged, false},
		"ppaf flag":  {failover, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := NewTopology(tt.a, base)
			require.NoError(t, err)
			assert.Equal(t, tt.want, base.Equal(o))
			assert.Equal(t, tt.want, o.Equal(base))
			assert.True(t, o.Equal(o))
		})
	}
	var none *Topology
	assert.False(t, none.Equal(base))
	assert.False(t, base.Equal(nil))
	assert.True(t, none.Equal(nil))
}
