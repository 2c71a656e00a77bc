package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// inRange returns n further partition keys of the range that pk lies in.
func (w *circuitWorld) inRange(pk string, n int) []string {
	list := []string{}
	for i := 0; len(list) < n; i++ {
		if other := fmt.Sprint("k", i); w.rangeOf(other) == w.rangeOf(pk) {
			_, err := upsertKey(w.Context(), w.container, other)
			require.NoError(w, err)
			list = append(list, other)
		}
	}
	return list
}

// TestKeysOfARangeShareTheirCount: what is opened for one key of a physical
// partition is opened for all of them, by the range map after Bind, and by the
// range ids of answers without. Without, the first answer of each key teaches it.
func TestKeysOfARangeShareTheirCount(t *testing.T) {
	for _, k := range knowledges {
		for _, kind := range []gateway.Kind{gateway.Status, gateway.Reset} { // an answer with the range id, or none at all
			t.Run(fmt.Sprint(k.name, "/", kind), func(t *testing.T) {
				inCircuit(t, setup{}, func(w *circuitWorld) {
					w.prepare(k, readKey)
					keys := w.inRange(w.p1, 3)
					w.Inject(gateway.Rule{Region: A, Container: "items", Range: w.rangeOf(w.p1), Kind: kind, Status: 503})
					require.Equal(w, repeat("A B", 4), w.times(4, readKey, w.container, keys[0]))
					require.Equal(w, repeat("A B", 6)+" B", w.times(7, readKey, w.container, keys[1]))
					require.Equal(w, []string{"A read Unavailable"}, w.unwell())
					require.Equal(w, "B B", w.times(2, readKey, w.container, keys[0]))
					if k.bind {
						require.Equal(w, "B B", w.times(2, readKey, w.container, keys[2]), "never used before")
					} else {
						require.Equal(w, "A B B", w.times(2, readKey, w.container, keys[2]), "its first answer teaches the range")
					}
					require.Equal(w, "A A", w.times(2, readKey, w.container, w.p2))
				})
			})
		}
	}
}

// TestKeysThatNoRegionAnswers: with no answer from anywhere, and so no range
// id, the logical key is enough.
func TestKeysThatNoRegionAnswers(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.Inject(gateway.Rule{Container: "items", Range: w.rangeOf(w.p1), Kind: gateway.Reset})
		outcome, contacted := w.ask(w.Context(), 10, readKey)
		require.Equal(w, "error", outcome)
		require.Equal(w, repeat("A B C", 10), contacted)
		require.Equal(w, "key", w.knownBy())
		require.Len(w, w.unwell(), 3)
		_, contacted = w.ask(w.Context(), 1, readKey)
		require.Equal(w, "A B", contacted)
		require.Equal(w, "A A", w.times(2, readKey, w.container, w.p2))
	})
}

// TestUnboundSplit: without Bind the answers themselves move a key to its new
// range: what was counted for the parent goes to no child.
func TestUnboundSplit(t *testing.T) {
	inCircuit(t, setup{gateway: gateway.Options{Ranges: 1}}, func(w *circuitWorld) {
		parent := w.sick(A)
		w.open(readKey, 10)
		require.Equal(w, "range id", w.knownBy())
		w.Split("items", w.rangeOf(w.p1))
		parent.Remove()
		sibling := w.keyOutside(w.rangeOf(w.p1))
		_, err := upsertKey(w.Context(), w.container, sibling)
		require.NoError(w, err)
		w.sick(A)
		require.Equal(w, "B", w.times(1, readKey, w.container, w.p1), "the answer tells the child")
		require.Equal(w, repeat("A B", 10)+" B B", w.times(12, readKey, w.container, w.p1))
		require.Equal(w, repeat("A", 5), w.times(5, readKey, w.container, sibling))
	})
}

