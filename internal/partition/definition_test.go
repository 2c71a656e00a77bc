package partition

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseContainer(t *testing.T) {
	for _, tc := range []struct {
		name, key string
		want      Definition
	}{
		{"hash version 2", `{"paths":["/pk"],"kind":"Hash","version":2}`, Definition{KindHash, 2, 1}},
		{"without version", `{"paths":["/pk"],"kind":"Hash"}`, Definition{KindHash, 0, 1}},
		{"version null", `{"paths":["/pk"],"kind":"Hash","version":null}`, Definition{KindHash, 0, 1}},
		{"without kind", `{"paths":["/a/b"]}`, Definition{KindHash, 0, 1}},
		{"hierarchical", `{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}`, Definition{KindMultiHash, 2, 3}},
		{"range", `{"paths":["/pk"],"kind":"Range"}`, Definition{KindRange, 0, 1}},
		{"kind in another case", `{"paths":["/pk"],"kind":"multihash","systemKey":true}`, Definition{KindMultiHash, 0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rid, def, err := ParseContainer([]byte(`{"id":"c","_rid":"kL0RAK=","partitionKey":` + tc.key + `,"_ts":1}`))
			require.NoError(t, err)
			assert.Equal(t, "kL0RAK=", rid)
			assert.Equal(t, tc.want, def)
		})
	}
}

func TestParseContainerRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":            ``,
		"not JSON":           `<html>`,
		"an array":           `[]`,
		"cut off":            `{"_rid":"a","partitionKey":{"paths":["/pk"]`,
		"no rid":             `{"partitionKey":{"paths":["/pk"],"kind":"Hash"}}`,
		"no definition":      `{"_rid":"a"}`,
		"no paths":           `{"_rid":"a","partitionKey":{"kind":"Hash"}}`,
		"another kind":       `{"_rid":"a","partitionKey":{"paths":["/pk"],"kind":"Spatial"}}`,
		"another version":    `{"_rid":"a","partitionKey":{"paths":["/pk"],"version":3}}`,
		"a negative version": `{"_rid":"a","partitionKey":{"paths":["/pk"],"version":-1}}`,
		"a version as text":  `{"_rid":"a","partitionKey":{"paths":["/pk"],"version":"2"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			rid, def, err := ParseContainer([]byte(body))
			var parseError *ParseError
			require.ErrorAs(t, err, &parseError)
			assert.Equal(t, "container", parseError.Subject)
			assert.NotEmpty(t, parseError.Error())
			assert.Empty(t, rid)
			assert.Equal(t, Definition{}, def)
		})
	}
}

func TestParseRanges(t *testing.T) {
	rid, ranges, err := ParseRanges([]byte(`{"_rid":"kL0RAK=","PartitionKeyRanges":[
		{"_rid":"kL0RAKcB","id":"1","minInclusive":"","maxExclusive":"05c1dfffffffFC","status":"online","parents":["0"]},
		{"id":"2","minInclusive":"05C1DFFFFFFFFC","maxExclusive":"FF","ridPrefix":2,"parents":null}],"_count":2}`))
	require.NoError(t, err)
	assert.Equal(t, "kL0RAK=", rid)
	require.Len(t, ranges, 2)
	assert.Equal(t, "1", ranges[0].ID)
	assert.Equal(t, EPK{}, ranges[0].Min)
	assert.Equal(t, ranges[0].Max, ranges[1].Min)
	assert.Equal(t, []string{"0"}, ranges[0].Parents)
	assert.Equal(t, "FF", ranges[1].Max.String())

	_, ranges, err = ParseRanges([]byte(`{"PartitionKeyRanges":[]}`))
	require.NoError(t, err)
	assert.Empty(t, ranges, "an empty page is a page")
}

func TestParseRangesRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":            ``,
		"a number":           `7`,
		"another answer":     `{"_rid":"a","Documents":[]}`,
		"null ranges":        `{"PartitionKeyRanges":null}`,
		"a range of nothing": `{"PartitionKeyRanges":[{}]}`,
		"no upper bound":     `{"PartitionKeyRanges":[{"id":"0","minInclusive":""}]}`,
		"a bound not hex":    `{"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"zz"}]}`,
		"a lower not hex":    `{"PartitionKeyRanges":[{"id":"0","minInclusive":"5","maxExclusive":"FF"}]}`,
		"an id not text":     `{"PartitionKeyRanges":[{"id":0,"minInclusive":"","maxExclusive":"FF"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, ranges, err := ParseRanges([]byte(body))
			var parseError *ParseError
			require.ErrorAs(t, err, &parseError)
			assert.Nil(t, ranges)
		})
	}
}

func FuzzParseContainer(f *testing.F) {
	f.Add([]byte(`{"_rid":"a","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`))
	f.Add([]byte(`{"_rid":"a"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rid, def, err := ParseContainer(body)
		if err != nil {
			var parseError *ParseError
			require.ErrorAs(t, err, &parseError)
			return
		}
		require.True(t, json.Valid(body))
		require.NotEmpty(t, rid)
		require.Positive(t, def.Paths)
		_, _, _, err = FromHeader(def, `[]`)
		require.NoError(t, err, "an accepted definition can be computed with")
	})
}

func FuzzParseRanges(f *testing.F) {
	f.Add([]byte(`{"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]}`))
	f.Add([]byte(`{"PartitionKeyRanges":[{"id":"1","minInclusive":"","maxExclusive":"7F","parents":["0"]},` +
		`{"id":"2","minInclusive":"7F","maxExclusive":""}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rid, ranges, err := ParseRanges(body)
		if err != nil {
			var parseError *ParseError
			require.ErrorAs(t, err, &parseError)
			return
		}
		m, err := NewMap(rid, Definition{}, ranges)
		if err != nil {
			var coverage *CoverageError
			require.ErrorAs(t, err, &coverage)
			return
		}
		for i := range m.Len() {
			r, ok := m.Find(m.At(i).Min)
			require.True(t, ok)
			require.Equal(t, m.At(i), r)
		}
	})
}
