package partition

import (
	"encoding/binary"
	"hash/maphash"
)

// ID is the identity of a partition: what records about it are kept under. It is comparable and holds no pointer. The
// zero ID belongs to no partition.
//
// Both halves are 64-bit hashes with seeds that are random in each process (hash/maphash), so that keys cannot be
// crafted to collide; an ID therefore means nothing outside its process. Three bits of Range tell what was hashed.
// Two partitions of different containers collide with a chance of 2^-125. Among n partitions of one container the
// chance that any two collide is n^2/2^62: for a million logical keys 2e-7. What happens then is that the two share
// their records, as if they lay in one physical partition.
type ID struct {
	Container uint64 // of the account's scope and the container's RID, or its link as long as that is all that is known
	Range     uint64 // of what is known of the partition within the container
}

// Known is how well a partition is known. Larger is better.
type Known uint8

// The degrees of knowledge of [Resolve].
const (
	Unknown      Known = iota // not even a container
	ByContainer               // the container
	ByLogicalKey              // the logical partition key
	ByEPK                     // the range, found by effective partition key
	ByRangeID                 // the range, named by the request
)

var knownNames = [...]string{"unknown", "container", "logical_key", "epk", "range_id"}

// String returns a short name: unknown, container, logical_key, epk, range_id.
func (k Known) String() string {
	if int(k) < len(knownNames) {
		return knownNames[k]
	}
	return knownNames[Unknown]
}

// What the Range half of an ID is a hash of; kept in its top three bits.
const (
	kindContainer uint64 = 1 + iota // nothing
	kindKey                         // the partition key header
	kindRange                       // a range's bounds
	kindRangeID                     // a range id that no map explains

	kindShift = 61
)

// wholeContainer is the Range half of a container's own ID.
const wholeContainer = kindContainer << kindShift

// One seed for each kind of thing that is hashed: equal strings of different kinds are unrelated. They never change.
var (
	seedScope   = maphash.MakeSeed()
	seedRID     = maphash.MakeSeed()
	seedLink    = maphash.MakeSeed()
	seedKey     = maphash.MakeSeed()
	seedBounds  = maphash.MakeSeed()
	seedRangeID = maphash.MakeSeed()
)

// Resolve returns the identity of the partition a request belongs to, and how it is known; see the package comment for
// the order. It does not allocate for keys without escapes.
//
// scope tells accounts apart. link names the container (dbs/…/colls/…); it is used only without a map, and if it is ""
// too the result is the zero ID and Unknown. m may be nil. rangeID and keyHeader are the values of the request's
// headers, "" if there is none.
func Resolve(scope uint64, link string, m *Map, rangeID, keyHeader string) (ID, Known) {
	var id ID
	switch {
	case m != nil:
		id.Container = hashContainer(scope, m.hash)
	case link != "":
		id.Container = hashContainer(scope, hashString(seedLink, link))
	default:
		return ID{}, Unknown
	}
	var known Known
	id.Range, known = within(m, rangeID, keyHeader)
	return id, known
}

// within returns the Range half of an ID.
func within(m *Map, rangeID, keyHeader string) (uint64, Known) {
	if m != nil {
		if i, ok := m.byID[rangeID]; ok {
			return m.hashes[i], ByRangeID
		}
		// A map with ids that lacks this one is out of date, and so is what it says of the key.
		if keyHeader != "" && (rangeID == "" || !m.ids) {
			if i := m.locate(keyHeader); i >= 0 {
				return m.hashes[i], ByEPK
			}
		}
	}
	switch {
	case rangeID != "":
		return hashRangeID(rangeID), ByRangeID
	case keyHeader != "":
		return tag(kindKey, hashString(seedKey, keyHeader)), ByLogicalKey
	}
	return wholeContainer, ByContainer
}

// locate returns the index of the range that holds all items of a partition key, or -1.
func (m *Map) locate(keyHeader string) int {
	var buf [scratch]byte
	b, prefix, err := appendHeaderEPK(buf[:0], m.def, keyHeader)
	switch {
	case err != nil:
		return -1
	case prefix:
		return m.searchSpan(b, append(b, markInfinity))
	}
	return m.search(b)
}

// Hash returns 64 well-mixed bits of both halves, for choosing a shard or a bucket.
func (id ID) Hash() uint64 { return id.Container ^ id.Range }

func tag(kind, hash uint64) uint64 { return kind<<kindShift | hash>>(64-kindShift) }

func hashString(seed maphash.Seed, s string) uint64 { return maphash.String(seed, s) }

func hashRangeID(id string) uint64 { return tag(kindRangeID, hashString(seedRangeID, id)) }

func hashContainer(scope, container uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], scope)
	binary.LittleEndian.PutUint64(b[8:], container)
	return maphash.Bytes(seedScope, b[:])
}

// hashRange hashes a range's bounds, so written that bounds which compare equal are equal.
func hashRange(r *Range) uint64 {
	lower, upper := trimZeros(r.Min.bytes()), trimZeros(r.Max.bytes())
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(lower)))
	b = append(append(b, lower...), upper...)
	return tag(kindRange, maphash.Bytes(seedBounds, b))
}
