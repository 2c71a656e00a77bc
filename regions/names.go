package regions

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Normalize returns the form under which region names are compared: lower case, without white space, "-" and "_".
// "West US 3", "west-us_3" and " WestUs3 " are one region. Normalize of its own result changes nothing.
func Normalize(name string) string {
	return strings.Map(func(r rune) rune {
		if ignored(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// ignored reports whether comparing region names skips the rune.
func ignored(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) }

// sameName reports whether Normalize(name) == norm, without building it: it runs per request.
func sameName(norm, name string) bool {
	i := 0
	for _, r := range name {
		if ignored(r) {
			continue
		}
		want, size := utf8.DecodeRuneInString(norm[i:])
		if size == 0 || want != unicode.ToLower(r) {
			return false
		}
		i += size
	}
	return i == len(norm)
}

// Names is a list of region names, spelled as they were given, of which no two are equal under [Normalize].
// Build it with [NewNames], once; treat it as read-only. The zero value is the empty list.
type Names []string

// NewNames returns the given names without the blank ones and without repetitions of an earlier one. It is nil when
// nothing is left. The caller keeps its slice: what is returned is a copy.
func NewNames(names ...string) Names {
	var out Names
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		norm := Normalize(name)
		if norm == "" || seen[norm] {
			continue
		}
		seen[norm] = true
		out = append(out, strings.Clone(name))
	}
	return slices.Clip(out)
}

// Has reports whether the list has the name, compared as [Normalize] says. It does not allocate for lists of
// normalised names, and is meant for edges (options, tests), not for requests.
func (n Names) Has(name string) bool {
	norm := Normalize(name)
	return slices.ContainsFunc(n, func(have string) bool { return sameName(norm, have) })
}
