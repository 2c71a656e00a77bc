package policy_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Azure/azure-sdk-for-go#25102: without preferred regions the account's other
// regions are used, in the account's order.
func TestReport1_NoPreferenceUsesTheAccountsRegions(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
		w.Inject(status(B, 503, 0))
		w.expect(read, "200", "A B C", 0)
	})
	// Plain azcosmos gives up at once: the reason for this row.
	inWorld(t, setup{plain: true}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "503", "A", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#4709: a way to limit the client to one region.
// The design has no option of its own for it: one preferred region does it.
func TestReport3_OnePreferredRegionIsALimit(t *testing.T) {
	inWorld(t, setup{preferred: []string{A}}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "503", "A", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#4639: an outage of the write region that does
// not end; the healthy replicas carry every read.
func TestReport5_AccountOrderIsTheFallback(t *testing.T) {
	inWorld(t, setup{gateway: gateway.Options{Regions: []string{A, B, C, "East US"}}, policy: noBreaker}, func(w *world) {
		w.Inject(status(A, 503, 0))
		for range 60 {
			w.expect(read, "200", "A B", 0)
			time.Sleep(time.Minute)
		}
	})
}

// Azure/azure-cosmos-dotnet-v3#1902: a region added later is used after the
// next account read.
func TestReport7_AddedRegionJoins(t *testing.T) {
	inWorld(t, setup{gateway: gateway.Options{Regions: []string{A}}}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "503", "A", 0)
		w.SetRegions(A, B)
		w.awaitRefresh()
		w.expect(read, "200", "A B", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#4206: never a region that the account lacks, on
// retries neither.
func TestReport9_NeverARegionTheAccountLacks(t *testing.T) {
	inWorld(t, setup{gateway: two(false), preferred: []string{C, B}}, func(w *world) {
		w.expect(read, "200", "B", 0)
		w.Inject(status(B, 503, 0))
		w.expect(read, "503", "B", 0)
	})
}

// Azure/azure-sdk-for-python#39396: retries stay within the intersection of
// preference and account.
func TestReport11_RetriesStayInTheIntersection(t *testing.T) {
	inWorld(t, setup{gateway: two(false), preferred: []string{A, C, B}}, func(w *world) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#2865: an unknown name is told with its value,
// once, and is not fatal: it is no preference.
func TestReport13_UnknownNameIsToldAndNotFatal(t *testing.T) {
	var log bytes.Buffer
	options := policy.Options{Telemetry: telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	inWorld(t, setup{policy: options, preferred: []string{"Atlantis"}}, func(w *world) {
		w.Inject(status(A, 503, 0))
		for range 5 {
			w.expect(read, "200", "A B", 0)
		}
		w.SetRegions(A, C) // every new topology is looked at again
		w.awaitRefresh()
		w.expect(read, "200", "A C", 0)
		synctest.Wait()
		require.Equal(w, 1, strings.Count(log.String(), "Atlantis"), log.String())
		require.Contains(w, log.String(), "level=WARN")
	})
}

// Azure/azure-sdk-for-js#6026: retries follow the preferred order too.
func TestReport15_PreferredOrderForRetriesToo(t *testing.T) {
	inWorld(t, setup{preferred: []string{B, C, A}}, func(w *world) {
		w.Inject(status(B, 503, 0))
		w.expect(read, "200", "B C", 0)
		w.Inject(status(C, 503, 0))
		w.expect(read, "200", "B C A", 0)
	})
}

// troubleshoot-sdk-availability: the only preferred region is removed; the
// next of the account's list takes its place, for the read that finds it out too.
func TestReport17_OnlyPreferredRegionIsRemoved(t *testing.T) {
	inWorld(t, setup{preferred: []string{A}}, func(w *world) {
		w.SetRegions(B, C)
		w.expect(read, "200", "A B", 0) // the read that finds out awaits the topology
		w.expect(read, "200", "B", 0)
		w.Inject(status(B, 503, 0))
		w.expect(read, "200", "B C", 0)
	})
}

// dapr/components-contrib#701: writes of a multi-write account follow the
// preferred regions, and carry the header that lets satellites take them.
func TestReport19_MultiWriteFollowsThePreference(t *testing.T) {
	inWorld(t, setup{gateway: multi, preferred: []string{C}}, func(w *world) {
		w.expect(upsert, "200", "C", 0)
		require.Equal(w, []string{"true"}, w.headers("x-ms-cosmos-allow-tentative-writes"))
	})
}

// Azure/azure-cosmos-dotnet-v3#4178: with all regions excluded the primary is
// used, on both kinds of account, for reads and writes.
func TestReport23_AllExcludedIsThePrimary(t *testing.T) {
	for name, account := range map[string]gateway.Options{"single-write": single, "multi-write": multi} {
		for _, preferred := range [][]string{nil, {A, B, C}, {C, B, A}} {
			t.Run(name, func(t *testing.T) {
				excluded := policy.Options{ExcludedRegions: []string{A, B, C}}
				inWorld(t, setup{gateway: account, policy: excluded, preferred: preferred}, func(w *world) {
					w.expect(read, "200", "A", 0)
					w.expect(query, "200", "A", 0)
					w.expect(upsert, "200", "A", 0)
				})
			})
		}
	}
}

// Azure/azure-sdk-for-rust#4487: the fallback is the hub's regional endpoint;
// the global endpoint never carries data.
func TestReport25_AllExcludedGoesToTheRegionalHub(t *testing.T) {
	inWorld(t, setup{policy: policy.Options{ExcludedRegions: []string{A, B, C}}}, func(w *world) {
		w.expect(read, "200", "A", 0)
		w.expect(upsert, "200", "A", 0)
		w.everyEntry(func(e gateway.Entry) bool { return e.Host == "acct-northcentralus.documents.azure.test" }, "regional host")
		w.Inject(status(A, 503, 0))
		w.expect(read, "503", "A", 0)
		w.RemoveAll()
		w.Down(A)
		w.expect(read, "error", "A", 0)
		w.expect(upsert, "error", "A A", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#5789: one filter on every path.
func TestReport27_OneFilterForAll(t *testing.T) {
	for _, o := range append(itemReads, itemWrites...) {
		t.Run(o.name, func(t *testing.T) {
			account := gateway.Options{Account: "report27" + strings.ToLower(o.name), MultiWrite: true}
			inWorld(t, setup{gateway: account}, func(w *world) {
				got, _ := w.do(regions.WithExcluded(w.Context(), A, C), o.call)
				require.Contains(w, []string{"200", "201", "204"}, got)
				require.Equal(w, "B", w.data())
			})
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#6100: metadata reads of a query follow one rule:
// excluded regions last. The ranges are read on a background context, which
// only the client's exclusions reach.
func TestReport29_MetadataReadsAskExcludedRegionsLast(t *testing.T) {
	account := gateway.Options{Account: "report29"}
	inWorld(t, setup{gateway: account, policy: policy.Options{ExcludedRegions: []string{A}}}, func(w *world) {
		w.Inject(gateway.Rule{Region: B, Operations: []string{"meta"}, Status: 503})
		w.Inject(gateway.Rule{Region: C, Operations: []string{"meta"}, Status: 503})
		w.expect(readContainer, "200", "B C A", 0)
		got, _ := w.do(w.Context(), changeFeed)
		require.Equal(w, "200", got)
		require.True(w, strings.HasPrefix(w.regionsOf("pkranges"), "B C A"), w.regionsOf("pkranges"))
		require.Equal(w, "B", w.data())
	})
}

// Azure/azure-sdk-for-java#36616: client-level exclusions change at run time,
// between concurrent requests; a request obeys one list or the other.
func TestReport31_ExclusionsChangeAtRunTime(t *testing.T) {
	inWorld(t, setup{gateway: multi, policy: policy.Options{ExcludedRegions: []string{A}}}, func(w *world) {
		var clients sync.WaitGroup
		for _, c := range []call{read, upsert, query} {
			clients.Go(func() {
				for range 60 {
					got, _ := w.do(w.Context(), c)
					require.Equal(w, "200", got)
				}
			})
		}
		clients.Go(func() {
			for i := range 200 {
				w.ha.SetExcludedRegions([][]string{{A, B}, {A, C}, {A}}[i%3]...)
			}
		})
		clients.Wait()
		require.NotContains(w, w.data(), "A")
		w.ha.SetExcludedRegions(A, B)
		w.expect(upsert, "200", "C", 0)
		w.ha.SetExcludedRegions()
		w.expect(upsert, "200", "A", 0)
	})
}

// Azure/azure-sdk-for-python#46246: an excluded hub leaves the account and
// comes back; writes stay away from it.
func TestReport33_ExcludedHubLeavesAndReturns(t *testing.T) {
	inWorld(t, setup{gateway: multi, policy: policy.Options{ExcludedRegions: []string{A}}}, func(w *world) {
		w.expect(upsert, "200", "B", 0)
		w.SetRegions(B, C)
		w.awaitRefresh()
		w.expect(upsert, "200", "B", 0)
		w.SetRegions(A, B, C)
		w.awaitRefresh()
		w.expect(upsert, "200", "B", 0)
		w.expect(read, "200", "B", 0)
	})
}

// Azure/azure-sdk-for-java#36652: a session retry does not go into an excluded
// region.
func TestReport35_SessionRetriesKeepTheExclusion(t *testing.T) {
	inWorld(t, setup{gateway: multi, policy: policy.Options{ExcludedRegions: []string{B}}}, func(w *world) {
		w.Inject(status(A, 404, 1002))
		w.expect(read, "200", "A C", 0)
		w.expect(upsert, "200", "A C", 0)
	})
}

// The Rust documentation on retries: exclusions do not blind the topology
// refresh, neither azcosmos's nor ours.
func TestReport37_ExclusionsDoNotBlindTheRefresh(t *testing.T) {
	inWorld(t, setup{policy: policy.Options{ExcludedRegions: []string{A}}}, func(w *world) {
		w.awaitRefresh()
		require.Equal(w, []string{gateway.Global}, w.AccountReads())
		w.Down(gateway.Global)
		w.Inject(gateway.Rule{Region: B, Status: 403, SubStatus: 1008, Hits: 1})
		w.expect(read, "200", "B C", 0)
		synctest.Wait()
		require.Contains(w, w.Sequence(), A+" account 200/0")
	})
}
