// Package partition says which physical partition a request belongs to, as far as that can be known without asking
// anybody. It is pure: no HTTP, no clock, no goroutine. Loading and refreshing range maps is the business of policy.
//
// # Effective partition keys
//
// A container has a [Definition]; a logical partition key has, under that definition, an effective partition key
// ([EPK]): a string of bytes, written in upper-case hexadecimal. EPKs are ordered, and every physical partition owns a
// range [min, max) of them, from "" to "FF".
//
//	kind       version   EPK
//	Hash       0, 1      bin(MurmurHash3-32 of the components as a number), then bin(each component); strings are cut
//	                     to 100 UTF-16 code units first
//	Hash       2         MurmurHash3-128 of all components together, h2 then h1 big-endian, top two bits cleared
//	MultiHash  any       that of each component by itself, one after the other; a prefix of k components covers
//	                     [prefix, prefix + "FF")
//	Range      any       bin(each component), not hashed (legacy)
//
// A definition without a version is version 1. No component at all is the minimum "", the word Infinity alone the
// maximum "FF". The comparison is length-aware: the shorter EPK is padded with zeros, so that 05C0 equals 05C000.
// The rules are those of the public SDKs (.NET, Java, Rust, JavaScript) and reproduce all of their published vectors,
// which are in testdata. The version 1 hash inside azcosmos is a routing shortcut, not an EPK, and is no oracle.
//
// # Range maps
//
// A [Map] is an immutable snapshot of a container's ranges. It is complete and free of overlaps or it does not exist:
// [NewMap] refuses anything else and the caller keeps the map it had. Ranges that another range names as a parent have
// been split or merged and are dropped.
//
// # Identity
//
// An [ID] is what breaker and override records are kept under. [Resolve] finds the best that is known, in this order:
//
//	ByRangeID     the range id on the request: that range of the map, else the id itself
//	ByEPK         the EPK of the request's partition key, found in the map
//	ByLogicalKey  a hash of the partition key header, when there is no map or the key cannot be decoded
//	ByContainer   the container, for requests that name neither
//
// A range of the map is identified by its bounds, so that the first two agree with each other, with a map that has no
// range ids, and with a map that was read again. The children of a split are new identities: a parent's records go to
// no child, they lapse. Two accounts, two containers and a recreated container (new RID) share nothing.
//
// Partition key values appear in no error, no description and no stored record of this package.
package partition
