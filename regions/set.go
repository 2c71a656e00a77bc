package regions

import "math/bits"

// MaxRegions is the most regions one account can have here. Azure has about 60 public regions; a [Set] is one machine
// word. What exceeds it is dropped and told by [Topology.Dropped].
const MaxRegions = 64

// Index is a region's place in its [Topology], 0 to [MaxRegions]-1, or [None]. It stays the same for a region of the
// same name in every topology derived from this one. Index 0 is a region: "no region" must be said with [None].
type Index uint8

// None is "no region". It is in no [Set] and no [List].
const None Index = 0xFF

// Set is a set of regions: bit i is the region with [Index] i. The zero value is the empty set.
// An index that is no region, [None] among them, is never in a set: shifting past the word's end yields zero.
type Set uint64

// Has reports whether region i is in the set; false for [None].
func (s Set) Has(i Index) bool { return s&(1<<i) != 0 }

// With returns the set and region i; the same set for [None].
func (s Set) With(i Index) Set { return s | 1<<i }

// Without returns the set less region i.
func (s Set) Without(i Index) Set { return s &^ (1 << i) }

// Len returns the number of regions in the set.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// Empty reports whether the set has no region.
func (s Set) Empty() bool { return s == 0 }
