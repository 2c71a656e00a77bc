package partition

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// inlineEPK is the number of bytes an [EPK] holds without allocating: a version 2 hash (16), a hierarchical key of three
// levels and the end of its prefix (49), a version 1 key of a string of up to 46 bytes (7 + 46 + 2).
const inlineEPK = 55

// EPK is an effective partition key: a string of bytes, ordered by [EPK.Compare]. The zero value is the minimum, "".
// Values are immutable. == compares the bytes exactly; Compare ignores trailing zeros.
type EPK struct {
	n      uint8
	inline [inlineEPK]byte // the first n bytes; the rest is zero
	long   string          // all bytes, if there are more than inlineEPK; then n is 0
}

// maxEPK is the end of the last range.
var maxEPK = epkOf([]byte{0xFF})

func epkOf(b []byte) EPK {
	var e EPK
	if len(b) > inlineEPK {
		e.long = string(b)
		return e
	}
	e.n = uint8(copy(e.inline[:], b))
	return e
}

// ParseEPK reads an EPK from hexadecimal digits of either case, as the service writes the bounds of ranges. The error is
// a [*ParseError].
func ParseEPK(s string) (EPK, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return EPK{}, &ParseError{Subject: "epk", Reason: "not hexadecimal", Err: err}
	}
	return epkOf(b), nil
}

// String returns the EPK as upper-case hexadecimal digits; the minimum is "".
func (e EPK) String() string { return strings.ToUpper(hex.EncodeToString(e.bytes())) }

// Compare returns -1, 0 or 1. The shorter EPK is padded with zeros, so 05C0 and 05C000 are equal.
func (e EPK) Compare(o EPK) int { return comparePadded(e.bytes(), o.bytes()) }

// bytes returns the bytes of e, which must not be changed.
func (e *EPK) bytes() []byte {
	if e.long != "" {
		return []byte(e.long)
	}
	return e.inline[:e.n]
}

// head returns the first eight bytes, padded with zeros: unequal heads order two EPKs.
func head(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var h uint64
	for i, c := range b {
		h |= uint64(c) << (56 - 8*i)
	}
	return h
}

// comparePadded compares as if the shorter slice went on with zeros.
func comparePadded(a, b []byte) int {
	n := min(len(a), len(b))
	if c := bytes.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	switch {
	case len(trimZeros(a[n:])) > 0:
		return 1
	case len(trimZeros(b[n:])) > 0:
		return -1
	}
	return 0
}

// trimZeros returns b without its trailing zeros.
func trimZeros(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
