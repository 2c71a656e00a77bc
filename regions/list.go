package regions

import "iter"

// List is an order of regions without duplicates, held by value: copying it is a copy of its contents, two lists with
// the same regions in the same order are ==, and no method but [List.Append] changes it. The zero value is empty.
type List struct {
	set Set // the members, so that Has and Append do not search
	n   uint8
	at  [MaxRegions]Index // at[n:] is zero, for ==
}

// MakeList returns the list of the given regions; duplicates after the first, and [None], are left out.
func MakeList(regions ...Index) List {
	var l List
	for _, r := range regions {
		l.Append(r)
	}
	return l
}

// Len returns the number of regions, 0 to [MaxRegions].
func (l List) Len() int { return int(l.n) }

// At returns the region at place i, counted from 0; [None] if there is no such place.
func (l List) At(i int) Index {
	if i < 0 || i >= int(l.n) {
		return None
	}
	return l.at[i]
}

// First returns the first region; [None] when the list is empty.
func (l List) First() Index { return l.At(0) }

// Has reports whether region i is in the list.
func (l List) Has(i Index) bool { return l.set.Has(i) }

// Append adds region i at the end and reports whether it did: not if it is there already or is no region.
func (l *List) Append(i Index) bool {
	if i >= MaxRegions || l.set.Has(i) {
		return false
	}
	// A list holds each of MaxRegions indices once, so there is always room here.
	l.set = l.set.With(i)
	l.at[l.n] = i
	l.n++
	return true
}

// Set returns the regions of the list as a set.
func (l List) Set() Set { return l.set }

// All returns the regions in order.
func (l List) All() iter.Seq[Index] {
	return func(yield func(Index) bool) {
		for _, r := range l.at[:l.n] {
			if !yield(r) {
				return
			}
		}
	}
}

// fill makes l the list base less the given regions. It works in place, for lists are large enough that every copy
// of one counts against a plan.
func (l *List) fill(base *List, drop Set) {
	*l = List{set: base.set &^ drop}
	l.add(base, l.set)
}

// fillBehind makes l the list base with the given regions moved to its end, otherwise as it was.
func (l *List) fillBehind(base *List, last Set) {
	if base.set&last == 0 {
		*l = *base
		return
	}
	*l = List{set: base.set}
	l.add(base, base.set&^last)
	l.add(base, base.set&last)
}

// add puts those regions of base that are in the set behind the others, in their order; l.set has them already.
// Every region is written to the next free place, which is then kept or not: no branch that depends on the data.
func (l *List) add(base *List, keep Set) {
	n := l.n
	for _, r := range base.at[:base.n] {
		if n >= MaxRegions {
			break // all are in
		}
		l.at[n] = r
		n += uint8(keep >> r & 1)
	}
	if n < MaxRegions {
		l.at[n] = 0 // what was written last and not kept
	}
	l.n = n
}
