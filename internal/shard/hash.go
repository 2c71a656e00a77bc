package shard

import "math/bits"

// Odd multipliers with well spread bits: the golden ratio, and the two of MurmurHash3's finalizer.
const (
	golden = 0x9e3779b97f4a7c15
	mixA   = 0xff51afd7ed558ccd
	mixB   = 0xc4ceb9fe1a85ec53
)

// Key is what a Map can be keyed by.
//
// Hash must depend on nothing but the key, and spread over all 64 bits: the top eight choose the shard, the next eight are the
// tag, the low ones the place. Keys with equal hashes are siblings (see Map.Siblings), so a key may leave out a field
// on purpose.
type Key interface {
	comparable
	Hash() uint64
}

// Mix hashes two numbers into one. For a fixed a no two b collide, and for a fixed b no two a do, so counters and
// hashes are equally good input. It is not meant to withstand an adversary.
func Mix(a, b uint64) uint64 {
	x := a*golden ^ bits.RotateLeft64(b, 32)
	x ^= x >> 33
	x *= mixA
	x ^= x >> 33
	x *= mixB
	x ^= x >> 33
	return x
}
