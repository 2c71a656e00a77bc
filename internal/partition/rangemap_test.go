package partition

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rng makes a range; parents follow the bounds.
func rng(t testing.TB, id, lower, upper string, parents ...string) Range {
	t.Helper()
	r, err := ParseRange(id, lower, upper)
	require.NoError(t, err)
	r.Parents = parents
	return r
}

func mustMap(t testing.TB, rid string, ranges ...Range) *Map {
	t.Helper()
	m, err := NewMap(rid, Definition{Version: 2, Paths: 1}, ranges)
	require.NoError(t, err)
	return m
}

// evenRanges cuts the key space of a version 2 container into n ranges.
func evenRanges(t testing.TB, n int) []Range {
	t.Helper()
	bound := func(i int) string {
		switch i {
		case 0:
			return ""
		case n:
			return "FF"
		}
		return fmt.Sprintf("%016X%016X", uint64(i)*(1<<62/uint64(n)), 0)
	}
	ranges := make([]Range, n)
	for i := range ranges {
		ranges[i] = rng(t, strconv.Itoa(i), bound(i), bound(i+1))
	}
	return ranges
}

func TestMapFinds(t *testing.T) {
	m := mustMap(t, "rid",
		rng(t, "2", "1FFF", "3FFF"), rng(t, "1", "", "1FFF"), rng(t, "3", "3FFF", "FF"))
	assert.Equal(t, 3, m.Len())
	assert.Equal(t, "rid", m.RID())
	assert.Equal(t, Definition{Version: 2, Paths: 1}, m.Definition())
	assert.True(t, m.HasIDs())
	for epk, want := range map[string]string{
		"": "1", "00": "1", "1FFEFF": "1", "1FFF": "2", "1FFF00": "2", "2A": "2", "3FFEFFFFFFFFFFFFFFFFFFFF": "2",
		"3FFF": "3", "FEFFFF": "3", "FF": "", "FF00": "", "FF01": "",
	} {
		r, ok := m.Find(mustEPK(t, epk))
		assert.Equal(t, want != "", ok, epk)
		assert.Equal(t, want, r.ID, epk)
	}
	r, ok := m.ByID("2")
	assert.True(t, ok)
	assert.Equal(t, m.At(1), r)
	for _, id := range []string{"", "4"} {
		_, ok = m.ByID(id)
		assert.False(t, ok)
	}
}

func TestMapFindsAmongBoundsThatBeginAlike(t *testing.T) {
	tenant := "3499FD5198AE0F1EB6B77F6E428D2FF0"
	ranges := []Range{rng(t, "0", "", tenant)}
	for i := range 40 {
		lower := fmt.Sprintf("%s%02X", tenant, i)
		if i == 0 {
			lower = tenant
		}
		ranges = append(ranges, rng(t, strconv.Itoa(i+1), lower, fmt.Sprintf("%s%02X", tenant, i+1)))
	}
	ranges = append(ranges, rng(t, "41", tenant+"28", "FF"))
	m := mustMap(t, "rid", ranges...)
	for i := range 40 {
		r, ok := m.Find(mustEPK(t, fmt.Sprintf("%s%02X17", tenant, i)))
		require.True(t, ok)
		assert.Equal(t, strconv.Itoa(i+1), r.ID)
	}
	r, _ := m.Find(mustEPK(t, tenant[:30]))
	assert.Equal(t, "0", r.ID)
	r, _ = m.Find(mustEPK(t, "3499FD5198AE0F1EB7"))
	assert.Equal(t, "41", r.ID)
}

func TestFindOverlap(t *testing.T) {
	m := mustMap(t, "rid", rng(t, "1", "", "20"), rng(t, "2", "20", "FF"))
	for _, tc := range []struct{ first, end, want string }{
		{"", "20", "1"},
		{"10", "10FF", "1"},
		{"10", "2000", "1"},
		{"20", "FF", "2"},
		{"1F", "2001", ""},
		{"", "FF", ""},
		{"20", "FF01", ""},
		{"FF", "FFFF", ""},
		{"21", "21", ""},
		{"21", "20", ""},
	} {
		r, ok := m.FindOverlap(mustEPK(t, tc.first), mustEPK(t, tc.end))
		assert.Equal(t, tc.want != "", ok, tc)
		assert.Equal(t, tc.want, r.ID, tc)
	}
}

