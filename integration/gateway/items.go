package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// decode reads a JSON object and keeps its numbers as they are.
func decode(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	if v == nil {
		return nil, errors.New("null")
	}
	return v, nil
}

// mutation is one write to one item, alone or in a batch.
type mutation struct {
	operation string
	id        string
	body      []byte
	ifMatch   string
}

// doItems serves the operations on items. s.mu is held.
func (s *Store) doItems(c *container, r *Request) *Answer {
	switch r.Operation {
	case "query":
		return s.query(c, r)
	case "changefeed":
		return s.changeFeed(c, r)
	case "readfeed":
		return s.readFeed(c, r)
	case "batch":
		return s.batch(c, r)
	case "read":
		return s.read(c, r, r.ID)
	case "create", "upsert", "replace", "patch", "delete":
		m := mutation{operation: r.Operation, id: r.ID, body: r.Body, ifMatch: r.Header.Get("If-Match")}
		a := s.mutate(c, r, m)
		if a.Status < 300 {
			s.executed(c, r, m.operation, a.id)
		}
		return trim(a.Answer, r)
	}
	return badRequest(r, "unsupported: %s", r.Operation)
}

// trim drops the body of a write's answer when the client does not want it.
func trim(a *Answer, r *Request) *Answer {
	if a.Status < 300 && r.Header.Get("Prefer") == "return=minimal" {
		a.Body = nil
	}
	return a
}

// executed notes a write that took effect. s.mu is held.
func (s *Store) executed(c *container, r *Request, operation, id string) {
	s.executions = append(s.executions, Execution{
		Seq: len(s.executions) + 1, Request: s.requests, Operation: operation, Database: c.database, Container: c.id,
		Key: r.Key, ID: id, Activity: r.Header.Get(headerActivity),
	})
}

// read serves one item, or 304 if the client has this version. s.mu is held.
func (s *Store) read(c *container, r *Request, id string) *Answer {
	it := c.items[itemKey{r.Key, id}].seenBy(r)
	switch {
	case it == nil:
		return notFound(r)
	case r.Header.Get("If-None-Match") == it.etag:
		return &Answer{Status: 304, Header: http.Header{"Etag": {it.etag}}}
	}
	return reply(200, it.body)
}

// written is the answer to a mutation with the id of the item.
type written struct {
	*Answer
	id string
}

// mutate carries out one write. s.mu is held.
func (s *Store) mutate(c *container, r *Request, m mutation) written {
	switch m.operation {
	case "patch":
		return written{s.patchItem(c, r, m), m.id}
	case "delete":
		return written{s.deleteItem(c, r, m), m.id}
	}
	body, key, bad := m.item(c, r)
	if bad != nil {
		return written{bad, m.id}
	}
	id := body["id"].(string)
	old := c.items[itemKey{key, id}]
	switch {
	case m.operation == "create" && old != nil:
		return written{conflict(r), id}
	case m.operation == "replace" && old == nil:
		return written{notFound(r), id}
	case old != nil && !m.allowed(old):
		return written{precondition(r), id}
	}
	status := 200
	if old == nil {
		status = 201
	}
	return written{reply(status, s.put(c, r, key, id, body, old).body), id}
}

// item reads the item that a mutation brings, and its key. Its id is a string that is not empty.
func (m *mutation) item(c *container, r *Request) (body map[string]any, key string, bad *Answer) {
	body, err := decode(m.body)
	if err != nil {
		return nil, "", badRequest(r, "the body is not a JSON object: %v", err)
	}
	id, _ := body["id"].(string)
	switch {
	case id == "":
		return nil, "", badRequest(r, "the input content is invalid because the required property id is missing")
	case m.operation == "replace" && id != m.id:
		return nil, "", badRequest(r, "the id of an item cannot be changed")
	}
	key = keyOf(c.definition, body)
	if r.Key != "" && key != r.Key {
		return nil, "", failure(400, 1001, "PartitionKey extracted from document doesn't match the one specified in the header",
			r.Header.Get(headerActivity))
	}
	return body, key, nil
}

// allowed checks the precondition on the current version.
func (m *mutation) allowed(old *item) bool {
	return m.ifMatch == "" || m.ifMatch == "*" || m.ifMatch == old.etag
}

// precondition is the answer to an etag that is not the current one.
func precondition(r *Request) *Answer {
	return failure(412, 0, "Operation cannot be performed because one of the specified precondition is not met.",
		r.Header.Get(headerActivity))
}

// put stores a version of an item.
func (s *Store) put(c *container, r *Request, key, id string, body map[string]any, old *item) *item {
	s.next++
	c.lsn++
	epk, _ := effective(c.definition, key)
	it := &item{
		itemKey: itemKey{key, id}, epk: epk, body: maps.Clone(body),
		etag: strconv.Quote("e-" + strconv.Itoa(s.next)), lsn: c.lsn, ts: time.Now().Unix(),
	}
	if old != nil {
		it.order, it.body["_rid"] = old.order, old.body["_rid"]
	} else {
		c.created++
		it.order, it.body["_rid"] = c.created, c.rid+strconv.FormatInt(c.created, 16)
	}
	it.body["_etag"], it.body["_ts"], it.body["_self"], it.body["_attachments"] = it.etag, it.ts, "", "attachments/"
	if r.Sees != nil {
		it.origin, it.at, it.before = r.Origin, time.Now(), old
	}
	s.replaced(it.itemKey, old)
	c.items[it.itemKey] = it
	return it
}

// replaced remembers the version before a write, for a batch that fails later.
func (s *Store) replaced(key itemKey, old *item) {
	if _, known := s.undo[key]; s.undo != nil && !known {
		s.undo[key] = old
	}
}

// deleteItem carries out a delete. s.mu is held.
func (s *Store) deleteItem(c *container, r *Request, m mutation) *Answer {
	old := c.items[itemKey{r.Key, m.id}]
	switch {
	case old == nil:
		return notFound(r)
	case !m.allowed(old):
		return precondition(r)
	}
	c.lsn++
	s.replaced(old.itemKey, old)
	delete(c.items, old.itemKey)
	return &Answer{Status: 204}
}

// patchItem carries out a partial update. s.mu is held.
func (s *Store) patchItem(c *container, r *Request, m mutation) *Answer {
	old := c.items[itemKey{r.Key, m.id}]
	switch {
	case old == nil:
		return notFound(r)
	case !m.allowed(old):
		return precondition(r)
	}
	body, err := patch(old.body, m.body)
	switch {
	case errors.Is(err, errCondition):
		return precondition(r)
	case err != nil:
		return badRequest(r, "%v", err)
	case keyOf(c.definition, body) != r.Key || body["id"] != m.id:
		return badRequest(r, "neither the id nor the partition key of an item can be changed")
	}
	return reply(200, s.put(c, r, r.Key, m.id, body, old).body)
}
