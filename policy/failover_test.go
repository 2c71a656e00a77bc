package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// ppafAccount is a single-write account whose partitions fail over one by one.
func ppafAccount(ranges int) setup {
	yes := true
	return setup{gateway: gateway.Options{PartitionFailover: &yes, Ranges: ranges}}
}

// madeItems numbers the items that the create below makes.
var madeItems atomic.Int64

// writes are the operations that can be routed to a partition's write region.
// Each may be called again.
var writes = map[string]call{
	"create": func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		r, err := c.CreateItem(ctx, key("a"), item(fmt.Sprint("created-", madeItems.Add(1)), "a", 1), nil)
		return r.RawResponse, err
	},
	"upsert": upsert,
	"replace": func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		r, err := c.ReplaceItem(ctx, key("a"), "1", item("1", "a", 2), nil)
		return r.RawResponse, err
	},
	"patch": func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		var p azcosmos.PatchOperations
		p.AppendIncrement("/n", 1)
		r, err := c.PatchItem(ctx, key("a"), "1", p, nil)
		return r.RawResponse, err
	},
	"delete": func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		r, err := c.DeleteItem(ctx, key("a"), "1", nil)
		return r.RawResponse, err
	},
	"batch": func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
		b := c.NewTransactionalBatch(key("a"))
		b.UpsertItem(item("1", "a", 3), nil)
		r, err := c.ExecuteTransactionalBatch(ctx, b, nil)
		return r.RawResponse, err
	},
}

// succeeded reports an outcome below 300.
func succeeded(outcome string) bool { return outcome != "" && outcome[0] == '2' }

// TestFailover: whatever makes the write region refuse a partition's write, the
// call that discovers it succeeds in that call; the next goes straight; another
// partition stays; and nothing is carried out twice.
func TestFailover(t *testing.T) {
	faults := map[string]gateway.Rule{
		"403/3":    status(A, 403, 3),
		"503":      status(A, 503, 0),
		"410/1022": status(A, 410, 1022),
		"429/3092": status(A, 429, 3092),
		"refused":  fault(A, gateway.Refuse),
	}
	for faultName, rule := range faults {
		for name, write := range writes {
			t.Run(faultName+"/"+name, func(t *testing.T) {
				inWorld(t, ppafAccount(1), func(w *world) {
					w.MoveRange("items", "0", B) // B takes the writes of the range, and A refuses in its own way
					rule.Operations = []string{"write"}
					rule.Key = `["a"]`
					w.Inject(rule)
					got, took := w.do(w.Context(), write)
					require.True(w, succeeded(got), got)
					require.Equal(w, "A B", w.contacted())
					require.Zero(w, took)
					_, _ = w.do(w.Context(), upsert) // a deleted item is there again
					w.ResetLog()
					got, _ = w.do(w.Context(), write)
					require.True(w, succeeded(got), got)
					require.Equal(w, "B", w.contacted())
					require.Empty(w, w.store.Repeated())
				})
			})
		}
	}
}

// TestFailoverOtherPartition: another physical partition stays where it is.
func TestFailoverOtherPartition(t *testing.T) {
	inWorld(t, ppafAccount(4), func(w *world) {
		mine := w.RangeOf("items", `["a"]`)
		other := "b"
		for w.RangeOf("items", fmt.Sprintf("[%q]", other)) == mine {
			other += "b"
		}
		w.MoveRange("items", mine, B)
		w.expect(upsert, "200", "A B", 0)
		w.expect(upsert, "200", "B", 0)
		elsewhere := func(ctx context.Context, c *azcosmos.ContainerClient) (*http.Response, error) {
			r, err := c.UpsertItem(ctx, key(other), item("1", other, 1), nil)
			return r.RawResponse, err
		}
		w.expect(elsewhere, "201", "A", 0)
		w.expect(read, "200", "B", 0) // rule U: no preference, so the partition's write region comes first
	})
}

// TestFailoverByTimeouts: a write that times out is not repeated; after the
// tenth the next one starts in the next region, and that region's confirmation
// moves the partition.
func TestFailoverByTimeouts(t *testing.T) {
	for name, rule := range map[string]gateway.Rule{"408": status(A, 408, 0), "504": status(A, 504, 0), "reset": fault(A, gateway.Reset)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, ppafAccount(1), func(w *world) {
				w.MoveRange("items", "0", B)
				rule.Operations = []string{"write"}
				w.Inject(rule)
				for range 10 {
					got, _ := w.do(w.Context(), upsert)
					require.False(w, succeeded(got))
				}
				require.Equal(w, "A A A A A A A A A A", w.contacted())
				w.expect(upsert, "200", "B", 0)
				w.expect(upsert, "200", "B", 0)
				require.Empty(w, w.store.Repeated())
			})
		})
	}
}

// TestFailoverBlip: a 503 of the only region that takes the writes moves
// nothing, and the error is the service's.
func TestFailoverBlip(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		once := status(A, 503, 0)
		once.Hits = 1
		w.Inject(once)
		got, took := w.do(w.Context(), upsert)
		// B and C refuse with 403/3, so the service may be electing: the round is repeated after 1 s.
		require.Equal(w, "200", got)
		require.Equal(w, "A B C A", w.contacted())
		require.Equal(w, time.Second, took)
		w.expect(upsert, "200", "A", 0)
		require.Empty(w, w.ha.State().Accounts[0].Overrides)
	})
}

