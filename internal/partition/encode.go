package partition

import (
	"encoding/binary"
	"math"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// The first byte of an encoded component. Undefined, null, false, true and Infinity are nothing else.
const (
	markUndefined = 0x00
	markNull      = 0x01
	markFalse     = 0x02
	markTrue      = 0x03
	markNumber    = 0x05
	markString    = 0x08
	markInfinity  = 0xFF
)

// The byte that ends a string in what is hashed.
const (
	suffixV1 = 0x00
	suffixV2 = 0xFF
)

const (
	// maxUnits is the number of UTF-16 code units of a string that version 1 looks at.
	maxUnits = 100
	// maxBinary is the number of bytes of a string that the binary form keeps.
	maxBinary = 101
)

// mark returns the first byte of an encoded component.
func mark(k request.Kind) byte {
	switch k {
	case request.KindNull:
		return markNull
	case request.KindFalse:
		return markFalse
	case request.KindTrue:
		return markTrue
	case request.KindNumber:
		return markNumber
	case request.KindString:
		return markString
	case request.KindInfinity:
		return markInfinity
	}
	return markUndefined
}

// appendHashed appends the bytes that are hashed for a component. −0 is hashed as it is, as .NET does.
func appendHashed(dst []byte, c request.Component, suffix byte) []byte {
	dst = append(dst, mark(c.Kind))
	switch c.Kind {
	case request.KindNumber:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.Number))
	case request.KindString:
		dst = append(dst, c.String...)
		dst = append(dst, suffix)
	}
	return dst
}

// appendBinary appends the binary form of a component, whose order as bytes is the order of the values.
func appendBinary(dst []byte, c request.Component) []byte {
	switch c.Kind {
	case request.KindNumber:
		return appendBinaryNumber(dst, c.Number)
	case request.KindString:
		return appendBinaryString(dst, c.String)
	}
	return append(dst, mark(c.Kind))
}

// appendBinaryNumber appends a number: its bits in an order that sorts like the numbers, the top byte whole, the rest
// by seven bits, each followed by a bit that says whether more follows. A last byte is always written, even if zero.
func appendBinaryNumber(dst []byte, f float64) []byte {
	const sign = 1 << 63
	u := math.Float64bits(f)
	if u&sign == 0 {
		u ^= sign
	} else {
		u = -u
	}
	dst = append(dst, markNumber, byte(u>>56))
	u <<= 8
	for ; u<<7 != 0; u <<= 7 {
		dst = append(dst, byte(u>>56)|1)
	}
	return append(dst, byte(u>>56)&^1)
}

// appendBinaryString appends the first bytes of a string, each plus one so that zero can end it. What was cut has no
// end mark.
func appendBinaryString(dst []byte, s string) []byte {
	dst = append(dst, markString)
	for i := range min(len(s), maxBinary) {
		dst = append(dst, s[i]+1)
	}
	if len(s) < maxBinary {
		dst = append(dst, 0)
	}
	return dst
}

// cut returns the component version 1 sees: a string's first 100 UTF-16 code units. A surrogate pair that is cut in
// two leaves U+FFFD, which is what UTF-8 encoders make of half a pair; only that case allocates.
func cut(c request.Component) request.Component {
	if c.Kind != request.KindString || len(c.String) <= maxUnits {
		return c
	}
	units := 0
	for i, r := range c.String {
		width := 1
		if r > 0xFFFF {
			width = 2
		}
		if units+width <= maxUnits {
			units += width
			continue
		}
		half := units < maxUnits
		c.String = c.String[:i]
		if half {
			c.String += "\uFFFD"
		}
		return c
	}
	return c
}
