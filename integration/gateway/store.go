package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store is an [Upstream] in process: databases, containers and items in memory, one partition of everything. It knows nothing
// of regions. All methods are safe for concurrent use.
type Store struct {
	mu         sync.Mutex // guards all below and everything reachable
	databases  map[string]*database
	next       int // of resource ids and etags
	requests   int
	executions []Execution
	undo       map[itemKey]*item // what a batch has replaced so far, nil for nothing; nil outside of a batch
}

// database is one database.
type database struct {
	id, rid    string
	props      map[string]any
	containers map[string]*container
}

// container is one container with its items.
type container struct {
	id, rid    string
	database   string
	props      map[string]any
	definition Definition
	items      map[itemKey]*item
	lsn        int64 // of the last write
	created    int64 // number of items ever created: their order in queries
}

// itemKey is an item's identity: the same id may live under two keys.
type itemKey struct{ key, id string }

// item is one version of an item; it is replaced, never changed.
type item struct {
	itemKey
	epk   string
	body  map[string]any
	etag  string
	order int64
	lsn   int64
	ts    int64

	// With replication lag: where and when the version was written, and the one before it.
	origin string
	at     time.Time
	before *item
}

// Execution is one write that took effect.
type Execution struct {
	Seq                int
	Request            int    // the request that carried it: all writes of a batch have the same
	Operation          string // create, upsert, replace, patch, delete; with a prefix "batch/" inside a batch
	Database           string
	Container, Key, ID string // Key is the canonical partition key header
	Activity           string // x-ms-activity-id: azcosmos sends the same for all attempts of an operation
}

// NewStore makes an empty store.
func NewStore() *Store { return &Store{databases: map[string]*database{}} }

// CreateContainer makes a container, and its database if need be, without a request: a short way for tests. The definition is
// version 2; two or more paths make it hierarchical. It does nothing if the container exists.
func (s *Store) CreateContainer(db, id string, paths ...string) {
	d := Definition{Paths: paths, Kind: "Hash", Version: 2}
	if len(paths) > 1 {
		d.Kind = "MultiHash"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.databases[db] == nil {
		s.addDatabase(db, map[string]any{"id": db})
	}
	if s.databases[db].containers[id] == nil {
		s.addContainer(s.databases[db], id, d, map[string]any{"id": id, "partitionKey": d})
	}
}

// Executions are the writes to items that took effect, in order; an empty container or id means any. A write that was refused
// (404, 409, 412) or rolled back with its batch is not among them.
func (s *Store) Executions(container, id string) []Execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.executions), func(e Execution) bool {
		return container != "" && e.Container != container || id != "" && e.ID != id
	})
}

// Repeated are the writes that took effect although a write of the same operation, item and activity id had before: what a
// client carried out twice. Within one batch an item may be written more than once; that is no repetition. Writes without an
// activity id are not looked at.
func (s *Store) Repeated() []Execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	type write struct{ operation, database, container, key, id, activity string }
	seen := map[write]Execution{}
	var list []Execution
	for _, e := range s.executions {
		if e.Activity == "" {
			continue
		}
		w := write{e.Operation, e.Database, e.Container, e.Key, e.ID, e.Activity}
		if first, ok := seen[w]; ok && first.Request != e.Request {
			list = append(list, e)
		} else if !ok {
			seen[w] = e
		}
	}
	return list
}

// Lookup implements [Upstream].
func (s *Store) Lookup(_ context.Context, db, id string) (Container, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.databases)) { // in order: without a database the answer must not be chance
		d := s.databases[name]
		if c := d.containers[id]; c != nil && (db == "" || d.id == db) {
			return Container{Database: d.id, ID: c.id, RID: c.rid, Definition: c.definition}, true
		}
	}
	return Container{}, false
}

// Do implements [Upstream]. It never fails and does not look at the context.
func (s *Store) Do(_ context.Context, r *Request) (*Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	kind, verb, found := strings.Cut(r.Operation, "/")
	switch {
	case r.Operation == "account":
		return &Answer{Status: 200, Body: []byte(`{"_self":"","_rid":"","media":"//media/","addresses":"//addresses/","_dbs":"//dbs/"}`)}, nil
	case r.Operation == "offer":
		return &Answer{Status: 200, Body: []byte(`{"_rid":"","Offers":[],"_count":0}`)}, nil
	case found && kind == "database":
		return s.doDatabase(r, verb), nil
	}
	d := s.databases[r.Database]
	if d == nil {
		return notFound(r), nil
	}
	if found && kind == "container" {
		return s.doContainer(d, r, verb), nil
	}
	c := d.containers[r.Container]
	if c == nil {
		return notFound(r), nil
	}
	return s.doItems(c, r), nil
}

// notFound is the answer for a resource that does not exist.
func notFound(r *Request) *Answer {
	return failure(404, 0, "Entity with the specified id does not exist in the system.", r.Header.Get(headerActivity))
}

// badRequest is the answer for what the store does not understand or accept.
func badRequest(r *Request, format string, args ...any) *Answer {
	return failure(400, 0, fmt.Sprintf(format, args...), r.Header.Get(headerActivity))
}

// conflict is the answer to a second creation.
func conflict(r *Request) *Answer {
	return failure(409, 0, "Entity with the specified id already exists in the system.", r.Header.Get(headerActivity))
}
