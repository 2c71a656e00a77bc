package partition

import (
	"encoding/binary"
	"math/bits"
)

// MurmurHash3 of Austin Appleby (public domain), the x86 32-bit and the x64 128-bit variant, both with seed 0, as the
// service uses them. They decide where a document lives, so nothing about them may change.

// murmur32 is MurmurHash3_x86_32.
func murmur32(b []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	n, h := len(b), uint32(0)
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * c1
		h ^= bits.RotateLeft32(k, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	// The tail as if padded with zeros: a zero word changes nothing.
	var tail [4]byte
	copy(tail[:], b)
	h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(tail[:])*c1, 15) * c2
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// murmur128 is MurmurHash3_x64_128.
func murmur128(b []byte) (h1, h2 uint64) {
	n := uint64(len(b))
	for ; len(b) >= 16; b = b[16:] {
		h1 ^= mixLow(binary.LittleEndian.Uint64(b))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mixHigh(binary.LittleEndian.Uint64(b[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	// The tail as if padded with zeros: a zero word changes nothing.
	var tail [16]byte
	copy(tail[:], b)
	h1 ^= mixLow(binary.LittleEndian.Uint64(tail[:]))
	h2 ^= mixHigh(binary.LittleEndian.Uint64(tail[8:]))
	h1 ^= n
	h2 ^= n
	h1 += h2
	h2 += h1
	h1 = finish64(h1)
	h2 = finish64(h2)
	h1 += h2
	return h1, h2 + h1
}

const (
	murmurC1 = 0x87c37b91114253d5
	murmurC2 = 0x4cf5ad432745937f
)

func mixLow(k uint64) uint64  { return bits.RotateLeft64(k*murmurC1, 31) * murmurC2 }
func mixHigh(k uint64) uint64 { return bits.RotateLeft64(k*murmurC2, 33) * murmurC1 }

func finish64(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
