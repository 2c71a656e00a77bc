package partition

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const link = "dbs/d/colls/c"

func resolve(m *Map, rangeID, key string) ID {
	id, _ := Resolve(1, link, m, rangeID, key)
	return id
}

func TestResolveOrderOfKnowledge(t *testing.T) {
	withIDs := mustMap(t, "rid", evenRanges(t, 8)...)
	anonymous := evenRanges(t, 8)
	for i := range anonymous {
		anonymous[i].ID = ""
	}
	withoutIDs := mustMap(t, "rid", anonymous...)
	const key = `["partitionKey"]` // 013AEF…, range 0
	for _, tc := range []struct {
		name         string
		m            *Map
		rangeID, key string
		want         Known
	}{
		{"id in the map", withIDs, "5", "", ByRangeID},
		{"id in the map, and a key", withIDs, "5", key, ByRangeID},
		{"id not in the map", withIDs, "99", "", ByRangeID},
		{"id not in the map, and a key: the map is old", withIDs, "99", key, ByRangeID},
		{"id, and a map without ids", withoutIDs, "5", "", ByRangeID},
		{"id and a key, and a map without ids", withoutIDs, "5", key, ByEPK},
		{"id and no map", nil, "5", "", ByRangeID},
		{"id and key and no map", nil, "5", key, ByRangeID},
		{"key", withIDs, "", key, ByEPK},
		{"key and a map without ids", withoutIDs, "", key, ByEPK},
		{"key and no map", nil, "", key, ByLogicalKey},
		{"undecodable key", withIDs, "", `["\x"]`, ByLogicalKey},
		{"key of too many components", withIDs, "", `["a","b"]`, ByLogicalKey},
		{"key at the maximum", withIDs, "", `"Infinity"`, ByLogicalKey},
		{"undecodable key and an id, without ids", withoutIDs, "5", `["\x"]`, ByRangeID},
		{"nothing", withIDs, "", "", ByContainer},
		{"nothing and no map", nil, "", "", ByContainer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, known := Resolve(1, link, tc.m, tc.rangeID, tc.key)
			assert.Equal(t, tc.want, known, known.String())
			assert.NotZero(t, id.Container)
			assert.NotZero(t, id.Range)
			again, _ := Resolve(1, link, tc.m, tc.rangeID, tc.key)
			assert.Equal(t, id, again)
		})
	}

	id, known := Resolve(1, "", nil, "5", key)
	assert.Equal(t, ID{}, id)
	assert.Equal(t, Unknown, known)
	_, known = Resolve(1, "", withIDs, "", "")
	assert.Equal(t, ByContainer, known, "a map names its container")

	assert.Equal(t, resolve(withIDs, "0", ""), resolve(withIDs, "", key), "id and EPK agree")
	assert.Equal(t, resolve(withIDs, "0", ""), resolve(withoutIDs, "", key), "with and without ids too")
}

func TestHierarchicalPrefixIsKnownByRangeIfItLiesInOne(t *testing.T) {
	def := Definition{Kind: KindMultiHash, Version: 2, Paths: 2}
	redmond := "22E342F38A486A088463DFF7838A5963"
	inside, err := NewMap("rid", def, []Range{rng(t, "0", "", redmond), rng(t, "1", redmond, "FF")})
	require.NoError(t, err)
	id, known := Resolve(1, link, inside, "", `["redmond"]`)
	assert.Equal(t, ByEPK, known)
	assert.Equal(t, resolve(inside, "1", ""), id)

	across, err := NewMap("rid", def, []Range{rng(t, "0", "", redmond+"20"), rng(t, "1", redmond+"20", "FF")})
	require.NoError(t, err)
	_, known = Resolve(1, link, across, "", `["redmond"]`)
	assert.Equal(t, ByLogicalKey, known)
	_, known = Resolve(1, link, across, "", `["redmond",5]`)
	assert.Equal(t, ByEPK, known)
}