// TestUnboundSplitOfAMap: a range map that passed through, as read-many makes
// azcosmos read it, is dropped when an answer disagrees with it: nobody reads a
// new one, and a child must not pay for its sibling.
func TestUnboundSplitOfAMap(t *testing.T) {
	inCircuit(t, setup{gateway: gateway.Options{Ranges: 1}}, func(w *circuitWorld) {
		w.times(1, readManyKey, w.container, w.p1)
		parent := w.sick(A)
		w.open(readKey, 10)
		require.Equal(w, "range", w.knownBy())
		w.Split("items", w.rangeOf(w.p1))
		parent.Remove()
		sibling := w.keyOutside(w.rangeOf(w.p1))
		_, err := upsertKey(w.Context(), w.container, sibling)
		require.NoError(w, err)
		w.sick(A)
		require.Equal(w, "B", w.times(1, readKey, w.container, w.p1), "the answer tells the child")
		require.Equal(w, repeat("A B", 10)+" B", w.times(11, readKey, w.container, w.p1))
		require.Equal(w, repeat("A", 5), w.times(5, readKey, w.container, sibling))

		// azcosmos's own reading after a 410 brings a whole map again.
		_, err = readManyKey(w.Context(), w.container, w.p1)
		require.NoError(w, err)
		synctest.Wait()
		require.Equal(w, repeat("B", 11), w.times(11, readKey, w.container, w.p1), "what was opened before stays out")
		require.Equal(w, repeat("A", 5), w.times(5, readKey, w.container, sibling))
		require.Equal(w, repeat("B", 3), w.times(3, readManyKey, w.container, w.p1), "shared with requests by range")
	})
}

// oddKey is an operation on a partition key that azcosmos cannot write as JSON,
// or cannot write at all.
func oddKey(pk azcosmos.PartitionKey) keyed {
	return func(ctx context.Context, c *azcosmos.ContainerClient, _ string) (*http.Response, error) {
		r, err := c.ReadItem(ctx, pk, "1", nil)
		if outcomeOf(r.RawResponse, err) == "404" {
			return &http.Response{StatusCode: http.StatusOK}, nil // nobody has written it
		}
		return r.RawResponse, err
	}
}

// TestOddPartitionKeys: keys of every kind, those included that cannot be
// decoded or have no place in the range map, count by themselves at least: the
// request goes on, opens by ten failures, and touches nobody else.
func TestOddPartitionKeys(t *testing.T) {
	long := strings.Repeat("x", 2000)
	keys := map[string]azcosmos.PartitionKey{
		"emoji":         key("\U0001f600"),
		"control":       key("x\x01y\x7f\a"),
		"not UTF-8":     key("\xff\xfe"),
		"number":        azcosmos.NewPartitionKeyNumber(-0.5),
		"bool":          azcosmos.NewPartitionKeyBool(true),
		"null":          azcosmos.NewPartitionKey().AppendNull(),
		"too many":      azcosmos.NewPartitionKeyString("a").AppendString("b"),
		"long":          key(long),
		"quotes":        key(`"],["`),
		"empty string":  key(""),
		"empty key":     azcosmos.NewPartitionKey(),
		"looks like it": key(`[{}]`),
	}
	for name, pk := range keys {
		for _, k := range knowledges {
			t.Run(name+"/"+k.name, func(t *testing.T) {
				inCircuit(t, setup{}, func(w *circuitWorld) {
					w.prepare(k, readKey)
					op := oddKey(pk)
					w.Inject(gateway.Rule{Region: A, Path: "/docs/1", Operations: []string{"read"}, Status: 503, Hits: 10})
					require.Equal(w, repeat("A B", 10)+" B B", w.times(12, op, w.container, ""))
					require.Equal(w, []string{"A read Unavailable"}, w.unwell())
					require.Equal(w, "A", w.times(1, readKey, w.other, w.p1))
				})
			})
		}
	}
}

// TestHierarchicalPrefix: a query by a prefix of a hierarchical key may reach
// over several ranges: it counts by itself and moves no key of the ranges.
func TestHierarchicalPrefix(t *testing.T) {
	for _, k := range knowledges {
		t.Run(k.name, func(t *testing.T) {
			inCircuit(t, setup{gateway: gateway.Options{Ranges: 1}}, func(w *circuitWorld) {
				w.store.CreateContainer("db", "tree", "/a", "/b")
				tree, err := w.client.NewContainer("db", "tree")
				require.NoError(w, err)
				for range 5 {
					w.Split("tree", w.Ranges("tree")[0])
				}
				if k.bind {
					w.ha.Bind(w.client)
				}
				op := func(ctx context.Context, c *azcosmos.ContainerClient, _ string) (*http.Response, error) {
					r, err := c.NewQueryItemsPager("SELECT * FROM c", key("t"), nil).NextPage(ctx)
					return r.RawResponse, err
				}
				w.times(1, op, tree, "")
				w.Inject(gateway.Rule{Region: A, Container: "tree", Operations: []string{"query"}, Status: 503})
				require.Equal(w, repeat("A B", 10)+" B B", w.times(12, op, tree, ""))
			})
		})
	}
}