// TestFailoverElection: while the service elects, rounds are repeated after 1
// and 2 s; if nobody takes the write by then, the first answer is the caller's.
func TestFailoverElection(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.Elect("items", "0")
		w.expect(upsert, "403/3", "A B C A B C A B C", 3*time.Second)
		time.AfterFunc(500*time.Millisecond, func() { w.MoveRange("items", "0", C) })
		w.expect(upsert, "200", "A B C A B C", time.Second)
		w.expect(upsert, "200", "C", 0)

		w.Elect("items", "0")
		ctx, cancel := context.WithTimeout(w.Context(), 500*time.Millisecond)
		defer cancel()
		w.expectWith(ctx, upsert, "403/3", "C A B", 0) // no time for another round
	})
}

// TestFailBack: the region that took over refuses, the primary confirms, and
// the override is gone.
func TestFailBack(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", B)
		w.expect(upsert, "200", "A B", 0)
		w.MoveRange("items", "0", "")
		w.expect(upsert, "200", "B A", 0)
		w.expect(upsert, "200", "A", 0)
		require.Empty(w, w.ha.State().Accounts[0].Overrides)
	})
}

// TestFailoverFlag: the account's flag switches failover on and off while the
// client runs, and each edge clears all overrides; an answer without the flag
// changes nothing.
func TestFailoverFlag(t *testing.T) {
	yes, no := true, false
	s := ppafAccount(1)
	s.preferred = []string{A, B, C}
	inWorld(t, s, func(w *world) {
		relearn := func() {
			time.Sleep(6 * time.Minute)
			_, _ = w.do(w.Context(), read) // sets azcosmos's own refresh off
			synctest.Wait()
		}
		w.MoveRange("items", "0", B)
		w.expect(upsert, "200", "A B", 0)
		w.SetFlags(nil, nil)
		relearn()
		w.expect(upsert, "200", "B", 0)
		w.SetFlags(&no, nil)
		relearn()
		w.expect(upsert, "403/3", "A A A A A", 5*time.Second)
		w.SetFlags(&yes, nil)
		relearn()
		w.expect(upsert, "200", "A B", 0)
	})
}

// TestFailoverNever: multi-write accounts, accounts of one region, metadata and
// keys that cannot be understood are as without failover.
func TestFailoverNever(t *testing.T) {
	s := ppafAccount(1)
	s.gateway.Regions = []string{A}
	inWorld(t, s, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(upsert, "503", "A", 0)
	})
	inWorld(t, ppafAccount(1), func(w *world) {
		w.Inject(gateway.Rule{Region: A, Operations: []string{"meta"}, Status: 503})
		create := func(ctx context.Context, _ *azcosmos.ContainerClient) (*http.Response, error) {
			r, err := w.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "new"}, nil)
			return r.RawResponse, err
		}
		w.expect(create, "503", "A", 0)
	})
	var garble atomic.Bool
	s = ppafAccount(1)
	s.change = func(o *azcosmos.ClientOptions) { o.PerCallPolicies = append(o.PerCallPolicies, garbledKey{&garble}) }
	inWorld(t, s, func(w *world) {
		garble.Store(true)
		w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Status: 503})
		w.expect(upsert, "503", "A", 0)
	})
}

// TestFailoverConverges: 64 writers on one partition that moves twice: no error
// that the service did not give everywhere, one override at the end, nothing
// carried out twice.
func TestFailoverConverges(t *testing.T) {
	s := ppafAccount(1)
	s.gateway.Latency = map[string]time.Duration{A: 3 * time.Millisecond, B: 5 * time.Millisecond, C: 7 * time.Millisecond}
	inWorld(t, s, func(w *world) {
		time.AfterFunc(50*time.Millisecond, func() { w.MoveRange("items", "0", B) })
		time.AfterFunc(150*time.Millisecond, func() { w.MoveRange("items", "0", C) })
		var writers sync.WaitGroup
		for writer := range 64 {
			writers.Go(func() {
				for n := range 40 {
					_, err := w.container.CreateItem(w.Context(), key("a"), item(fmt.Sprintf("%d-%d", writer, n), "a", n), nil)
					assert.NoError(w, err)
				}
			})
		}
		writers.Wait()
		overrides := w.ha.State().Accounts[0].Overrides
		require.Len(w, overrides, 1)
		require.Equal(w, C, overrides[0].Region)
		require.Empty(w, w.store.Repeated())
	})
}

// TestHubHeader: a read whose session the replica has not seen asks the
// partition's write region as the hub; the hub found is remembered.
func TestHubHeader(t *testing.T) {
	s := ppafAccount(1)
	s.preferred = []string{B, A, C}
	inWorld(t, s, func(w *world) {
		w.MoveRange("items", "0", C)
		behind := status(B, 404, 1002)
		behind.Operations = []string{"read"}
		w.Inject(behind)
		w.expect(read, "200", "B A C", 0) // A is not the hub: 403/3
		for _, e := range w.Log() {
			require.Equal(w, e.Region != B, e.Header.Get("x-ms-cosmos-hub-region-processing-only") == "true", e.Region)
		}
		w.expect(read, "200", "B C", 0)
		w.expect(upsert, "200", "A B C", 0) // a read never moves a write
	})
}

// TestHubAtTheWriteRegion: the write region itself has not seen the session:
// with failover on the hub is looked for elsewhere.
func TestHubAtTheWriteRegion(t *testing.T) {
	inWorld(t, ppafAccount(1), func(w *world) {
		w.MoveRange("items", "0", C)
		w.Inject(status(A, 404, 1002))
		w.expect(read, "200", "A B C", 0)
	})
}

// garbledKey spoils the partition key header while it is switched on.
type garbledKey struct{ on *atomic.Bool }

func (p garbledKey) Do(req *azpolicy.Request) (*http.Response, error) {
	if p.on.Load() {
		req.Raw().Header.Set("x-ms-documentdb-partitionkey", `["a`)
	}
	return req.Next()
}
