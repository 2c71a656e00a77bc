package gateway

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
)

// Span is a half-open range of effective partition keys in upper-case hex: from "" to "FF" is all of them. The zero value is
// all of them, too.
type Span struct{ Min, Max string }

// Contains tells whether an effective partition key lies in the span.
func (s Span) Contains(epk string) bool {
	return compareEPK(s.Min, epk) <= 0 && (s.Max == "" || s.Max == maxEPK || compareEPK(epk, s.Max) < 0)
}

// maxEPK is the exclusive end of the last range.
const maxEPK = "FF"

// compareEPK compares as the service does: the shorter key is padded with zeros.
func compareEPK(a, b string) int {
	n := max(len(a), len(b))
	return strings.Compare(a+strings.Repeat("0", n-len(a)), b+strings.Repeat("0", n-len(b)))
}

// effective is the effective partition key of a key in canonical JSON, and, for a proper prefix of a hierarchical key, the end
// of what it covers. A key that cannot be understood counts as the first of all.
func effective(d Definition, key string) (epk, end string) {
	first, last, prefix, err := partition.FromHeader(d.internal(), key)
	switch {
	case err != nil:
		return "", ""
	case prefix:
		return first.String(), last.String()
	}
	return first.String(), ""
}

// internal is the definition as internal/partition has it.
func (d Definition) internal() partition.Definition {
	def := partition.Definition{Version: d.Version, Paths: len(d.Paths)}
	switch strings.ToLower(d.Kind) {
	case "multihash":
		def.Kind = partition.KindMultiHash
	case "range":
		def.Kind = partition.KindRange
	}
	return def
}

// bound is the effective partition key at a fraction of the key space, in units of 1/2^32. Hashes are spread evenly: in version
// 1 over 32 bits that are written as a number, in version 2 over 126 bits.
func bound(d Definition, at uint64) string {
	switch {
	case at == 0:
		return ""
	case at >= 1<<32:
		return maxEPK
	case d.Version < 2 && !strings.EqualFold(d.Kind, "MultiHash"):
		number := Definition{Kind: "Range", Paths: d.Paths[:1]}
		epk, _ := effective(number, "["+strconv.FormatUint(at, 10)+"]")
		return epk
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], at<<30)
	return strings.ToUpper(hex.EncodeToString(b[:]))
}

// canonical is a partition key header as JSON of one form, so that equal keys are equal strings. azcosmos writes Go escapes for
// some strings, which are not JSON; what cannot be understood at all stays as it is.
func canonical(header string) string {
	if header == "" {
		return ""
	}
	list, ok := components(header)
	if !ok {
		return header
	}
	return string(encode(list))
}

// components parses a partition key header. Numbers are float64, undefined is an empty object.
func components(header string) ([]any, bool) {
	var list []any
	if json.Unmarshal([]byte(header), &list) == nil {
		return list, list != nil
	}
	if json.Unmarshal([]byte(mendEscapes(header)), &list) == nil {
		return list, list != nil
	}
	return nil, false
}

// mendEscapes turns each Go string literal of a header into a JSON string.
func mendEscapes(header string) string {
	var b strings.Builder
	for i := 0; i < len(header); {
		if header[i] != '"' {
			b.WriteByte(header[i])
			i++
			continue
		}
		quoted, err := strconv.QuotedPrefix(header[i:])
		if err != nil {
			return header
		}
		s, _ := strconv.Unquote(quoted) // cannot fail for a quoted prefix
		b.Write(encode(s))
		i += len(quoted)
	}
	return b.String()
}

// keyOf is the partition key of an item in canonical JSON; a path that the item lacks is undefined.
func keyOf(d Definition, item map[string]any) string {
	list := make([]any, 0, len(d.Paths))
	for _, path := range d.Paths {
		var value any = item
		for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			object, _ := value.(map[string]any)
			v, ok := object[strings.Trim(name, `"`)]
			if !ok {
				v = map[string]any{}
			}
			value = v
		}
		if n, ok := value.(json.Number); ok {
			f, _ := n.Float64()
			value = f
		}
		list = append(list, value)
	}
	return string(encode(list))
}

// hasPrefix tells whether a full key begins with the components of another one, which is how a hierarchical prefix selects.
func hasPrefix(key, prefix string) bool {
	if key == prefix {
		return true
	}
	head := strings.TrimSuffix(prefix, "]")
	return prefix != "[]" && strings.HasPrefix(key, head+",")
}
