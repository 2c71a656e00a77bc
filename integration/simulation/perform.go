package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// itemsPerKey is how many items a partition key has.
const itemsPerKey = 3

func keyName(k int) string   { return "k" + itoa(k) }
func keyHeader(k int) string { return `["` + keyName(k) + `"]` }

func document(k, i, n int) []byte {
	return fmt.Appendf(nil, `{"id":"%d","pk":%q,"n":%d}`, i, keyName(k), n)
}

// perform makes the call of azcosmos, and returns the last response and the
// values of the items in it, by "key/id".
func (e *environment) perform(ctx context.Context, r Result) (*http.Response, map[string]int, error) {
	if r.Op.Write() {
		response, err := e.write(ctx, r)
		return response, nil, err
	}
	c, key := e.container, azcosmos.NewPartitionKeyString(keyName(r.Key))
	switch r.Op {
	case Query:
		return queryPages(ctx, c, key, r)
	case CrossQuery:
		return queryPages(ctx, c, azcosmos.NewPartitionKey(), r)
	case ReadMany:
		return e.readMany(ctx)
	case ChangeFeed:
		return e.changeFeed(ctx)
	case Container:
		answer, err := c.Read(ctx, nil)
		return answer.RawResponse, nil, err
	default:
		answer, err := c.ReadItem(ctx, key, itoa(r.Item), &azcosmos.ItemOptions{SessionToken: optional(r.Token)})
		return answer.RawResponse, valuesOf(answer.Value), err
	}
}

func (e *environment) write(ctx context.Context, r Result) (*http.Response, error) {
	c, key := e.container, azcosmos.NewPartitionKeyString(keyName(r.Key))
	body, id := document(r.Key, r.Item, r.N), itoa(r.Item)
	o := &azcosmos.ItemOptions{SessionToken: optional(r.Token)}
	var answer azcosmos.ItemResponse
	var err error
	switch r.Op {
	case Create:
		answer, err = c.CreateItem(ctx, key, body, o)
	case Replace:
		answer, err = c.ReplaceItem(ctx, key, id, body, o)
	case Patch:
		p := azcosmos.PatchOperations{}
		p.AppendSet("/n", r.N)
		answer, err = c.PatchItem(ctx, key, id, p, o)
	case Delete:
		answer, err = c.DeleteItem(ctx, key, id, o)
	case Batch:
		b := c.NewTransactionalBatch(key)
		b.UpsertItem(body, nil)
		b.UpsertItem(document(r.Key, (r.Item+1)%itemsPerKey, r.N), nil)
		answer, err := c.ExecuteTransactionalBatch(ctx, b, nil)
		return answer.RawResponse, err
	default:
		answer, err = c.UpsertItem(ctx, key, body, o)
	}
	return answer.RawResponse, err
}

// queryPages reads all pages of a query, two items a page.
func queryPages(ctx context.Context, c *azcosmos.ContainerClient, key azcosmos.PartitionKey, r Result) (*http.Response, map[string]int, error) {
	pager := c.NewQueryItemsPager("SELECT * FROM c", key, &azcosmos.QueryOptions{PageSizeHint: 2, SessionToken: optional(r.Token)})
	items := map[string]int{}
	var last *http.Response
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, item := range page.Items {
			addValue(items, item)
		}
		last = page.RawResponse
	}
	return last, items, nil
}

// readMany reads every item of every key.
func (e *environment) readMany(ctx context.Context) (*http.Response, map[string]int, error) {
	var wanted []azcosmos.ItemIdentity
	for k := range e.keys() {
		for i := range itemsPerKey {
			wanted = append(wanted, azcosmos.ItemIdentity{ID: itoa(i), PartitionKey: azcosmos.NewPartitionKeyString(keyName(k))})
		}
	}
	answer, err := e.container.ReadManyItems(ctx, wanted, nil)
	items := map[string]int{}
	for _, item := range answer.Items {
		addValue(items, item)
	}
	return nil, items, err
}

// changeFeed reads one page of the change feed of the first range.
func (e *environment) changeFeed(ctx context.Context) (*http.Response, map[string]int, error) {
	ranges, err := e.container.ReadFeedRanges(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	answer, err := e.container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &ranges[0]})
	return answer.RawResponse, nil, err
}

func optional(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}

func valuesOf(item []byte) map[string]int {
	items := map[string]int{}
	addValue(items, item)
	return items
}

func addValue(items map[string]int, item []byte) {
	var it struct {
		ID, PK string
		N      int
	}
	if len(item) > 0 && json.Unmarshal(item, &it) == nil {
		items[it.PK+"/"+it.ID] = it.N
	}
}
