package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// service answers the questions as the service does, unless it is told to answer one otherwise.
type service struct {
	regions     int            // readable regions; 0: 1
	numberedIDs bool           // range ids are numbers
	missing     int            // status of a missing item; 0: 404
	allKeys     bool           // a query with a partition key returns every item
	batchStatus int            // status of a batch; 0: 200
	batch       string         // the answer to a batch; empty: all carried out
	allChanges  bool           // the change feed always starts at the beginning
	anyKey      bool           // signatures are not checked
	refuse      map[string]int // "METHOD kind" -> status of the first request of that sort
	account     string         // the account answer; empty: a good one

	mu      sync.Mutex
	items   []map[string]string // guarded by mu, in the order of their changes
	dropped bool                // guarded by mu: the database was deleted
	seen    map[string]int      // guarded by mu: requests by "METHOD kind"
}

// serve starts the service on loopback and returns the way to it.
func (s *service) serve(t *testing.T) wire {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return wire{endpoint: server.URL, key: WellKnownKey, client: server.Client()}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Trim(r.URL.Path, "/")
	kind, _ := resource(path)
	if !s.anyKey && r.Header.Get("Authorization") != sign(WellKnownKey, r.Method, path, r.Header.Get("X-Ms-Date")) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	sort := strings.TrimSpace(r.Method + " " + kind)
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[sort]++
	if status := s.refuse[sort]; status != 0 && s.seen[sort] == 1 {
		w.Header().Set("x-ms-retry-after-ms", "1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "refused")
		return
	}
	switch sort {
	case "GET":
		s.readAccount(w)
	case "DELETE dbs":
		s.dropped = true
		w.WriteHeader(http.StatusNoContent)
	case "POST dbs", "POST colls":
		w.WriteHeader(http.StatusCreated)
	case "GET pkranges":
		id := `"0"`
		if s.numberedIDs {
			id = "0"
		}
		fmt.Fprintf(w, `{"PartitionKeyRanges":[{"id":%s,"minInclusive":"","maxExclusive":"FF"}]}`, id)
	case "GET docs":
		s.get(w, r, path)
	case "POST docs":
		s.post(w, r)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (s *service) readAccount(w io.Writer) {
	if s.account != "" {
		_, _ = io.WriteString(w, s.account)
		return
	}
	locations := make([]map[string]string, max(1, s.regions))
	_ = json.NewEncoder(w).Encode(map[string]any{"readableLocations": locations})
}

// get answers a point read or a page of the change feed, whose continuation is the number of changes seen.
func (s *service) get(w http.ResponseWriter, r *http.Request, path string) {
	if !strings.HasSuffix(path, "/docs") {
		for _, item := range s.items {
			if strings.HasSuffix(path, "/docs/"+item["id"]) {
				_ = json.NewEncoder(w).Encode(item)
				return
			}
		}
		w.WriteHeader(max(s.missing, http.StatusNotFound))
		return
	}
	from, _ := strconv.Atoi(r.Header.Get("If-None-Match"))
	if s.allChanges {
		from = 0
	}
	w.Header().Set("Etag", strconv.Itoa(len(s.items)))
	if from == len(s.items) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"Documents": s.items[from:]})
}

// post answers a query, a batch or a create.
func (s *service) post(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("x-ms-documentdb-query") != "":
		found := []map[string]string{}
		for _, item := range s.items {
			if s.allKeys || `["`+item["pk"]+`"]` == r.Header.Get("x-ms-documentdb-partitionkey") {
				found = append(found, item)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Documents": found})
	case r.Header.Get("x-ms-cosmos-is-batch-request") != "":
		w.WriteHeader(max(s.batchStatus, http.StatusOK))
		_, _ = io.WriteString(w, cmp.Or(s.batch, `[{"statusCode":201},{"statusCode":200},{"statusCode":200},{"statusCode":204}]`))
	default:
		var item map[string]string
		_ = json.NewDecoder(r.Body).Decode(&item)
		s.items = append(s.items, item)
		w.WriteHeader(http.StatusCreated)
	}
}