func TestNewMapAccepts(t *testing.T) {
	for name, ranges := range map[string][]Range{
		"one range":               {rng(t, "0", "", "FF")},
		"an open end":             {rng(t, "0", "", "7F"), rng(t, "1", "7F", "")},
		"bounds padded otherwise": {rng(t, "0", "00", "05C0"), rng(t, "1", "05C000", "FF00")},
		"no ids":                  {rng(t, "", "", "1F"), rng(t, "", "1F", "FF")},
		"a split, all pages":      {rng(t, "0", "", "FF"), rng(t, "2", "1F", "FF", "0"), rng(t, "1", "", "1F", "0")},
		"a merge":                 {rng(t, "0", "", "1F"), rng(t, "1", "1F", "FF"), rng(t, "2", "", "FF", "0", "1")},
		"grandchildren": {
			rng(t, "0", "", "FF"), rng(t, "1", "", "1F", "0"), rng(t, "2", "1F", "FF", "0"),
			rng(t, "3", "", "0F", "0", "1"), rng(t, "4", "0F", "1F", "0", "1"),
		},
		"twice the same": {rng(t, "0", "", "FF"), rng(t, "0", "", "FF")},
	} {
		_, err := NewMap("rid", Definition{}, ranges)
		assert.NoError(t, err, name)
	}
	assert.False(t, mustMap(t, "rid", rng(t, "0", "", "1F"), rng(t, "", "1F", "FF")).HasIDs())
}

func TestNewMapRefuses(t *testing.T) {
	for _, tc := range []struct {
		rule, at string
		ranges   []Range
	}{
		{RuleNone, "", nil},
		{RuleNone, "", []Range{rng(t, "0", "", "FF", "0")}},
		{RuleStart, "01", []Range{rng(t, "0", "01", "FF")}},
		{RuleGap, "1F", []Range{rng(t, "0", "", "1F"), rng(t, "1", "20", "FF")}},
		{RuleOverlap, "1E", []Range{rng(t, "0", "", "1F"), rng(t, "1", "1E", "FF")}},
		{RuleOverlap, "", []Range{rng(t, "", "", "FF"), rng(t, "", "", "FF")}},
		{RuleEmpty, "1F", []Range{rng(t, "0", "", "1F"), rng(t, "1", "1F", "1F00"), rng(t, "2", "1F", "FF")}},
		{RuleEmpty, "1F", []Range{rng(t, "0", "", "1F"), rng(t, "1", "1F", "0F")}},
		{RuleEnd, "3F", []Range{rng(t, "0", "", "3F")}},
		{RuleEnd, "FF01", []Range{rng(t, "0", "", "FF01")}},
		{RuleGap, "1F", []Range{rng(t, "0", "", "FF"), rng(t, "1", "", "1F", "0"), rng(t, "3", "2F", "FF", "2", "0")}},
	} {
		m, err := NewMap("the rid", Definition{}, tc.ranges)
		assert.Nil(t, m)
		var coverage *CoverageError
		require.ErrorAs(t, err, &coverage, tc.rule)
		assert.Equal(t, tc.rule, coverage.Rule)
		assert.Equal(t, tc.at, coverage.At.String(), tc.rule)
		assert.Contains(t, err.Error(), "the rid")
	}
}

func TestNewMapNeedsARID(t *testing.T) {
	_, err := NewMap("", Definition{}, []Range{rng(t, "0", "", "FF")})
	var coverage *CoverageError
	require.ErrorAs(t, err, &coverage)
	assert.Equal(t, RuleRID, coverage.Rule)
}

func TestMapWithAnIncrementalAnswer(t *testing.T) {
	m := mustMap(t, "rid", rng(t, "0", "", "1F"), rng(t, "1", "1F", "FF"))
	split, err := m.With([]Range{rng(t, "2", "1F", "2F", "1"), rng(t, "3", "2F", "FF", "1")})
	require.NoError(t, err)
	assert.Equal(t, 3, split.Len())
	assert.Equal(t, 2, m.Len(), "the old map stays")
	r, _ := split.Find(mustEPK(t, "30"))
	assert.Equal(t, "3", r.ID)
	_, ok := split.ByID("1")
	assert.False(t, ok, "a parent is gone")

	again, err := split.With([]Range{rng(t, "1", "1F", "FF")})
	require.NoError(t, err)
	assert.Equal(t, 3, again.Len(), "a parent does not come back")

	_, err = m.With([]Range{rng(t, "3", "2F", "FF", "1")})
	var coverage *CoverageError
	assert.ErrorAs(t, err, &coverage, "half an answer is refused")
}

