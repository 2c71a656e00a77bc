package request

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func text(s string) Component    { return Component{Kind: KindString, String: s} }
func number(f float64) Component { return Component{Kind: KindNumber, Number: f} }
func just(k Kind) Component      { return Component{Kind: k} }

func TestParsePartitionKey(t *testing.T) {
	for _, c := range []struct {
		header string
		want   []Component
	}{
		{`[]`, nil},
		{` [ ] `, nil},
		{`[{}]`, []Component{just(KindUndefined)}},
		{`[{ }]`, []Component{just(KindUndefined)}},
		{`[null]`, []Component{just(KindNull)}},
		{`[true,false]`, []Component{just(KindTrue), just(KindFalse)}},
		{`["tenant1",1,true]`, []Component{text("tenant1"), number(1), just(KindTrue)}},
		{"\t[ \"a\" ,\r\n 2 ]\n", []Component{text("a"), number(2)}},
		{`"Infinity"`, []Component{just(KindInfinity)}},
		{` "Infinit\u0079" `, []Component{just(KindInfinity)}},
		{`["Infinity"]`, []Component{text("Infinity")}},
		{`[""]`, []Component{text("")}},
		// numbers
		{`[0,-0,5.0,1e3,1E+3,-2.5e-3]`, []Component{number(0), number(math.Copysign(0, -1)), number(5), number(1000), number(1000), number(-0.0025)}},
		{`[1.7976931348623157E+308,-1.7976931348623157E+308]`, []Component{number(math.MaxFloat64), number(-math.MaxFloat64)}},
		{`[1e-999]`, []Component{number(0)}},
		{`[9007199254740993]`, []Component{number(9007199254740992)}},
		// strings of JSON
		{`["\"\\\/\b\f\n\r\t"]`, []Component{text("\"\\/\b\f\n\r\t")}},
		{`["\u00fc\u2713"]`, []Component{text("ü✓")}},
		{`["ü✓😀"]`, []Component{text("ü✓😀")}},
		{`["\ud83d\ude00"]`, []Component{text("😀")}},
		{`["\ud83d"]`, []Component{text("\ufffd")}},
		{`["\ude00\ud83d"]`, []Component{text("\ufffd\ufffd")}},
		{`["\ud83d\ud83d\ude00"]`, []Component{text("\ufffd😀")}},
		{`["\ud83d\n"]`, []Component{text("\ufffd\n")}},
		{"[\"a\xffb\"]", []Component{text("a\ufffdb")}},
		{"[\"\x7f\"]", []Component{text("\x7f")}},
		// strings of Go
		{`["\U0001f600"]`, []Component{text("😀")}},
		{`["x\x01y"]`, []Component{text("x\x01y")}},
		{`["\a\v\x7f\x00"]`, []Component{text("\a\v\x7f\x00")}},
		{`["\xff\xC3\xbc"]`, []Component{text("\xffü")}},
		{`["\/\x01\ud83d\ude00"]`, []Component{text("/\x01😀")}}, // of both
	} {
		got, err := ParsePartitionKey(c.header, nil)
		require.NoError(t, err, c.header)
		require.Len(t, got, len(c.want), c.header)
		for n := range got {
			assert.Equal(t, c.want[n], got[n], c.header)
			assert.Equal(t, math.Signbit(c.want[n].Number), math.Signbit(got[n].Number), c.header)
		}
	}
}

