package partition

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustEPK(t testing.TB, s string) EPK {
	t.Helper()
	e, err := ParseEPK(s)
	require.NoError(t, err)
	return e
}

func TestCompareIsLengthAware(t *testing.T) {
	long := strings.Repeat("1F", inlineEPK+1)
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "00", 0},
		{"", "01", -1},
		{"05C0", "05C000", 0},
		{"05C0", "05C001", -1},
		{"05C1", "05C0FF", 1},
		{"05c1", "05C1", 0},
		{"3FFF", "FF", -1},
		{"FF", "FF00", 0},
		{long, long[:2*inlineEPK], 1},
		{long, long + "00", 0},
		{long, long + "0000000001", -1},
		{long, "20", -1},
	} {
		a, b := mustEPK(t, tc.a), mustEPK(t, tc.b)
		assert.Equal(t, tc.want, a.Compare(b), "%s, %s", tc.a, tc.b)
		assert.Equal(t, -tc.want, b.Compare(a), "%s, %s the other way", tc.a, tc.b)
	}
}

func TestParseEPKRefuses(t *testing.T) {
	for _, s := range []string{"0", "0x05", "05C", "G0", "05 C1", "05C1\n"} {
		_, err := ParseEPK(s)
		var parseError *ParseError
		require.ErrorAs(t, err, &parseError, s)
		assert.Equal(t, "epk", parseError.Subject)
		assert.Error(t, parseError.Unwrap())
	}
}

func TestEPKKeepsItsBytesAtEveryLength(t *testing.T) {
	seen := map[EPK]int{}
	for n := range 3 * inlineEPK {
		digits := strings.Repeat("A5", n)
		e := mustEPK(t, digits)
		assert.Equal(t, digits, e.String())
		assert.Equal(t, e, mustEPK(t, strings.ToLower(digits)))
		seen[e] = n
	}
	assert.Len(t, seen, 3*inlineEPK, "== tells all lengths apart")
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte{}, []byte{0}, []byte{5, 0xC1})
	f.Add([]byte{5, 0xC0}, []byte{5, 0xC0, 0}, []byte{0xFF})
	f.Add(make([]byte, inlineEPK), make([]byte, inlineEPK+1), []byte{})
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		x, y, z := epkOf(a), epkOf(b), epkOf(c)
		hexA, hexB := hex.EncodeToString(a), hex.EncodeToString(b)
		require.Equal(t, twinCompare(hexA, hexB), x.Compare(y))
		require.Equal(t, -x.Compare(y), y.Compare(x))
		require.Equal(t, hexA == hexB, x == y)
		if x.Compare(y) <= 0 && y.Compare(z) <= 0 {
			require.LessOrEqual(t, x.Compare(z), 0, "transitive")
		}
		if head(a) < head(b) {
			require.Equal(t, -1, x.Compare(y), "heads decide")
		}
	})
}

func FuzzParseEPK(f *testing.F) {
	f.Add("05C1E1")
	f.Add("0")
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseEPK(s)
		if err == nil {
			require.Equal(t, strings.ToUpper(s), e.String())
		}
	})
}
