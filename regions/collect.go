package regions

import "fmt"

// located is a usable region of an account answer.
type located struct {
	name string // as the service spells it
	norm string
	endpoint
}

// collected is an account answer after cleaning.
type collected struct {
	order              []located // every region once, the primary first, then the readable ones, at most MaxRegions
	readable, writable []string  // normalised names in the service's order, each in order
	dropped            []string
}

// collect cleans an account answer. A region that occurs twice is taken once, with the first usable endpoint, readable
// ones before writable ones, so that one bad URL does not cost a region that has a good one in the other list.
func collect(a Account) collected {
	var c collected
	usable := make(map[string]located)
	c.scan(usable, "readableLocations", a.Readable)
	c.scan(usable, "writableLocations", a.Writable)
	c.reportUnusable(usable, "readableLocations", a.Readable)
	c.reportUnusable(usable, "writableLocations", a.Writable)

	readable, writable := inOrder(usable, a.Readable), inOrder(usable, a.Writable)
	taken := make(map[string]bool) // false: seen, but there was no room
	take := func(norms []string) {
		for _, norm := range norms {
			if _, seen := taken[norm]; seen {
				continue
			}
			taken[norm] = len(c.order) < MaxRegions
			if taken[norm] {
				c.order = append(c.order, usable[norm])
			} else {
				c.drop("%q: more than %d regions", head(usable[norm].name), MaxRegions)
			}
		}
	}
	take(writable[:min(1, len(writable))]) // the primary is never the one that finds no room
	take(readable)
	take(writable)
	c.readable, c.writable = only(taken, readable), only(taken, writable)
	return c
}

// scan notes the first usable endpoint of each region.
func (c *collected) scan(usable map[string]located, field string, list []Region) {
	for i, r := range list {
		norm := Normalize(r.Name)
		if norm == "" {
			c.drop("%s[%d]: no name", field, i)
			continue
		}
		if _, known := usable[norm]; known {
			continue
		}
		if e, ok := parseEndpoint(r.Endpoint); ok {
			usable[norm] = located{name: r.Name, norm: norm, endpoint: e}
		}
	}
}

// reportUnusable tells the regions that have no usable endpoint in either list.
func (c *collected) reportUnusable(usable map[string]located, field string, list []Region) {
	for i, r := range list {
		norm := Normalize(r.Name)
		if _, ok := usable[norm]; !ok && norm != "" {
			c.drop("%s[%d] %q: endpoint %q is unusable", field, i, head(r.Name), head(r.Endpoint))
		}
	}
}

// drop notes one thing that was left out.
func (c *collected) drop(format string, args ...any) {
	c.dropped = append(c.dropped, fmt.Sprintf(format, args...))
}

// inOrder returns the usable regions of a list, each once, by normalised name.
func inOrder(usable map[string]located, list []Region) []string {
	var out []string
	seen := make(map[string]bool)
	for _, r := range list {
		norm := Normalize(r.Name)
		if _, ok := usable[norm]; ok && !seen[norm] {
			seen[norm] = true
			out = append(out, norm)
		}
	}
	return out
}

// only returns the names that are in the set.
func only(set map[string]bool, norms []string) []string {
	var out []string
	for _, norm := range norms {
		if set[norm] {
			out = append(out, norm)
		}
	}
	return out
}