func TestIdentitiesAreApart(t *testing.T) {
	m := mustMap(t, "rid", evenRanges(t, 4)...)
	recreated := mustMap(t, "rid2", evenRanges(t, 4)...)
	ids := map[ID]string{{}: "the zero ID"}
	add := func(name string, scope uint64, link string, m *Map, rangeID, key string) {
		id, _ := Resolve(scope, link, m, rangeID, key)
		require.NotContains(t, ids, id, name)
		ids[id] = name
	}
	for _, scope := range []uint64{0, 1, 2} {
		for name, m := range map[string]*Map{"map": m, "recreated": recreated} {
			name := fmt.Sprint(name, scope)
			add(name+" container", scope, link, m, "", "")
			add(name+" key", scope, link, m, "", `["\x"]`)
			add(name+" unknown id", scope, link, m, "77", "")
			for i := range m.Len() {
				add(fmt.Sprint(name, " range ", i), scope, link, m, strconv.Itoa(i), "")
			}
		}
		for _, link := range []string{link, "dbs/d/colls/c2", "dbs/d2/colls/c", "rid", "rid2"} {
			name := fmt.Sprint(link, scope)
			add(name+" container", scope, link, nil, "", "")
			for _, s := range []string{"0", "1", "", `["0"]`, link} {
				if s != "" {
					add(name+" id "+s, scope, link, nil, s, "")
					add(name+" key "+s, scope, link, nil, "", s)
				}
			}
		}
	}
}

func TestIdentityOfARangeIsItsBounds(t *testing.T) {
	before := mustMap(t, "rid", rng(t, "0", "", "1F"), rng(t, "1", "1F", "FF"))
	after := mustMap(t, "rid", rng(t, "7", "00", "1F00", "9"), rng(t, "3", "1F", "2F", "1"), rng(t, "4", "2F", "", "1"))
	assert.Equal(t, resolve(before, "0", ""), resolve(after, "7", ""), "read again, written otherwise")
	for _, child := range []string{"3", "4"} {
		assert.NotEqual(t, resolve(before, "1", ""), resolve(after, child, ""), "records of a parent go to no child")
	}
}

func TestIDsHashEvenly(t *testing.T) {
	const keys, shards = 100_000, 64
	var count [shards]int
	for i := range keys {
		count[resolve(nil, "", fmt.Sprintf(`["key-%d"]`, i)).Hash()%shards]++
	}
	for _, n := range count {
		assert.InDelta(t, keys/shards, n, keys/shards*0.15)
	}
}

func TestDescribe(t *testing.T) {
	m := mustMap(t, "rid", rng(t, "0", "", "05C1DFFFFFFFFC"), rng(t, "1", "05C1DFFFFFFFFC", "7FFF"), rng(t, "2", "7FFF", "FF"))
	for _, tc := range []struct {
		id   ID
		m    *Map
		want string
	}{
		{ID{}, m, "unknown"},
		{resolve(m, "0", ""), m, "range [00, 05C1DFFF..)"},
		{resolve(m, "1", ""), m, "range [05C1DFFF.., 7FFF)"},
		{resolve(m, "2", ""), m, "range [7FFF, FF)"},
		{resolve(m, "", ""), m, "container"},
		{resolve(nil, "", ""), nil, "container"},
	} {
		assert.Equal(t, tc.want, Describe(tc.id, tc.m))
	}
	assert.Regexp(t, `^range #[0-9a-f]{12}$`, Describe(resolve(m, "1", ""), nil))
	assert.Regexp(t, `^range id #[0-9a-f]{12}$`, Describe(resolve(nil, "1", ""), nil))
	assert.Regexp(t, `^key #[0-9a-f]{12}$`, Describe(resolve(nil, "", `["secret"]`), m))
	assert.NotEqual(t, Describe(resolve(nil, "", `["a"]`), nil), Describe(resolve(nil, "", `["b"]`), nil))
	assert.Equal(t, "unknown", Known(99).String())
}

