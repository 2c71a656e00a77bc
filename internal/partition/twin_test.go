package partition

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// The twin: the same rules written for plainness, in big integers, bit strings and hexadecimal, without an eye on cost.

// twinEPK returns the EPK in upper-case hexadecimal.
func twinEPK(def Definition, components []request.Component) (string, bool) {
	n := len(components)
	if def.Version < 0 || def.Version > 2 || def.Kind > KindRange {
		return "", false
	}
	if def.Paths > 0 && n > def.Paths || def.Paths > 0 && n > 0 && n < def.Paths && def.Kind != KindMultiHash {
		return "", false
	}
	if n == 1 && components[0].Kind == request.KindInfinity {
		return "FF", true
	}
	if n == 0 {
		return "", true
	}
	var out strings.Builder
	switch {
	case def.Kind == KindRange:
		for _, c := range components {
			out.WriteString(twinBinary(c))
		}
	case def.Kind == KindMultiHash:
		for _, c := range components {
			out.WriteString(twinV2(twinHashed(c, "\xFF")))
		}
	case def.Version == 2:
		var all strings.Builder
		for _, c := range components {
			all.WriteString(twinHashed(c, "\xFF"))
		}
		out.WriteString(twinV2(all.String()))
	default:
		var all, rest strings.Builder
		for _, c := range components {
			if units := utf16.Encode([]rune(c.String)); len(units) > 100 {
				c.String = string(utf16.Decode(units[:100]))
			}
			all.WriteString(twinHashed(c, "\x00"))
			rest.WriteString(twinBinary(c))
		}
		hash := float64(twinMurmur32(all.String()))
		out.WriteString(twinBinary(request.Component{Kind: request.KindNumber, Number: hash}) + rest.String())
	}
	return out.String(), true
}

var twinMarks = map[request.Kind]string{
	request.KindUndefined: "\x00", request.KindNull: "\x01", request.KindFalse: "\x02", request.KindTrue: "\x03",
	request.KindNumber: "\x05", request.KindString: "\x08", request.KindInfinity: "\xFF",
}

func twinHashed(c request.Component, suffix string) string {
	out := twinMarks[c.Kind]
	switch c.Kind {
	case request.KindNumber:
		bits, _ := hex.DecodeString(fmt.Sprintf("%016x", math.Float64bits(c.Number)))
		slices.Reverse(bits)
		out += string(bits)
	case request.KindString:
		out += c.String + suffix
	}
	return out
}

func twinBinary(c request.Component) string {
	out := fmt.Sprintf("%02X", twinMarks[c.Kind])
	switch c.Kind {
	case request.KindNumber:
		return out + twinBinaryNumber(c.Number)
	case request.KindString:
		kept := []byte(c.String[:min(101, len(c.String))])
		for i := range kept {
			kept[i]++
		}
		out += fmt.Sprintf("%X", kept)
		if len(c.String) <= 100 {
			out += "00"
		}
	}
	return out
}

func twinBinaryNumber(f float64) string {
	u := math.Float64bits(f)
	if math.Signbit(f) {
		u = ^u + 1
	} else {
		u += 1 << 63
	}
	digits := fmt.Sprintf("%064b", u)
	var groups []string
	for rest := digits[8:]; rest != ""; rest = rest[7:] {
		groups = append(groups, rest[:7])
	}
	for len(groups) > 1 && groups[len(groups)-1] == "0000000" {
		groups = groups[:len(groups)-1]
	}
	all := digits[:8] + strings.Join(groups, "1") + "0"
	number, _ := new(big.Int).SetString(all, 2)
	return fmt.Sprintf("%0*X", len(all)/4, number)
}

// word is an unsigned integer of a fixed number of bits, in a big one.
type word struct {
	v    *big.Int
	bits uint
}

func (w word) cut(v *big.Int) word {
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), w.bits), big.NewInt(1))
	return word{v.And(v, mask), w.bits}
}
func (w word) of(u uint64) word      { return w.cut(new(big.Int).SetUint64(u)) }
func (w word) add(o word) word       { return w.cut(new(big.Int).Add(w.v, o.v)) }
func (w word) mul(u uint64) word     { return w.cut(new(big.Int).Mul(w.v, w.of(u).v)) }
func (w word) xor(o word) word       { return w.cut(new(big.Int).Xor(w.v, o.v)) }
func (w word) shr(n uint) word       { return w.cut(new(big.Int).Rsh(w.v, n)) }
func (w word) rotl(n uint) word      { return w.cut(new(big.Int).Lsh(w.v, n)).xor(w.shr(w.bits - n)) }
func (w word) fold(n uint) word      { return w.xor(w.shr(n)) }
func zero(bits uint) word            { return word{new(big.Int), bits} }
func (w word) plus(u uint64) word    { return w.add(w.of(u)) }
func (w word) plusLen(s string) word { return w.xor(w.of(uint64(len(s)))) }

// binaryValue reads up to eight bytes, the last one most significant.
func binaryValue(b string) uint64 {
	v := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		v.Lsh(v, 8).Or(v, big.NewInt(int64(b[i])))
	}
	return v.Uint64()
}

func twinMurmur32(s string) uint64 {
	h, rest := zero(32), s
	scramble := func(k string) word { return h.of(binaryValue(k)).mul(0xcc9e2d51).rotl(15).mul(0x1b873593) }
	for ; len(rest) >= 4; rest = rest[4:] {
		h = h.xor(scramble(rest[:4])).rotl(13).mul(5).plus(0xe6546b64)
	}
	if rest != "" {
		h = h.xor(scramble(rest))
	}
	return h.plusLen(s).fold(16).mul(0x85ebca6b).fold(13).mul(0xc2b2ae35).fold(16).v.Uint64()
}

func twinMurmur128(s string) (h1, h2 word) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	h1, h2 = zero(64), zero(64)
	rest := s
	low := func(k string) word { return h1.of(binaryValue(k)).mul(c1).rotl(31).mul(c2) }
	high := func(k string) word { return h1.of(binaryValue(k)).mul(c2).rotl(33).mul(c1) }
	for ; len(rest) >= 16; rest = rest[16:] {
		h1 = h1.xor(low(rest[:8])).rotl(27).add(h2).mul(5).plus(0x52dce729)
		h2 = h2.xor(high(rest[8:16])).rotl(31).add(h1).mul(5).plus(0x38495ab5)
	}
	if len(rest) > 8 {
		h2 = h2.xor(high(rest[8:]))
		rest = rest[:8]
	}
	if rest != "" {
		h1 = h1.xor(low(rest))
	}
	h1, h2 = h1.plusLen(s), h2.plusLen(s)
	h1 = h1.add(h2)
	h2 = h2.add(h1)
	finish := func(w word) word {
		return w.fold(33).mul(0xff51afd7ed558ccd).fold(33).mul(0xc4ceb9fe1a85ec53).fold(33)
	}
	h1, h2 = finish(h1), finish(h2)
	h1 = h1.add(h2)
	return h1, h2.add(h1)
}

func twinV2(s string) string {
	h1, h2 := twinMurmur128(s)
	out := []byte(fmt.Sprintf("%016X%016X", h2.v, h1.v))
	var first int
	_, _ = fmt.Sscanf(string(out[:2]), "%X", &first)
	return fmt.Sprintf("%02X", first%64) + string(out[2:])
}

// twinCompare compares EPKs in hexadecimal.
func twinCompare(a, b string) int {
	n := max(len(a), len(b))
	a += strings.Repeat("0", n-len(a))
	b += strings.Repeat("0", n-len(b))
	return strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
}
