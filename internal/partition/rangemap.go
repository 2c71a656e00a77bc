package partition

import (
	"math/bits"
	"slices"
)

// Map is an immutable snapshot of a container's ranges, complete from the minimum to the maximum. It is safe for
// concurrent use and is replaced whole. The zero value and nil are not useful; [NewMap] makes one.
type Map struct {
	rid    string
	def    Definition
	ranges []Range        // by Min
	heads  []uint64       // head of each Min: most searches look at nothing else
	hashes []uint64       // the Range part of each range's ID
	byID   map[string]int // never with "" as a key
	ids    bool           // every range has an id
	hash   uint64         // of the RID, for the Container part
}

// NewMap makes the map of a container from its ranges, in any order. Ranges that are named among another's parents are
// dropped; of several with the same id the last one counts; an empty upper bound means the maximum.
// What remains must cover everything exactly once, and the RID must not be "", otherwise the error is a [*CoverageError].
func NewMap(rid string, def Definition, ranges []Range) (*Map, error) {
	live := current(ranges)
	slices.SortStableFunc(live, func(a, b Range) int { return a.Min.Compare(b.Min) })
	if err := covers(rid, live); err != nil {
		return nil, err
	}
	m := &Map{
		rid: rid, def: def, ranges: live, ids: true, hash: hashString(seedRID, rid),
		heads:  make([]uint64, len(live)),
		hashes: make([]uint64, len(live)),
		byID:   make(map[string]int),
	}
	for i := range live {
		r := &live[i]
		m.heads[i] = head(r.Min.bytes())
		m.hashes[i] = hashRange(r)
		if r.ID == "" {
			m.ids = false
			continue
		}
		m.byID[r.ID] = i
	}
	return m, nil
}

// With returns a new map in which the given ranges have replaced their parents and older versions of themselves: what
// the answer to an incremental read (If-None-Match with an earlier ETag) means. The receiver is unchanged. An error
// means that the answer does not fit this map, and the ranges have to be read from the start.
func (m *Map) With(ranges []Range) (*Map, error) {
	return NewMap(m.rid, m.def, slices.Concat(m.ranges, ranges))
}

// current copies the ranges that have not been split or merged, the last version of each, with open ends closed.
func current(ranges []Range) []Range {
	gone := make(map[string]bool)
	for _, r := range ranges {
		for _, parent := range r.Parents {
			gone[parent] = true
		}
	}
	at := make(map[string]int)
	live := make([]Range, 0, len(ranges))
	for _, r := range ranges {
		if r.ID != "" && gone[r.ID] {
			continue
		}
		if r.Max == (EPK{}) {
			r.Max = maxEPK
		}
		if i, seen := at[r.ID]; seen && r.ID != "" {
			live[i] = r
			continue
		}
		at[r.ID] = len(live)
		live = append(live, r)
	}
	return live
}

// covers checks that sorted ranges cover everything exactly once.
func covers(rid string, ranges []Range) error {
	fail := func(rule string, at EPK) error { return &CoverageError{RID: rid, Rule: rule, At: at} }
	switch {
	case rid == "":
		return fail(RuleRID, EPK{})
	case len(ranges) == 0:
		return fail(RuleNone, EPK{})
	}
	end := EPK{}
	for i, r := range ranges {
		switch c := r.Min.Compare(end); {
		case c > 0 && i == 0:
			return fail(RuleStart, r.Min)
		case c > 0:
			return fail(RuleGap, end)
		case c < 0:
			return fail(RuleOverlap, r.Min)
		}
		if r.Max.Compare(r.Min) <= 0 {
			return fail(RuleEmpty, r.Min)
		}
		end = r.Max
	}
	if end.Compare(maxEPK) != 0 {
		return fail(RuleEnd, end)
	}
	return nil
}

// RID returns the container's resource id.
func (m *Map) RID() string { return m.rid }

// Definition returns the container's partition key definition.
func (m *Map) Definition() Definition { return m.def }

// Len returns the number of ranges, at least 1.
func (m *Map) Len() int { return len(m.ranges) }

// At returns the i-th range in the order of EPKs, 0 <= i < Len.
func (m *Map) At(i int) Range { return m.ranges[i] }

// HasIDs says whether every range's id is known, so that an unknown id means a map out of date.
func (m *Map) HasIDs() bool { return m.ids }

// ByID returns the range with that id.
func (m *Map) ByID(id string) (Range, bool) {
	if i, ok := m.byID[id]; ok {
		return m.ranges[i], true
	}
	return Range{}, false
}

// Find returns the range an EPK lies in. Only EPKs from the maximum on lie in none.
func (m *Map) Find(e EPK) (Range, bool) {
	if i := m.search(e.bytes()); i >= 0 {
		return m.ranges[i], true
	}
	return Range{}, false
}

// FindOverlap returns the range that the whole span [first, end) lies in, and false if it reaches into several, into
// none, or is empty.
func (m *Map) FindOverlap(first, end EPK) (Range, bool) {
	if i := m.searchSpan(first.bytes(), end.bytes()); i >= 0 {
		return m.ranges[i], true
	}
	return Range{}, false
}

// searchSpan returns the index of the range that holds [first, end), or -1.
func (m *Map) searchSpan(first, end []byte) int {
	i := m.search(first)
	if i < 0 || comparePadded(first, end) >= 0 || comparePadded(end, m.ranges[i].Max.bytes()) > 0 {
		return -1
	}
	return i
}

// search returns the index of the range that holds an EPK, or -1.
func (m *Map) search(epk []byte) int {
	h := head(epk)
	if h >= 0xFF<<56 {
		return -1
	}
	// The last range whose head is not greater; the first one's is 0. The borrow of h - head stands in for a branch
	// that would be mispredicted every other time.
	i := 0
	for n := len(m.heads); n > 1; {
		half := n / 2
		_, greater := bits.Sub64(h, m.heads[i+half], 0)
		i += half & (int(greater) - 1)
		n -= half
	}
	// Bounds that agree in eight bytes are rare, and then few, except in a hierarchical container with one huge tenant.
	if m.heads[i] == h {
		return m.searchEqual(epk, h, i+1)
	}
	return i
}

// searchEqual searches among the ranges before i whose heads are h.
func (m *Map) searchEqual(epk []byte, h uint64, i int) int {
	first, _ := slices.BinarySearch(m.heads[:i], h)
	for first < i {
		mid := int(uint(first+i) >> 1)
		if comparePadded(m.ranges[mid].Min.bytes(), epk) <= 0 {
			first = mid + 1
		} else {
			i = mid
		}
	}
	return first - 1
}
