package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rid makes a new resource id. s.mu is held.
func (s *Store) rid(prefix string) string {
	s.next++
	return fmt.Sprintf("%s%04X==", prefix, s.next)
}

// doDatabase serves the operations on databases. s.mu is held.
func (s *Store) doDatabase(r *Request, verb string) *Answer {
	switch verb {
	case "query", "readfeed":
		list := make([]map[string]any, 0, len(s.databases))
		for _, d := range s.databases {
			list = append(list, d.props)
		}
		return s.resources(r, "Databases", "", list)
	case "create":
		props, id, bad := resource(r)
		switch {
		case bad != nil:
			return bad
		case s.databases[id] != nil:
			return conflict(r)
		}
		return reply(201, s.addDatabase(id, props).props)
	}
	d := s.databases[r.Database]
	if d == nil {
		return notFound(r)
	}
	switch verb {
	case "read":
		return reply(200, d.props)
	case "delete":
		delete(s.databases, d.id)
		return &Answer{Status: 204}
	}
	return badRequest(r, "unsupported: %s", r.Operation)
}

// doContainer serves the operations on containers. s.mu is held.
func (s *Store) doContainer(d *database, r *Request, verb string) *Answer {
	switch verb {
	case "query", "readfeed":
		list := make([]map[string]any, 0, len(d.containers))
		for _, c := range d.containers {
			list = append(list, c.props)
		}
		return s.resources(r, "DocumentCollections", d.rid, list)
	case "create":
		return s.createContainer(d, r)
	}
	c := d.containers[r.Container]
	if c == nil {
		return notFound(r)
	}
	switch verb {
	case "read":
		return reply(200, c.props)
	case "replace":
		props, _, bad := resource(r)
		if bad != nil {
			return bad
		}
		if def, ok := definitionOf(r.Body); !ok || !slices.Equal(def.Paths, c.definition.Paths) {
			return badRequest(r, "the partition key of a container cannot be changed")
		}
		c.props = s.stamp(props, c.rid)
		return reply(200, c.props)
	case "delete":
		delete(d.containers, c.id)
		return &Answer{Status: 204}
	}
	return badRequest(r, "unsupported: %s", r.Operation)
}

// createContainer serves the creation of a container by a request. s.mu is held.
func (s *Store) createContainer(d *database, r *Request) *Answer {
	props, id, bad := resource(r)
	if bad != nil {
		return bad
	}
	def, ok := definitionOf(r.Body)
	switch {
	case !ok:
		return badRequest(r, "the partition key of a container must have a path")
	case d.containers[id] != nil:
		return conflict(r)
	}
	return reply(201, s.addContainer(d, id, def, props).props)
}

// definitionOf reads the partition key definition of a container's JSON.
func definitionOf(body []byte) (Definition, bool) {
	var c struct {
		PartitionKey Definition `json:"partitionKey"`
	}
	err := json.Unmarshal(body, &c)
	return c.PartitionKey, err == nil && len(c.PartitionKey.Paths) > 0
}

// addDatabase makes a database. s.mu is held.
func (s *Store) addDatabase(id string, props map[string]any) *database {
	d := &database{id: id, rid: s.rid("d"), containers: map[string]*container{}}
	d.props = s.stamp(props, d.rid)
	s.databases[id] = d
	return d
}

// addContainer makes a container. s.mu is held.
func (s *Store) addContainer(d *database, id string, def Definition, props map[string]any) *container {
	c := &container{id: id, rid: s.rid(strings.TrimSuffix(d.rid, "==")), database: d.id, definition: def, items: map[itemKey]*item{}}
	c.props = s.stamp(props, c.rid)
	d.containers[id] = c
	return c
}

// stamp adds the system properties to a metadata resource.
func (s *Store) stamp(props map[string]any, rid string) map[string]any {
	s.next++
	props["_rid"], props["_self"], props["_ts"] = rid, "", time.Now().Unix()
	props["_etag"] = strconv.Quote(fmt.Sprintf("m-%d", s.next))
	return props
}

// resource reads the body of a create or replace.
func resource(r *Request) (props map[string]any, id string, bad *Answer) {
	props, err := decode(r.Body)
	if err != nil {
		return nil, "", badRequest(r, "the body is not a JSON object: %v", err)
	}
	id, _ = props["id"].(string)
	if id == "" {
		return nil, "", badRequest(r, "the input content is invalid because the required property id is missing")
	}
	return props, id, nil
}

// reply is a resource as an answer.
func reply(status int, props map[string]any) *Answer {
	a := &Answer{Status: status, Body: encode(props), Header: http.Header{}}
	if etag, ok := props["_etag"].(string); ok {
		a.set("etag", etag)
	}
	return a
}
