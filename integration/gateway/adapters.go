package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// adapt makes of a request what the emulator understands.
func (u *HTTPUpstream) adapt(r *Request) (http.Header, []byte) {
	h, body := withoutHidden(r.Header), r.Body
	if u.adapters.RangeID != "" && r.Header.Get(headerRange) != "" {
		h.Set(headerRange, u.adapters.RangeID)
	}
	if r.Operation == "read" && u.adapters.CrossPartitionReads {
		h.Set("x-ms-documentdb-query-enablecrosspartition", "True")
	}
	if r.Operation == "batch" && u.adapters.BatchKeys {
		body = withKeys(body, r.Key)
	}
	return h, body
}

// withKeys writes the partition key into every operation of a batch; what is no batch stays as it is.
func withKeys(body []byte, key string) []byte {
	var steps []map[string]json.RawMessage
	if json.Unmarshal(body, &steps) != nil {
		return body
	}
	for _, step := range steps {
		if step != nil {
			step["partitionKey"] = encode(key)
		}
	}
	return encode(steps)
}

// markFailedBatch answers 207 for a batch with a failed operation, as the service does.
func (u *HTTPUpstream) markFailedBatch(a *Answer) {
	var results []struct {
		StatusCode int `json:"statusCode"`
	}
	if !u.adapters.BatchKeys || a.Status != http.StatusOK || json.Unmarshal(a.Body, &results) != nil {
		return
	}
	for _, r := range results {
		if r.StatusCode >= 400 {
			a.Status = http.StatusMultiStatus
		}
	}
}

// filter takes from a page what the request is not about. Only whole items have a key: values and projections stay. It
// reports whether it has emptied the page.
func (u *HTTPUpstream) filter(r *Request, a *Answer) (emptied bool) {
	byKey := r.Key != "" && (u.adapters.FilterKeys || r.Operation != "query")
	if a.Status != http.StatusOK || !byKey && r.Span == (Span{}) {
		return false
	}
	var page map[string]json.RawMessage
	var all []json.RawMessage
	if json.Unmarshal(a.Body, &page) != nil || json.Unmarshal(page["Documents"], &all) != nil {
		return false
	}
	scope := Request{Span: r.Span}
	if byKey {
		scope.Key = r.Key
	}
	kept := []json.RawMessage{}
	for _, raw := range all {
		if scope.about(raw, r.Definition) {
			kept = append(kept, bytes.TrimSpace(raw))
		}
	}
	page["Documents"], page["_count"] = encode(kept), encode(len(kept))
	a.Body = encode(page)
	a.set("x-ms-item-count", strconv.Itoa(len(kept)))
	return len(kept) == 0 && len(all) > 0
}

// about tells whether an element of a page is in the request's scope.
func (r *Request) about(raw []byte, d Definition) bool {
	body, err := decode(raw)
	if err != nil || body["_rid"] == nil {
		return true
	}
	key := keyOf(d, body)
	epk, _ := effective(d, key)
	return r.inScope(&item{itemKey: itemKey{key: key}, epk: epk})
}