// FuzzNewMap reads ranges from four bytes each: id, lower, upper, parent. Bounds are single bytes, so coverage can be
// counted point by point.
func FuzzNewMap(f *testing.F) {
	f.Add([]byte{0, 0, 0xFF, 0})
	f.Add([]byte{1, 0, 0x1F, 9, 2, 0x1F, 0xFF, 9})
	f.Add([]byte{1, 0, 0xFF, 9, 2, 0, 0x1F, 1, 3, 0x1F, 0xFF, 1})
	f.Add([]byte{1, 0, 0x1F, 0, 1, 0, 0x2F, 0, 3, 0x2F, 0xFF, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var ranges []Range
		for ; len(data) >= 4; data = data[4:] {
			r := Range{Min: epkOf(data[1:2]), Max: epkOf(data[2:3])}
			if data[0] != 0 {
				r.ID = strconv.Itoa(int(data[0]))
			}
			if data[3] != 0 {
				r.Parents = []string{strconv.Itoa(int(data[3]))}
			}
			ranges = append(ranges, r)
		}
		live := twinLive(ranges)
		m, err := NewMap("rid", Definition{}, ranges)
		require.Equal(t, twinCovers(live), err == nil, "%v", err)
		if err != nil {
			return
		}
		require.Equal(t, len(live), m.Len())
		for p := range 0x100 {
			for _, epk := range []EPK{epkOf([]byte{byte(p)}), epkOf([]byte{byte(p), 0}), epkOf([]byte{byte(p), 1, 2, 3, 4, 5, 6, 7, 8})} {
				want, wantOK := twinFind(live, epk)
				got, ok := m.Find(epk)
				require.Equal(t, wantOK, ok)
				require.Equal(t, want, got)
			}
		}
	})
}

func twinLive(ranges []Range) []Range {
	var live []Range
	for i, r := range ranges {
		keep := true
		for j, o := range ranges {
			for _, parent := range o.Parents {
				keep = keep && (r.ID == "" || parent != r.ID)
			}
			keep = keep && (j <= i || r.ID == "" || o.ID != r.ID)
		}
		if keep {
			live = append(live, r)
		}
	}
	return live
}

func twinCovers(live []Range) bool {
	var count [0xFF]int
	for _, r := range live {
		lower, upper := 0, 0
		_, _ = fmt.Sscanf(r.Min.String(), "%02X", &lower)
		_, _ = fmt.Sscanf(r.Max.String(), "%02X", &upper)
		if lower >= upper {
			return false
		}
		for p := lower; p < upper; p++ {
			count[p]++
		}
	}
	for _, n := range count {
		if n != 1 {
			return false
		}
	}
	return true
}

func twinFind(live []Range, epk EPK) (Range, bool) {
	for _, r := range live {
		if twinCompare(r.Min.String(), epk.String()) <= 0 && twinCompare(epk.String(), r.Max.String()) < 0 {
			return r, true
		}
	}
	return Range{}, false
}

// FuzzFindOverlap compares with a map of many ranges, some of whose bounds agree in their first eight bytes.
func FuzzFindOverlap(f *testing.F) {
	f.Add([]byte{0x10}, []byte{0x11})
	f.Add([]byte{0x20, 0, 0, 0, 0, 0, 0, 0, 7}, []byte{0x20, 0, 0, 0, 0, 0, 0, 0, 8})
	f.Fuzz(func(t *testing.T, first, end []byte) {
		bounds := []string{"", "10", "1001", "20", "200000000000000001", "20000000000000000101", "2000000000000000FF", "2001", "3FFF", "FF"}
		var ranges []Range
		for i := range len(bounds) - 1 {
			ranges = append(ranges, rng(t, strconv.Itoa(i), bounds[i], bounds[i+1]))
		}
		m := mustMap(t, "rid", ranges...)
		want, ok := twinFind(ranges, epkOf(first))
		ok = ok && epkOf(first).Compare(epkOf(end)) < 0 && epkOf(end).Compare(want.Max) <= 0
		if !ok {
			want = Range{}
		}
		got, gotOK := m.FindOverlap(epkOf(first), epkOf(end))
		require.Equal(t, ok, gotOK)
		require.Equal(t, want, got)
	})
}