func TestParsePartitionKeyErrors(t *testing.T) {
	for _, c := range []struct {
		header string
		offset int
		reason string
	}{
		{``, 0, reasonNotArray},
		{`  `, 2, reasonNotArray},
		{`null`, 0, reasonNotArray},
		{`"a"`, 0, reasonNotArray},
		{`Infinity`, 0, reasonNotArray},
		{`{}`, 0, reasonNotArray},
		{`[`, 1, reasonValue},
		{`[,]`, 1, reasonValue},
		{`[1,]`, 3, reasonValue},
		{`[1 2]`, 3, reasonSeparator},
		{`[1`, 2, reasonSeparator},
		{`[1]]`, 3, reasonTrailing},
		{`[]x`, 2, reasonTrailing},
		{`"Infinity"x`, 10, reasonTrailing},
		{`"Infinity`, 9, reasonUnclosed},
		{`[nullx]`, 5, reasonSeparator},
		{`[NaN]`, 1, reasonValue},
		{`[Infinity]`, 1, reasonValue},
		{`[+Inf]`, 1, reasonValue},
		{`[-Inf]`, 2, reasonNumber},
		{`[-]`, 2, reasonNumber},
		{`[1.]`, 3, reasonNumber},
		{`[.5]`, 1, reasonValue},
		{`[1e]`, 3, reasonNumber},
		{`[1e+]`, 4, reasonNumber},
		{`[01]`, 2, reasonSeparator},
		{`[0x10]`, 2, reasonSeparator},
		{`[1_0]`, 2, reasonSeparator},
		{`[1e999]`, 1, reasonTooLarge},
		{`[-1e999]`, 1, reasonTooLarge},
		{`[{"type":"MinNumber"}]`, 2, reasonObject},
		{`[{`, 2, reasonObject},
		{`[[]]`, 1, reasonValue},
		{`["a`, 3, reasonUnclosed},
		{`["\`, 2, reasonEscape},
		{`["\n`, 4, reasonUnclosed},
		{"[\"a\nb\"]", 3, reasonControl},
		{"[\"\\n\x00\"]", 4, reasonControl},
		{`["\q"]`, 2, reasonEscape},
		{`["\'"]`, 2, reasonEscape},
		{`["\001"]`, 2, reasonEscape},
		{`["\u12"]`, 2, reasonEscape},
		{`["\u+123"]`, 2, reasonEscape},
		{`["\x1"]`, 2, reasonEscape},
		{`["\xg0"]`, 2, reasonEscape},
		{`["\U0001f60"]`, 2, reasonEscape},
		{`["\U0000d800"]`, 2, reasonEscape},
		{`["\U00110000"]`, 2, reasonEscape},
		{`["\Uffffffff"]`, 2, reasonEscape},
		{`["\ud83d\u12"]`, 8, reasonEscape},
		{"[\x00]", 1, reasonValue},
	} {
		got, err := ParsePartitionKey(c.header, make([]Component, 3))
		var e *PartitionKeyError
		require.ErrorAs(t, err, &e, c.header)
		assert.Nil(t, got)
		assert.Equal(t, PartitionKeyError{c.offset, c.reason}, *e, c.header)
	}
	_, err := ParsePartitionKey(`["secret" "secret"]`, nil)
	assert.EqualError(t, err, "partition key header: neither a comma nor the end of the array at byte 10")
}

func TestParsePartitionKeyHuge(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	got, err := ParsePartitionKey(`["`+long+`"]`, nil)
	require.NoError(t, err)
	assert.Equal(t, []Component{text(long)}, got)

	got, err = ParsePartitionKey("["+strings.Repeat("1,", 1<<16)+"1]", nil)
	require.NoError(t, err)
	assert.Len(t, got, 1<<16+1)

	_, err = ParsePartitionKey(strings.Repeat("[", 1<<20), nil)
	assert.Error(t, err, "depth costs nothing")
}

func TestParsePartitionKeyMemory(t *testing.T) {
	var buf [4]Component
	for _, header := range []string{`["tenant-1"]`, `["a",1,true,null]`, `[{}]`, `[]`, `[12.5]`, `"Infinity"`} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = ParsePartitionKey(header, buf[:0]) }), header)
	}
	got, err := ParsePartitionKey(`["a"]`, buf[:2])
	require.NoError(t, err)
	assert.Same(t, &buf[0], &got[0], "buf is used from its start")
}

func BenchmarkParsePartitionKey(b *testing.B) {
	var buf [4]Component
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ParsePartitionKey(`["tenant-0001"]`, buf[:0])
	}
}

// unit is a piece of a quoted string that can be decoded by itself: the two
// escapes of a surrogate pair, one escape, or a run without any.
var unit = regexp.MustCompile(`^(?s:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u.{4}|\\U.{8}|\\x.{2}|\\.|[^\\]+)`)

