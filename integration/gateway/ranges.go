package gateway

import (
	"context"
	"slices"
	"strconv"
)

// table is the partition key ranges of one container. Ranges that were split stay, so that their ids are known to be gone.
type table struct {
	container Container
	ranges    []*keyRange
	next      int // id of the next range
	version   int // of the table: the etag
}

// keyRange is one partition key range, [low, high) in units of 1/2^32 of the key space.
type keyRange struct {
	id        string
	low, high uint64
	span      Span
	parents   []string // all ancestors, as the service lists them
	version   int      // the table's version that brought it
	split     bool
	lsn       int64
	writes    []replicated // since there is replication lag; see replicas
}

// place names a range for [Gateway.MoveRange]; empty fields mean all.
type place struct{ container, rng string }

// electing stands for a region while a range has no write region. No region has this name.
const electing = "\x00electing"

// newTable makes the ranges of a new container. Tokens start at 1, so that 0 is older than everything.
func newTable(c Container, n int) *table {
	t := &table{container: c}
	for i := range uint64(n) {
		t.add(i<<32/uint64(n), (i+1)<<32/uint64(n), nil)
	}
	t.version = 1
	for _, r := range t.ranges {
		r.version, r.lsn = 1, 1
	}
	return t
}

// add makes one more range.
func (t *table) add(low, high uint64, parents []string) *keyRange {
	d := t.container.Definition
	r := &keyRange{id: strconv.Itoa(t.next), low: low, high: high, span: Span{bound(d, low), bound(d, high)}, parents: parents}
	t.next++
	t.ranges = append(t.ranges, r)
	return r
}

// byID finds a range that is not gone.
func (t *table) byID(id string) *keyRange {
	i := slices.IndexFunc(t.ranges, func(r *keyRange) bool { return r.id == id && !r.split })
	if i < 0 {
		return nil
	}
	return t.ranges[i]
}

// byKey finds the range of a key in canonical JSON; nil for a prefix of a hierarchical key that reaches over several ranges.
func (t *table) byKey(key string) *keyRange {
	low, high := effective(t.container.Definition, key)
	for _, r := range t.ranges {
		if !r.split && r.span.Contains(low) {
			if high != "" && r.span.Max != maxEPK && compareEPK(high, r.span.Max) > 0 {
				return nil
			}
			return r
		}
	}
	return nil
}

// table finds the ranges of a container, and makes them when the container is new. g.mu is not held: the upstream is asked.
func (g *Gateway) table(ctx context.Context, database, container string) *table {
	if container == "" {
		return nil
	}
	info, ok := g.upstream.Lookup(ctx, database, container)
	if !ok {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tables[info.RID]
	if t == nil {
		t = newTable(info, g.ranges)
		g.tables[info.RID] = t
	}
	return t
}

// locate finds the range of a request and what its query or feed is about.
func (g *Gateway) locate(ctx context.Context, c *call) *table {
	if c.Database == "" || c.Container == "" || c.Operation == "container/create" {
		return nil
	}
	t := g.table(ctx, c.Database, c.Container)
	if t == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.rid, c.Definition = t.container.RID, t.container.Definition
	if !isData(c.Operation) {
		return t
	}
	var r *keyRange
	switch {
	case c.rangeH != "":
		r = t.byID(c.rangeH)
		c.gone = r == nil
		if r != nil {
			c.Span = r.span
		}
	case c.Key != "":
		r = t.byKey(c.Key)
	case c.Write:
		r = t.byKey("[{}]") // azcosmos sends no header for an empty key, which is undefined
	}
	if r != nil {
		c.rng = r.id
	}
	return t
}

// RangeOf is the id of the range that a partition key header belongs to, "" if the container is unknown or the key covers
// several ranges.
func (g *Gateway) RangeOf(container, partitionKeyHeader string) string {
	t := g.table(context.Background(), "", container)
	if t == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := t.byKey(canonical(partitionKeyHeader)); r != nil {
		return r.id
	}
	return ""
}

// Ranges are the ids of a container's ranges in the order of their effective partition keys; nil if the container is unknown.
func (g *Gateway) Ranges(container string) []string {
	t := g.table(context.Background(), "", container)
	if t == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var ids []string
	for _, r := range t.current() {
		ids = append(ids, r.id)
	}
	return ids
}

// current are the ranges that are not gone, in order.
func (t *table) current() []*keyRange {
	list := slices.DeleteFunc(slices.Clone(t.ranges), func(r *keyRange) bool { return r.split })
	slices.SortFunc(list, func(a, b *keyRange) int { return compareEPK(a.span.Min, b.span.Min) })
	return list
}

// Split splits a range in the middle and returns the ids of its two children, or "" twice if there is no such range. The old
// id is gone (410/1002), the children name it as a parent, and the etag of the feed changes. The children inherit the write
// region of the range.
func (g *Gateway) Split(container, rangeID string) (left, right string) {
	t := g.table(context.Background(), "", container)
	if t == nil {
		return "", ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := t.byID(rangeID)
	if r == nil {
		return "", ""
	}
	r.split = true
	t.version++
	parents := append(slices.Clone(r.parents), r.id)
	middle := (r.low + r.high) / 2
	children := []*keyRange{t.add(r.low, middle, parents), t.add(middle, r.high, parents)}
	for _, child := range children {
		child.version, child.lsn, child.writes = t.version, r.lsn, slices.Clip(r.writes)
		for _, name := range []string{container, ""} {
			if region, ok := g.moved[place{name, r.id}]; ok {
				g.moved[place{name, child.id}] = region
			}
		}
	}
	return children[0].id, children[1].id
}

// MoveRange moves the write region of one range, as the service does in a per-partition failover; region "" gives it back to
// the account. It ends an election of the range. An empty container means all containers, an empty range all ranges; what
// names a container, and then what names a range, goes before the general. Multi-write accounts take no notice.
func (g *Gateway) MoveRange(container, rangeID, region string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if region == "" {
		delete(g.moved, place{container, rangeID})
		return
	}
	if i := index(g.regions, region); i >= 0 {
		region = g.regions[i]
	}
	g.moved[place{container, rangeID}] = region
}

// Elect takes the write region of a range away: every region refuses its writes with 403/3 until the next [Gateway.MoveRange]
// with the same container and range. Multi-write accounts take no notice.
func (g *Gateway) Elect(container, rangeID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moved[place{container, rangeID}] = electing
}

// writeRegion is where the range of a document request is written on a single-write account. g.mu is held.
func (g *Gateway) writeRegion(c *call) string {
	for _, p := range []place{{c.Container, c.rng}, {c.Container, ""}, {"", c.rng}, {"", ""}} {
		if region, ok := g.moved[p]; ok {
			return region
		}
	}
	return g.hub
}
