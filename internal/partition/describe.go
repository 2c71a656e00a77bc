package partition

import "fmt"

// shownDigits is how much of a bound a description shows. The first four digits of version 1 are always the same.
const shownDigits = 8

// Describe returns what a person may see of a partition: "range [05C1DFFF.., 05C1E7FF..)", "key #1a2b3c4d5e6f",
// "range id #…", "container", or "unknown" for the zero ID. It never shows a key, only the process's hash of it. m is
// the container's map; if it is nil or newer than the ID, a range is shown as "range #…".
func Describe(id ID, m *Map) string {
	switch id.Range >> kindShift {
	case kindContainer:
		return "container"
	case kindKey:
		return "key " + short(id.Range)
	case kindRangeID:
		return "range id " + short(id.Range)
	case kindRange:
		if m != nil {
			for i, h := range m.hashes {
				if h == id.Range {
					return m.ranges[i].String()
				}
			}
		}
		return "range " + short(id.Range)
	}
	return "unknown"
}

// String returns the bounds, shortened: "range [05C1DFFF.., FF)".
func (r Range) String() string {
	return fmt.Sprintf("range [%s, %s)", shortBound(r.Min), shortBound(r.Max))
}

func short(h uint64) string { return fmt.Sprintf("#%012x", h&(1<<48-1)) }

func shortBound(e EPK) string {
	s := e.String()
	switch {
	case s == "":
		return "00"
	case len(s) > shownDigits:
		return s[:shownDigits] + ".."
	}
	return s
}
