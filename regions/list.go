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

// push appends a region that is known to be one and not to be in the list: what Append would check.
func (l *List) push(i Index) {
	l.set = l.set.With(i)
	l.at[l.n%MaxRegions] = i // the remainder spares a bounds check; n never reaches MaxRegions here
	l.n++
}

// without returns the list less the given regions.
func (l *List) without(drop Set) List {
	var out List
	for _, r := range l.at[:l.n] {
		if !drop.Has(r) {
			out.push(r)
		}
	}
	return out
}

// behind returns the list with the given regions moved to its end, otherwise as it was.
func (l *List) behind(last Set) List {
	if l.set&last == 0 {
		return *l
	}
	out := l.without(last)
	for _, r := range l.at[:l.n] {
		if last.Has(r) {
			out.push(r)
		}
	}
	return out
}
