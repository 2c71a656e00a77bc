package partition

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var kinds = map[string]Kind{"Hash": KindHash, "MultiHash": KindMultiHash, "Range": KindRange}

func TestMurmurPublishedValues(t *testing.T) {
	number := binary.LittleEndian.AppendUint64(nil, math.Float64bits(374))
	assert.Equal(t, uint32(613153351), murmur32([]byte("hello")))
	assert.Equal(t, uint32(3717946798), murmur32(number))
	h1, h2 := murmur128([]byte("sample-test"))
	assert.Equal(t, [2]uint64{9863137013172825203, 15859947107521786564}, [2]uint64{h1, h2})
	h1, h2 = murmur128(number)
	assert.Equal(t, [2]uint64{16628891264555680919, 12953474369317462}, [2]uint64{h1, h2})
}

// TestPublishedVectors runs the vectors the public SDKs test themselves with.
func TestPublishedVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/epk_vectors.json")
	require.NoError(t, err)
	var vectors []struct {
		Version          int
		Kind             string
		PartitionKeyJSON string
		EPK              string
	}
	require.NoError(t, json.Unmarshal(raw, &vectors))
	require.Len(t, vectors, 89)
	for _, v := range vectors {
		kind, ok := kinds[v.Kind]
		require.True(t, ok, v.Kind)
		def := Definition{Kind: kind, Version: v.Version}
		components, err := request.ParsePartitionKey(v.PartitionKeyJSON, nil)
		require.NoError(t, err, v.PartitionKeyJSON)
		def.Paths = len(components)

		e, err := Hash(def, components)
		require.NoError(t, err)
		assert.Equal(t, v.EPK, e.String(), "%s %d %s", v.Kind, v.Version, v.PartitionKeyJSON)
		first, end, prefix, err := FromHeader(def, v.PartitionKeyJSON)
		require.NoError(t, err)
		assert.False(t, prefix)
		assert.Equal(t, e, first)
		assert.Equal(t, e, end)
		twin, ok := twinEPK(def, components)
		require.True(t, ok)
		assert.Equal(t, v.EPK, twin, "the twin")
	}
}

// TestValuesOfTheFactsTable has what no published vector file has: negative zero, numbers that are no JSON, small keys.
func TestValuesOfTheFactsTable(t *testing.T) {
	str := func(s string) request.Component { return request.Component{Kind: request.KindString, String: s} }
	num := func(f float64) request.Component { return request.Component{Kind: request.KindNumber, Number: f} }
	for _, tc := range []struct {
		name      string
		component request.Component
		v1, v2    string
	}{
		{"short string", str("pk1"), "05C1EDBDA5AF1E08716C3200", "1EC0C2CBE45DBC919CF2B65D399C2673"},
		{"two and three byte characters", str("aü✓"), "05C1D58B0B83AC0862C4BDE39D9400", "3B4F9BDFD34E8D6A8DCEFBD5E296F199"},
		{"very long string", str(strings.Repeat("x", 1024)), "", "2BAC2ED991B1AFB0E265AC327A32C95F"},
		{"one", num(1), "05C1ED172B6B2605BFF0", "20CD98B339BA78A5D0CF6953B87070B0"},
		{"minus one", num(-1), "05C1D1A5BDDF9C054010", "19938E7A936C1C5B9E3AE842BBC16839"},
		{"five", num(5), "05C1D9C1C5517C05C014", "19C08621B135968252FB34B4CF66F811"},
		{"pi", num(3.14), "05C1E179CD954C05C0098FAF0B1F5D153E", "319C496AE088984E764AF1B65EF5394D"},
		{"forty-two", num(42), "05C1E75FCB273A05C04580", "08E6D561F6FD951DCC25E7E4EA2884B5"},
		{"negative zero", num(math.Copysign(0, -1)), "", "3D018BB1DF3DB27235766E81FD10406E"},
		{"NaN", num(math.Float64frombits(0xFFF8 << 48)), "", "1AA4222583D70ECAA0922D8CA8EDFCB1"},
		{"minus infinite", num(math.Inf(-1)), "", "1B63B3FB266DB3B6CD3BC79FE893CDE8"},
		{"infinite", num(math.Inf(1)), "", "3889F7F08A8CE2A5C9829BBB1944B4FF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := Hash(Definition{Version: 2, Paths: 1}, []request.Component{tc.component})
			require.NoError(t, err)
			assert.Equal(t, tc.v2, e.String())
			e, err = Hash(Definition{Paths: 1}, []request.Component{tc.component})
			require.NoError(t, err)
			if tc.v1 != "" {
				assert.Equal(t, tc.v1, e.String(), "a definition without a version is version 1")
			}
		})
	}
}

func TestBinaryNumberAlwaysHasALastByte(t *testing.T) {
	e, err := Hash(Definition{Kind: KindRange}, []request.Component{{Kind: request.KindNumber, Number: 2}})
	require.NoError(t, err)
	assert.Equal(t, "05C000", e.String())
}

