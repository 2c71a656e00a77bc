package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// inScope tells whether a query or feed is about an item: by key, by prefix of a hierarchical key, or by range.
func (r *Request) inScope(it *item) bool {
	if r.Key != "" && !hasPrefix(it.key, r.Key) {
		return false
	}
	return r.Span == Span{} || r.Span.Contains(it.epk)
}

// scope are the items a request is about, in the order of their creation. s.mu is held.
func (s *Store) scope(c *container, r *Request) []*item {
	list := make([]*item, 0, len(c.items))
	for _, it := range c.items {
		if it = it.seenBy(r); it != nil && r.inScope(it) {
			list = append(list, it)
		}
	}
	slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.order, b.order) })
	return list
}

// query serves a query on items.
func (s *Store) query(c *container, r *Request) *Answer {
	q, bad := queryOf(r)
	if bad != nil {
		return bad
	}
	var hits []any
	for _, it := range s.scope(c, r) {
		if q.matches(it.body) {
			hits = append(hits, it.body)
		}
	}
	return page(r, "Documents", c.rid, q.project(hits))
}

// queryOf reads and parses the query in a request's body.
func queryOf(r *Request) (*query, *Answer) {
	var body struct {
		Query      string `json:"query"`
		Parameters []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, badRequest(r, "the query is not JSON: %v", err)
	}
	parameters := map[string]any{}
	for _, p := range body.Parameters {
		parameters[p.Name] = p.Value
	}
	q, err := parseQuery(body.Query, parameters)
	if err != nil {
		return nil, badRequest(r, "Syntax error: %v", err)
	}
	return q, nil
}

// readFeed lists items.
func (s *Store) readFeed(c *container, r *Request) *Answer {
	list := []any{}
	for _, it := range s.scope(c, r) {
		list = append(list, it.body)
	}
	return page(r, "Documents", c.rid, list)
}

// resources serves a query on, or a list of, databases or containers. s.mu is held.
func (s *Store) resources(r *Request, name, rid string, all []map[string]any) *Answer {
	q := &query{star: true}
	if len(r.Body) > 0 {
		var bad *Answer
		if q, bad = queryOf(r); bad != nil {
			return bad
		}
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return cmp.Compare(fmt.Sprint(a["id"]), fmt.Sprint(b["id"])) })
	var hits []any
	for _, props := range all {
		if q.matches(props) {
			hits = append(hits, props)
		}
	}
	return page(r, name, rid, q.project(hits))
}

// page cuts a result into pages of the size the client asked for. The continuation is a position in the result: writes between
// two pages can move it.
func page(r *Request, name, rid string, all []any) *Answer {
	from, size := 0, 100
	if token := r.Header.Get(headerMore); token != "" {
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 {
			return badRequest(r, "bad continuation token %q", token)
		}
		from = min(n, len(all))
	}
	if n, err := strconv.Atoi(r.Header.Get(headerMaxItems)); err == nil {
		size = n
		if n <= 0 {
			size = 1000
		}
	}
	to := min(from+size, len(all))
	list := all[from:to]
	if list == nil {
		list = []any{}
	}
	a := &Answer{Status: 200, Body: encode(map[string]any{"_rid": rid, name: list, "_count": len(list)})}
	a.set("x-ms-item-count", strconv.Itoa(len(list)))
	if to < len(all) {
		a.set(headerMore, strconv.Itoa(to))
	}
	return a
}

// changeFeed serves the latest version of every item that was written after the etag, oldest first; 304 when there is none.
// Deletes leave no trace, as in the service's incremental feed.
func (s *Store) changeFeed(c *container, r *Request) *Answer {
	isNew := newSince(c, r)
	var list []*item
	for _, it := range c.items {
		if it = it.seenBy(r); it != nil && isNew(it) && r.inScope(it) {
			list = append(list, it)
		}
	}
	slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.lsn, b.lsn) })
	last := c.lsn // everything up to here is on this page or out of scope
	if n, err := strconv.Atoi(r.Header.Get(headerMaxItems)); err == nil && n > 0 && n < len(list) {
		list = list[:n]
		last = list[n-1].lsn
	}
	a := &Answer{Status: 304}
	if len(list) > 0 {
		docs := make([]any, len(list))
		for i, it := range list {
			body := maps.Clone(it.body)
			body["_lsn"] = it.lsn
			docs[i] = body
		}
		a = &Answer{Status: 200, Body: encode(map[string]any{"_rid": c.rid, "Documents": docs, "_count": len(docs)})}
	}
	a.set("etag", strconv.Quote(strconv.FormatInt(last, 10)))
	a.set("x-ms-item-count", strconv.Itoa(len(list)))
	return a
}

// newSince tells what is new to the client: written after its etag; from now on for "*"; without an etag after If-Modified-Since,
// or everything.
func newSince(c *container, r *Request) func(*item) bool {
	etag := r.Header.Get("If-None-Match")
	if etag == "" {
		start, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
		return func(it *item) bool { return err != nil || !time.Unix(it.ts, 0).Before(start) }
	}
	since := c.lsn
	if text, err := strconv.Unquote(etag); err == nil {
		since, _ = strconv.ParseInt(text, 10, 64)
	}
	return func(it *item) bool { return it.lsn > since }
}
