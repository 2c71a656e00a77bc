package emulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// readRanges returns how many partition key ranges the container has, and whether their ids are strings. It keeps the ids for
// the change feed, which is read range by range.
func (p *prober) readRanges() (n int, areStrings bool) {
	a := p.ask(http.MethodGet, p.container+"/pkranges", nil, nil)
	var feed struct {
		PartitionKeyRanges []struct{ ID json.RawMessage }
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &feed) != nil {
		return 0, false
	}
	areStrings = len(feed.PartitionKeyRanges) > 0
	for _, r := range feed.PartitionKeyRanges {
		areStrings = areStrings && strings.HasPrefix(string(r.ID), `"`)
		p.ranges = append(p.ranges, strings.Trim(string(r.ID), `"`))
	}
	return len(p.ranges), areStrings
}

// missingItem asks for an item that is not there.
func (p *prober) missingItem() bool {
	return p.ask(http.MethodGet, p.container+"/docs/missing", keyed("a", nil), nil).status == http.StatusNotFound
}

// partitionQuery asks for all items of one key of two.
func (p *prober) partitionQuery() bool {
	header := keyed("a", map[string]string{
		"Content-Type":   "application/query+json",
		headerQuery:      "True",
		headerCrossQuery: "true",
	})
	query := map[string]any{"query": "SELECT * FROM c", "parameters": []any{}}
	a := p.ask(http.MethodPost, p.container+"/docs", header, query)
	return a.status == http.StatusOK && slices.Equal(itemIDs(a), []string{"1"})
}

// changeFeed reads what there is, writes an item, and reads on.
func (p *prober) changeFeed() bool {
	seen := map[string]string{}
	before := p.readChanges(seen)
	p.put("3", "a")
	after := p.readChanges(seen)
	return slices.Equal(before, []string{"1", "2"}) && slices.Equal(after, []string{"3"})
}

// readChanges returns the ids of the items that changed in any range since the continuation in seen, sorted, and moves seen on.
func (p *prober) readChanges(seen map[string]string) []string {
	var ids []string
	for _, id := range p.ranges {
		header := map[string]string{"A-IM": "Incremental Feed", headerRangeID: id}
		if seen[id] != "" {
			header["If-None-Match"] = seen[id]
		}
		a := p.ask(http.MethodGet, p.container+"/docs", header, nil)
		ids = append(ids, itemIDs(a)...)
		seen[id] = a.header.Get("Etag")
	}
	slices.Sort(ids)
	return ids
}

// batch writes, reads and deletes an item in one transactional batch. Creating alone proves little: an emulator that looks for
// the partition key in each operation finds it in an item, and nowhere else.
func (p *prober) batch() bool {
	header := keyed("a", map[string]string{headerBatch: "True", headerBatchAtomic: "True", headerBatchOrdered: "True"})
	item := map[string]string{"id": "4", "pk": "a"}
	a := p.ask(http.MethodPost, p.container+"/docs", header, []any{
		map[string]any{"operationType": "Create", "resourceBody": item},
		map[string]any{"operationType": "Read", "id": "4"},
		map[string]any{"operationType": "Replace", "id": "4", "resourceBody": item},
		map[string]any{"operationType": "Delete", "id": "4"},
	})
	var results []struct{ StatusCode int }
	if a.status != http.StatusOK || json.Unmarshal(a.body, &results) != nil {
		return false
	}
	want := []int{http.StatusCreated, http.StatusOK, http.StatusOK, http.StatusNoContent}
	return slices.EqualFunc(results, want, func(r struct{ StatusCode int }, status int) bool { return r.StatusCode == status })
}

// checksKey reads an item that is there, with a key that is not the account's.
func (p *prober) checksKey() bool {
	own := p.wire
	defer func() { p.wire = own }()
	p.wire.key = wrongKey()
	return p.ask(http.MethodGet, p.container+"/docs/1", keyed("a", nil), nil).status == http.StatusUnauthorized
}

// itemIDs returns the sorted ids of a page of items; none if it is not one.
func itemIDs(a answer) []string {
	var page struct{ Documents []struct{ ID string } }
	if a.status != http.StatusOK || json.Unmarshal(a.body, &page) != nil {
		return nil
	}
	ids := make([]string, 0, len(page.Documents))
	for _, d := range page.Documents {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	return ids
}