// twinString decodes a quoted string, quotes included, with encoding/json or else
// strconv, piece by piece where neither takes the whole.
func twinString(quoted string) (string, bool) {
	var s string
	if json.Unmarshal([]byte(quoted), &s) == nil {
		return s, true
	}
	var out strings.Builder
	for rest := quoted[1 : len(quoted)-1]; rest != ""; {
		piece := unit.FindString(rest)
		if piece == "" {
			return "", false
		}
		rest = rest[len(piece):]
		switch {
		case json.Unmarshal([]byte(`"`+piece+`"`), &s) == nil:
		case !strings.HasPrefix(piece, `\`):
			return "", false // a control character: Go would take some of them
		default:
			var err error
			if s, err = strconv.Unquote(`"` + piece + `"`); err != nil {
				return "", false
			}
		}
		out.WriteString(s)
	}
	return out.String(), true
}

// stringToken is a quoted string, with whatever escapes.
var stringToken = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"`)

// twinKey parses the header by rewriting its strings as JSON and letting
// encoding/json do the rest.
func twinKey(header string) ([]Component, bool) {
	var stringsOf []string
	good := true
	rewritten := stringToken.ReplaceAllStringFunc(header, func(quoted string) string {
		s, ok := twinString(quoted)
		good = good && ok
		stringsOf = append(stringsOf, s)
		return `"` + strconv.Itoa(len(stringsOf)-1) + `"`
	})
	var root any
	decoder := json.NewDecoder(strings.NewReader(rewritten))
	decoder.UseNumber()
	if !good || !json.Valid([]byte(rewritten)) || decoder.Decode(&root) != nil {
		return nil, false
	}
	if _, word := root.(string); word {
		return []Component{just(KindInfinity)}, stringsOf[0] == "Infinity"
	}
	values, ok := root.([]any)
	for n := range values {
		if key, isString := values[n].(string); isString {
			at, _ := strconv.Atoi(key)
			values[n] = stringsOf[at]
		}
	}
	return twinComponents(values, ok)
}

func twinComponents(values []any, ok bool) ([]Component, bool) {
	var out []Component
	for _, value := range values {
		c := Component{}
		switch v := value.(type) {
		case nil:
			c.Kind = KindNull
		case bool:
			c.Kind = map[bool]Kind{true: KindTrue, false: KindFalse}[v]
		case string:
			c = text(v)
		case json.Number:
			f, err := v.Float64()
			ok = ok && err == nil
			c = number(f)
		case map[string]any:
			ok = ok && len(v) == 0
		default:
			ok = false
		}
		out = append(out, c)
	}
	return out, ok
}

// FuzzParsePartitionKey compares with the twin on any text at all.
func FuzzParsePartitionKey(f *testing.F) {
	for _, s := range []string{
		`[]`, `["a",1,true,null,{},-0.5e-3]`, `"Infinity"`, `["\U0001f600\x01\a\v\x7f"]`, `["\ud83d\ude00\ud83d\/"]`,
		"[\"\xff\\xff\"]", `["\u00fc\"\\"]`, `[1e999]`, `["\001"]`, `["a" "b"]`, `[{"a":1}]`, `[[1]]`, `"\x49nfinity"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		want, ok := twinKey(header)
		got, err := ParsePartitionKey(header, nil)
		require.Equal(t, ok, err == nil, "%q: %v", header, err)
		if !ok {
			var e *PartitionKeyError
			require.ErrorAs(t, err, &e)
			require.True(t, 0 <= e.Offset && e.Offset <= len(header), "%q: %v", header, err)
			return
		}
		require.Len(t, got, len(want), "%q", header)
		for n := range got {
			require.Equal(t, want[n], got[n], "%q", header)
		}
	})
}

// FuzzParsePartitionKeyQuoted checks that every string survives azcosmos' way of
// quoting, and encoding/json's if it is valid UTF-8.
func FuzzParsePartitionKeyQuoted(f *testing.F) {
	for _, s := range []string{"", "a", "😀", "x\x01y\a\v\x7f", "\xff\xed\xa0\x80", "\ufffd\u2028", `"\`, "Infinity"} {
		f.Add(s, 1.5)
	}
	f.Fuzz(func(t *testing.T, s string, n float64) {
		got, err := ParsePartitionKey("["+strconv.QuoteToASCII(s)+","+strconv.QuoteToASCII(s)+"]", nil)
		require.NoError(t, err)
		require.Equal(t, []Component{text(s), text(s)}, got)
		numeral, err := json.Marshal(n)
		if err != nil || !utf8.ValidString(s) {
			return
		}
		quoted, err := json.Marshal(s)
		require.NoError(t, err)
		got, err = ParsePartitionKey("["+string(quoted)+","+string(numeral)+"]", nil)
		require.NoError(t, err)
		require.Equal(t, []Component{text(s), number(n)}, got)
	})
}