func TestVersion1CutsStringsAtAHundredCodeUnits(t *testing.T) {
	hash := func(s string) EPK {
		e, err := Hash(Definition{}, []request.Component{{Kind: request.KindString, String: s}})
		require.NoError(t, err)
		return e
	}
	assert.Equal(t, hash(strings.Repeat("x", 100)), hash(strings.Repeat("x", 1024)))
	assert.Len(t, hash(strings.Repeat("x", 1024)).String(), 218)
	assert.True(t, strings.HasPrefix(hash(strings.Repeat("x", 1024)).String(), "05C1DD45A3938C0879"))
	assert.Equal(t, hash(strings.Repeat("я", 100)), hash(strings.Repeat("я", 101)), "units are not bytes")
	assert.NotEqual(t, hash(strings.Repeat("я", 99)), hash(strings.Repeat("я", 100)))
	assert.Equal(t, hash(strings.Repeat("😀", 50)), hash(strings.Repeat("😀", 51)), "a pair is two units")
	half := strings.Repeat("a", 99)
	assert.Equal(t, hash(half+"\uFFFD"), hash(half+"😀"), "half a pair is U+FFFD")
}

func TestHierarchicalPrefixes(t *testing.T) {
	def := Definition{Kind: KindMultiHash, Version: 2, Paths: 3}
	whole := "0DAE0B8467B011E957BC0B8B0DEB5ACA20CD98B339BA78A5D0CF6953B87070B00E711127C5B5A8E4726AC6DD306A3E59"
	for _, tc := range []struct {
		header, first, end string
		prefix             bool
	}{
		{`["tenant1",1,true]`, whole, whole, false},
		{`["tenant1",1]`, whole[:64], whole[:64] + "FF", true},
		{`["tenant1"]`, whole[:32], whole[:32] + "FF", true},
		{`[]`, "", "FF", true},
	} {
		first, end, prefix, err := FromHeader(def, tc.header)
		require.NoError(t, err)
		assert.Equal(t, tc.prefix, prefix, tc.header)
		assert.Equal(t, tc.first, first.String(), tc.header)
		assert.Equal(t, tc.end, end.String(), tc.header)
	}
}

func TestKeysWithoutEPK(t *testing.T) {
	for _, tc := range []struct {
		name   string
		def    Definition
		header string
		want   error
	}{
		{"no header", Definition{}, ``, ErrHeader},
		{"not an array", Definition{}, `"a"`, ErrHeader},
		{"cut off", Definition{}, `["a`, ErrHeader},
		{"an array in it", Definition{}, `[[]]`, ErrHeader},
		{"too many", Definition{Kind: KindMultiHash, Paths: 2}, `[1,2,3]`, ErrCount},
		{"too many for Hash", Definition{Paths: 1}, `[1,2]`, ErrCount},
		{"too few for Hash", Definition{Paths: 2}, `[1]`, ErrCount},
		{"too few for Range", Definition{Kind: KindRange, Paths: 2}, `[1]`, ErrCount},
		{"version 3", Definition{Version: 3, Paths: 1}, `[1]`, ErrDefinition},
		{"negative version", Definition{Version: -1, Paths: 1}, `[1]`, ErrDefinition},
		{"unknown kind", Definition{Kind: 9, Paths: 1}, `[1]`, ErrDefinition},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, _, err := FromHeader(tc.def, tc.header)
			require.ErrorIs(t, err, tc.want)
			var keyError *KeyError
			require.ErrorAs(t, err, &keyError)
			assert.NotEmpty(t, keyError.Reason)
		})
	}
}

func TestKeysThatAreNoValues(t *testing.T) {
	for _, kind := range []Kind{KindHash, KindMultiHash, KindRange} {
		def := Definition{Kind: kind, Paths: 1}
		infinity, err := Hash(def, []request.Component{{Kind: request.KindInfinity}})
		require.NoError(t, err)
		assert.Equal(t, "FF", infinity.String())
		nothing, err := Hash(def, nil)
		require.NoError(t, err)
		assert.Equal(t, EPK{}, nothing)
		_, err = Hash(def, make([]request.Component, 2))
		require.ErrorIs(t, err, ErrCount)
		assert.EqualError(t, err, "partition: key: the number of components does not match the definition")
	}
	// Infinity beside other components is an end like any other; only the legacy kinds can have it.
	two := []request.Component{{Kind: request.KindNull}, {Kind: request.KindInfinity}}
	for _, def := range []Definition{{}, {Version: 2}, {Kind: KindRange}} {
		e, err := Hash(def, two)
		require.NoError(t, err)
		want, _ := twinEPK(def, two)
		assert.Equal(t, want, e.String())
	}
}

func FuzzHash(f *testing.F) {
	for _, header := range []string{
		`["a"]`, `[1,-0,3.14]`, `["tenant",{},null]`, `[true,false]`, `[]`, `"Infinity"`,
		`["` + strings.Repeat("я", 120) + `"]`, `["` + strings.Repeat("😀a", 70) + `",5e300]`,
	} {
		for kind := range uint8(3) {
			f.Add(kind, 1, 0, header)
			f.Add(kind, 2, 2, header)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, version, paths int, header string) {
		def := Definition{Kind: Kind(kind), Version: version, Paths: paths}
		first, end, prefix, err := FromHeader(def, header)
		components, parseErr := request.ParsePartitionKey(header, nil)
		if parseErr != nil {
			require.ErrorIs(t, err, ErrHeader)
			return
		}
		for _, c := range components {
			require.True(t, utf8.ValidString(c.String))
		}
		want, ok := twinEPK(def, components)
		require.Equal(t, ok, err == nil, "%v", err)
		if !ok {
			return
		}
		require.Equal(t, want, first.String())
		if prefix {
			want += "FF"
		}
		require.Equal(t, want, end.String())
		again, err := ParseEPK(strings.ToLower(want))
		require.NoError(t, err)
		require.Equal(t, end, again)
		require.GreaterOrEqual(t, end.Compare(first), 0)
	})
}