// TestAccountsShareNothing: two accounts with the same container, the same
// keys and one Middleware, and two clients of one account, which share it all.
func TestAccountsShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newCircuit(t, setup{})
		two := newCircuit(t, setup{})
		two.ha = one.ha
		two.client, two.container = two.newClient(setup{})
		for _, w := range []*circuitWorld{one, two} {
			w.ha.Bind(w.client)
			w.times(1, readKey, w.container, w.p1)
		}
		one.sick(A)
		one.open(readKey, 10)
		require.Equal(t, repeat("A", 20), two.times(20, readKey, two.container, two.p1))
		_, sibling := one.newClient(setup{})
		require.Equal(t, "B B", one.times(2, readKey, sibling, one.p1), "of the same account")
		one.ha.Close()
		synctest.Wait()
	})
}

// TestRegionThatLeavesAndReturns: what was counted for a region goes with it.
func TestRegionThatLeavesAndReturns(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.times(1, readKey, w.container, w.p1)
		fault := w.sick(B)
		w.ha.SetExcludedRegions(A)
		require.Equal(w, repeat("B C", 10)+" C", w.times(11, readKey, w.container, w.p1))
		fault.Remove()
		for _, regions := range [][]string{{A, C}, {A, B, C}} {
			w.SetRegions(regions...)
			time.Sleep(6 * time.Minute)
			_, _ = w.ask(w.Context(), 1, readKey)
		}
		require.Equal(w, "B", w.times(1, readKey, w.container, w.p1))
		require.Empty(w, w.unwell())
	})
}

// TestBreakerSurvivesOddAnswers: an answer without, or with a made-up, range id
// neither fails a request nor trips anything for others.
func TestBreakerSurvivesOddAnswers(t *testing.T) {
	for _, id := range []string{"", "0", "nonsense", strings.Repeat("9", 4000), "-1"} {
		for _, k := range knowledges {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				w.prepare(k, readKey)
				header := map[string]string{"x-ms-documentdb-partitionkeyrangeid": id}
				w.Inject(gateway.Rule{Region: A, Key: `["a"]`, Container: "items", Status: 503, Header: header})
				w.Inject(gateway.Rule{Region: B, Key: `["a"]`, Container: "items", Status: 404, Header: header})
				require.Equal(w, repeat("A B", 10)+" B", func() string {
					_, contacted := w.ask(w.Context(), 11, readKey)
					return contacted
				}(), "%.9s %s", id, k.name)
				if id != w.rangeOf(w.p2) {
					require.Equal(w, "A A", w.times(2, readKey, w.container, w.p2))
				}
				require.Equal(w, "A A", w.times(2, readKey, w.other, w.p1))
			})
		}
	}
}

// TestUnboundWritesWithoutAnswer: writes that A answers with a reset are not
// repeated, so nothing tells their range before A opens for the key alone. What
// B then tells must not let the next writes back to A.
func TestUnboundWritesWithoutAnswer(t *testing.T) {
	inCircuit(t, setup{gateway: multi}, func(w *circuitWorld) {
		w.times(1, upsertKey, w.container, w.p1)
		fault := w.Inject(gateway.Rule{Region: A, Container: "items", Range: w.rangeOf(w.p1), Kind: gateway.Reset})
		outcome, contacted := w.ask(w.Context(), 5, upsertKey)
		require.Equal(w, "error "+repeat("A", 5), outcome+" "+contacted)
		require.Equal(w, "key", w.knownBy())
		require.Equal(w, repeat("B", 10), w.times(10, upsertKey, w.container, w.p1))
		fault.Remove()
		w.awaitWriteProbe(upsertKey, "A")
		require.Equal(w, []string{"A write HealthyTentative"}, w.unwell())
		require.Equal(w, repeat("A", 5), w.times(5, upsertKey, w.container, w.p1))
	})
}