// TestNothingAllocates has every road of Resolve, and the lookups it is made of.
func TestNothingAllocates(t *testing.T) {
	v2 := mustMap(t, "rid", evenRanges(t, 100)...)
	v1, err := NewMap("rid", Definition{Paths: 1}, evenRanges(t, 100))
	require.NoError(t, err)
	multi, err := NewMap("rid", Definition{Kind: KindMultiHash, Version: 2, Paths: 3}, evenRanges(t, 100))
	require.NoError(t, err)
	component := []request.Component{{Kind: request.KindString, String: "0b6a5c0e-7d4e-4f0e-9a52-6a1f6a3a9c11"}}
	epk := mustEPK(t, "1EC0C2CBE45DBC919CF2B65D399C2673")
	end := mustEPK(t, "1EC0C2CBE45DBC919CF2B65D399C2673FF")
	learned := NewLearned(100)
	longKey := `["` + strings.Repeat("0", 150) + `"]`
	key := resolve(nil, "", `["a"]`)
	learned.Learn(key, "1")
	for name, f := range map[string]func(){
		"v2 key":          func() { Resolve(1, link, v2, "", `["0b6a5c0e-7d4e-4f0e-9a52-6a1f6a3a9c11"]`) },
		"v1 key":          func() { Resolve(1, link, v1, "", `["0b6a5c0e-7d4e-4f0e-9a52-6a1f6a3a9c11"]`) },
		"v1 long key":     func() { Resolve(1, link, v1, "", longKey) },
		"three levels":    func() { Resolve(1, link, multi, "", `["tenant",1,true]`) },
		"prefix":          func() { Resolve(1, link, multi, "", `["tenant"]`) },
		"number":          func() { Resolve(1, link, v1, "", `[42]`) },
		"range id":        func() { Resolve(1, link, v2, "17", "") },
		"range id no map": func() { Resolve(1, link, nil, "17", "") },
		"logical key":     func() { Resolve(1, link, nil, "", `["a"]`) },
		"container":       func() { Resolve(1, link, nil, "", "") },
		"hash v2":         func() { _, _ = Hash(Definition{Version: 2}, component) },
		"hash v1":         func() { _, _ = Hash(Definition{}, component) },
		"from header":     func() { _, _, _, _ = FromHeader(multi.Definition(), `["tenant","user"]`) },
		"find":            func() { v2.Find(epk) },
		"find overlap":    func() { v2.FindOverlap(epk, end) },
		"by id":           func() { v2.ByID("17") },
		"compare":         func() { epk.Compare(end) },
		"learn":           func() { learned.Learn(key, "1") },
		"learn anew":      func() { learned.Learn(key, "2"); learned.Learn(key, "1") },
		"lookup":          func() { learned.Lookup(key) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("0", `["a"]`)
	f.Add("", `["\U0001f600"]`)
	m := mustMap(f, "rid", evenRanges(f, 50)...)
	f.Fuzz(func(t *testing.T, rangeID, key string) {
		id, known := Resolve(3, link, m, rangeID, key)
		require.NotEqual(t, ID{}, id)
		require.NotEqual(t, Unknown, known)
		require.NotEmpty(t, Describe(id, m))
		if rangeID != "" {
			require.Equal(t, ByRangeID, known)
			return
		}
		components, err := request.ParsePartitionKey(key, nil)
		if err != nil {
			require.Equal(t, key == "", known == ByContainer)
			return
		}
		// By the long way: the twin's EPK, a linear scan, and the id of the range found.
		text, ok := twinEPK(m.Definition(), components)
		if !ok {
			require.Equal(t, ByLogicalKey, known)
			return
		}
		for i := range m.Len() {
			r := m.At(i)
			if twinCompare(r.Min.String(), text) <= 0 && twinCompare(text, r.Max.String()) < 0 {
				want, _ := Resolve(3, link, m, r.ID, "")
				require.Equal(t, want, id)
				return
			}
		}
		require.Equal(t, ByLogicalKey, known)
	})
}
