package partition

import (
	"encoding/binary"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// scratch is the room on the stack for what is hashed and for an EPK: every version 1 EPK of one component fits, and
// the strings that are usual. Longer ones are computed on the heap, with the same result.
const scratch = 192

// levels is the number of components that are decoded without allocating; the service allows three.
const levels = 4

// Hash returns the EPK of a logical partition key. For a proper prefix of a hierarchical key it is the start of the
// prefix's span; see [FromHeader] for its end. No components give the minimum, Infinity alone the maximum.
// The error is one of this package's [*KeyError] values. Keys whose EPK has up to 55 bytes are not allocated for.
func Hash(def Definition, components []request.Component) (EPK, error) {
	var buf [scratch]byte
	b, err := appendEPK(buf[:0], def, components)
	if err != nil {
		return EPK{}, err
	}
	return epkOf(b), nil
}

// FromHeader returns the EPK of the key in a partition key header: first for a whole key, with end equal to it; for a
// proper prefix of a hierarchical key prefix is true and the key's items lie in [first, end).
// The error is one of this package's [*KeyError] values.
func FromHeader(def Definition, header string) (first, end EPK, prefix bool, err error) {
	var buf [scratch]byte
	b, prefix, err := appendHeaderEPK(buf[:0], def, header)
	if err != nil {
		return EPK{}, EPK{}, false, err
	}
	first = epkOf(b)
	if !prefix {
		return first, first, false, nil
	}
	return first, epkOf(append(b, markInfinity)), true, nil
}

// appendHeaderEPK appends the EPK of the key in a partition key header.
func appendHeaderEPK(dst []byte, def Definition, header string) (b []byte, prefix bool, err error) {
	var buf [levels]request.Component
	components, err := request.ParsePartitionKey(header, buf[:0])
	if err != nil {
		// The parser's error is not kept: it may quote the key.
		return nil, false, ErrHeader
	}
	b, err = appendEPK(dst, def, components)
	return b, err == nil && def.prefix(len(components)), err
}

// appendEPK appends the EPK of a logical partition key.
func appendEPK(dst []byte, def Definition, components []request.Component) ([]byte, error) {
	switch {
	case !def.valid():
		return nil, ErrDefinition
	case !def.accepts(len(components)):
		return nil, ErrCount
	case len(components) == 0:
		return dst, nil
	case len(components) == 1 && components[0].Kind == request.KindInfinity:
		return append(dst, markInfinity), nil
	case def.Kind == KindRange:
		return appendRange(dst, components), nil
	case def.Kind == KindMultiHash:
		for i := range components {
			dst = appendV2(dst, components[i:i+1])
		}
		return dst, nil
	case def.Version == 2:
		return appendV2(dst, components), nil
	}
	return appendV1(dst, components), nil
}

func appendRange(dst []byte, components []request.Component) []byte {
	for _, c := range components {
		dst = appendBinary(dst, c)
	}
	return dst
}

// appendV2 appends the version 2 hash of the components together.
func appendV2(dst []byte, components []request.Component) []byte {
	var buf [scratch]byte
	b := buf[:0]
	for _, c := range components {
		b = appendHashed(b, c, suffixV2)
	}
	h1, h2 := murmur128(b)
	const mask = 1<<62 - 1 // the top two bits stay free for the maximum, FF
	dst = binary.BigEndian.AppendUint64(dst, h2&mask)
	return binary.BigEndian.AppendUint64(dst, h1)
}

// appendV1 appends the version 1 hash of the components together, then each component.
func appendV1(dst []byte, components []request.Component) []byte {
	var buf [scratch]byte
	b := buf[:0]
	for _, c := range components {
		b = appendHashed(b, cut(c), suffixV1)
	}
	dst = appendBinaryNumber(dst, float64(murmur32(b)))
	for _, c := range components {
		dst = appendBinary(dst, cut(c))
	}
	return dst
}
