package gateway

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
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

// effective is the effective partition key of a key in canonical JSON.
func effective(d Definition, key string) string {
	h := fnv.New64a()
	h.Write([]byte(key))
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], h.Sum64()*0x9E3779B97F4A7C15)
	b[0] &= 0x3F
	return strings.ToUpper(hex.EncodeToString(b[:]))
}

// bound is the effective partition key at a fraction of the key space, in units of 1/2^32. Hashes are spread evenly over 32
// bits in version 1, where the hash is written as a float64, and over 126 bits in version 2.
func bound(d Definition, at uint64) string {
	switch {
	case at == 0:
		return ""
	case at >= 1<<32:
		return maxEPK
	case isV1(d):
		return binaryNumber(float64(at))
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], at<<30)
	return strings.ToUpper(hex.EncodeToString(b[:]))
}

func isV1(d Definition) bool { return d.Version < 2 && d.Kind != "MultiHash" }

// binaryNumber writes a number so that the hex digits sort like the numbers: a marker, then the bits, with their sign turned,
// seven to a byte.
func binaryNumber(f float64) string {
	bits := math.Float64bits(f)
	if bits>>63 == 0 {
		bits ^= 1 << 63
	} else {
		bits = -bits
	}
	out := []byte{5, byte(bits >> 56)}
	for bits <<= 8; bits != 0; bits <<= 7 {
		out = append(out, byte(bits>>56)|1)
	}
	out[len(out)-1] &^= 1
	return strings.ToUpper(hex.EncodeToString(out))
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
		for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
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
