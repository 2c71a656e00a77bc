// Package shard is a map for what is unwell: small records that exist only while something is wrong, that many
// goroutines touch at once, and that must cost nothing while everything is right.
//
// # Promises
//
//   - Empty is one atomic load. A caller that asks it first pays nothing else while nothing is recorded.
//   - An entry is stored inline, without a heap object of its own. When K and V hold no pointers the collector never
//     looks inside, whatever the number of entries.
//   - Nothing is ever copied whole: a change locks one of 256 shards and touches one entry (growing copies one shard).
//   - Memory is given back: a shard that drains is rebuilt smaller, and one that empties keeps nothing. (A Go map never
//     shrinks, which is why this is not one.)
//   - The number of entries has a limit. A new entry beyond it is refused and counted; known entries go on being updated.
//
// # Layout
//
// A shard is a dense array of entries and an index of it: an open-addressed array of 32-bit cells, each an eight-bit tag of
// the hash and a position in the array. A lookup that misses reads cells only. The dense array grows by an eighth and
// the index is between 3/8 and 3/4 full, so an entry costs at most 9/8 of its size and 11 bytes.
//
// Keys bring their own hash. Keys whose hashes are equal are siblings: they stand in one shard, and one lookup visits all
// of them (Siblings). The breaker finds every region of a partition that way.
package shard
