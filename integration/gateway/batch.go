package gateway

import (
	"encoding/json"
	"strconv"
	"strings"
)

// batchStep is one operation of a transactional batch.
type batchStep struct {
	OperationType string          `json:"operationType"`
	ID            string          `json:"id"`
	ResourceBody  json.RawMessage `json:"resourceBody"`
	IfMatch       string          `json:"ifMatch"`
}

// batch carries out all operations or none: 200 with all results, or 207 with the failure and 424 for the others. s.mu is held.
func (s *Store) batch(c *container, r *Request) *Answer {
	var steps []batchStep
	if err := json.Unmarshal(r.Body, &steps); err != nil {
		return badRequest(r, "the batch is not JSON: %v", err)
	}
	if r.Key == "" || len(steps) == 0 || len(steps) > 100 {
		return badRequest(r, "a batch needs a partition key and 1 to 100 operations")
	}
	s.undo = map[itemKey]*item{}
	defer func() { s.undo = nil }()
	lsn, created, done := c.lsn, c.created, len(s.executions)
	results := make([]map[string]any, len(steps))
	for i, step := range steps {
		a := s.step(c, r, step)
		results[i] = result(a)
		if a.Status < 400 {
			continue
		}
		s.rollBack(c)
		c.lsn, c.created, s.executions = lsn, created, s.executions[:done]
		for j := range results {
			if j != i {
				results[j] = map[string]any{"statusCode": 424, "requestCharge": 0}
			}
		}
		return &Answer{Status: 207, Body: encode(results)}
	}
	return &Answer{Status: 200, Body: encode(results)}
}

// rollBack puts back what a batch has replaced. s.mu is held.
func (s *Store) rollBack(c *container) {
	for key, old := range s.undo {
		if old == nil {
			delete(c.items, key)
		} else {
			c.items[key] = old
		}
	}
}

// step carries out one operation of a batch. s.mu is held.
func (s *Store) step(c *container, r *Request, step batchStep) *Answer {
	operation := strings.ToLower(step.OperationType)
	switch operation {
	case "read":
		return s.read(c, r, step.ID)
	case "create", "upsert", "replace", "patch", "delete":
		w := s.mutate(c, r, mutation{operation: operation, id: step.ID, body: step.ResourceBody, ifMatch: step.IfMatch})
		if w.Status < 300 {
			s.executed(c, r, "batch/"+operation, w.id)
			return trim(w.Answer, r)
		}
		return w.Answer
	}
	return badRequest(r, "unknown operation in a batch: %s", strconv.Quote(step.OperationType))
}

// result is the outcome of one operation in a batch's answer.
func result(a *Answer) map[string]any {
	m := map[string]any{"statusCode": a.Status, "requestCharge": 1}
	if etag := a.Header.Get("etag"); etag != "" {
		m["eTag"] = etag
	}
	if len(a.Body) > 0 && a.Status < 400 {
		m["resourceBody"] = json.RawMessage(a.Body)
	}
	return m
}
