package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// pager gives one page after the other, and is "" at its end.
type pager func(ctx context.Context) string

// queryPager is a query with pages of one item.
func (w *world) queryPager(pk azcosmos.PartitionKey) pager {
	p := w.container.NewQueryItemsPager("SELECT * FROM c", pk, &azcosmos.QueryOptions{PageSizeHint: 1})
	return func(ctx context.Context) string {
		if !p.More() {
			return ""
		}
		r, err := p.NextPage(ctx)
		return outcomeOf(r.RawResponse, err)
	}
}

// feedPager is a change feed with pages of one item; a poll without news is a page too.
func (w *world) feedPager() pager {
	var token *string
	return func(ctx context.Context) string {
		r, err := w.container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{
			FeedRange:    &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"},
			MaxItemCount: 1, Continuation: token,
		})
		if err == nil {
			var next string
			next, err = r.GetCompositeContinuationToken()
			token = &next
		}
		return outcomeOf(&http.Response{StatusCode: 200}, err)
	}
}

// pagers are the ways to read pages; each test needs an account of its own.
var pagers = map[string]func(*world) pager{
	"query of a partition": func(w *world) pager { return w.queryPager(key("a")) },
	"query across":         func(w *world) pager { return w.queryPager(azcosmos.NewPartitionKey()) },
	"change feed":          (*world).feedPager,
}

// inPages runs a test for each way to read pages, in a world with six items.
func inPages(t *testing.T, s setup, test func(w *world, page func(ctx context.Context) string)) {
	t.Helper()
	for name, start := range pagers {
		t.Run(name, func(t *testing.T) {
			s := s
			s.gateway.Account, s.hedged = fmt.Sprintf("pages%d", accounts.Add(1)), true
			inWorld(t, s, func(w *world) {
				for i := range 5 {
					_, err := w.container.CreateItem(w.Context(), key("a"), item(fmt.Sprint("p", i), "a", i), nil)
					require.NoError(w, err)
				}
				next := start(w)
				test(w, func(ctx context.Context) string {
					w.ResetLog()
					require.Equal(w, "200", next(ctx))
					return w.data()
				})
			})
		})
	}
}

// TestPagesStayWithTheirRegion: what follows a page is asked of the region that
// gave it, as long as that is applicable.
func TestPagesStayWithTheirRegion(t *testing.T) {
	inPages(t, setup{policy: hedgedAt(100 * time.Millisecond)}, func(w *world, page func(context.Context) string) {
		ctx := w.Context()
		require.Equal(w, "A", page(ctx), "the usual first region")
		w.Inject(slow(A, 5*time.Second))
		require.Equal(w, "A B", page(ctx), "a hedge wins")
		start := time.Now()
		require.Equal(w, "B", page(ctx), "and gives the next page")
		require.Zero(w, time.Since(start))
		w.RemoveAll()
		require.Equal(w, "B", page(ctx), "even when A is well again")

		w.Inject(status(B, 503, 0))
		require.Equal(w, "B A", page(ctx), "the walk goes on from there, by the usual order")
		w.RemoveAll()
		require.Equal(w, "A", page(ctx), "A gave the last page")
	})
}

// TestPagesOfTheWalk: a page that the walk got elsewhere binds the next one too.
func TestPagesOfTheWalk(t *testing.T) {
	inPages(t, setup{preferred: []string{B, C, A}}, func(w *world, page func(context.Context) string) {
		f := w.Inject(status(B, 503, 0))
		require.Equal(w, "B C", page(hedge.Off(w.Context())))
		f.Remove()
		require.Equal(w, "C", page(hedge.Off(w.Context())))
		ctx := regions.WithExcluded(w.Context(), C)
		require.Equal(w, "B", page(ctx), "C is excluded")
		require.Equal(w, "B", page(w.Context()), "B gave the page before")
		require.Equal(w, "A", page(regions.WithExcluded(w.Context(), B, C)), "only A is left")
		require.Equal(w, "A", page(w.Context()), "A gave the page before")
	})
}

// TestPagesAvoidTheUnwell: a region that is unwell does not lead because of a page.
func TestPagesAvoidTheUnwell(t *testing.T) {
	inPages(t, setup{}, func(w *world, page func(context.Context) string) {
		ctx := regions.WithExcluded(w.Context(), A)
		require.Equal(w, "B", page(ctx))
		require.Equal(w, "B", page(w.Context()), "B gave the page before")
		w.Inject(fault(B, gateway.Refuse))
		_, err := w.container.ReadItem(ctx, key("a"), "1", nil) // marks B
		require.NoError(w, err)
		require.Equal(w, "A", page(w.Context()), "B is marked")
	})
}

// TestPagesAreTheirOwn: two readers of the same query do not get in each
// other's way beyond sharing a continuation, and other partitions are others.
func TestPagesAreTheirOwn(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		for _, pk := range []string{"b", "c"} {
			for i := range 3 {
				_, err := w.container.CreateItem(w.Context(), key(pk), item(fmt.Sprint(i), pk, i), nil)
				require.NoError(w, err)
			}
		}
		away := regions.WithExcluded(w.Context(), A)
		b, c := w.queryPager(key("b")), w.queryPager(key("c"))
		require.Equal(w, "200", b(away))
		require.Equal(w, "200", c(w.Context()))
		w.ResetLog()
		require.Equal(w, "200", b(w.Context()))
		require.Equal(w, "200", c(w.Context()))
		require.Equal(w, "B A", w.data())
	})
}

// hedgedAt are options with a hedge threshold.
func hedgedAt(threshold time.Duration) policy.Options {
	return policy.Options{Hedge: hedge.Options{Threshold: threshold}}
}
