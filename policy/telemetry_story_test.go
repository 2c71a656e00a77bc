package policy_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// TestTellWalk: a read that leaves its first region: the spans tell the regions
// in order, why, and who answered; the metrics count the attempts.
func TestTellWalk(t *testing.T) {
	inTold(t, setup{policy: noBreaker}, func(w *told) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
		require.Equal(w, []string{"retry A B next_region 503"}, w.events())
		require.Equal(w, []string{
			"read_item items [A B] 200 by B rule filter",
			"attempt A initial 503503",
			"attempt B next_region 200",
		}, w.tell())
		require.Contains(w, w.points("cosmos.ha.attempts"), "reason=initial region=A name=read_item status_code=503 type=503: 1")
	})
}

// TestTellExclusion: exclusions that leave only the fallback are told.
func TestTellExclusion(t *testing.T) {
	inTold(t, setup{policy: noBreaker}, func(w *told) {
		ctx := regions.WithExcluded(w.Context(), A, B, C)
		w.expectWith(ctx, read, "200", "A", 0)
		require.Equal(w, []string{"fallback A K"}, w.events())
		span := w.operation()
		require.True(w, attr(span, "cosmos.ha.fallback").AsBool())
		require.Equal(w, []string{A, B, C}, attr(span, "cosmos.ha.excluded_regions").AsStringSlice())
		require.Equal(w, []string{"region=A name=read_item: 1"}, w.points("cosmos.ha.fallbacks"))
		require.Equal(w, telemetry.KindFallback, w.ha.State().Decisions[0].Kind)
	})
}

// TestTellSession: a session retry is seen by an event, the reason of the attempt,
// and the contacted regions.
func TestTellSession(t *testing.T) {
	inTold(t, setup{preferred: []string{B, A}}, func(w *told) {
		w.Inject(status(B, 404, 1002))
		w.expect(read, "200", "B A", 0)
		require.Equal(w, []string{"retry B A session 404/1002"}, w.events())
		require.Equal(w, []string{
			"read_item items [B A] 200 by A rule filter",
			"attempt B initial 404404",
			"attempt A session 200",
		}, w.tell())
	})
}

// TestTellBreaker: a region that is opened, probed and closed again.
func TestTellBreaker(t *testing.T) {
	inTold(t, setup{}, func(w *told) {
		sick := w.Inject(status(A, 503, 0))
		for range 10 {
			w.expect(read, "200", "A B", 0)
		}
		require.Contains(w, w.events(), "breaker.transition A read HealthyWithFailures Unavailable consecutive failures")
		require.Contains(w, w.points("cosmos.ha.breaker.open_partitions"), "access=read region=A: 1")
		require.Contains(w, w.points("cosmos.ha.breaker.open_partitions"), "access=read region=B: 0")
		unwell := w.ha.State().Accounts[0].Unwell[0]
		require.Equal(w, "consecutive failures", unwell.Cause)
		require.Equal(w, 1, w.ha.State().Accounts[0].Regions[0].Open)
		w.tell()

		w.expect(read, "200", "B", 0)
		opened := attr(w.operation(), "cosmos.ha.opened_regions").AsStringSlice()
		require.Equal(w, []string{A}, opened)
		w.tell()

		time.Sleep(openAtMost)
		_, _ = w.do(w.Context(), read)
		synctest.Wait()
		require.Contains(w, w.tell(), "probe A probe 503503")
		again := w.ha.State().Accounts[0].Unwell[0]
		require.Equal(w, unwell.Unwell, again.Unwell, "unwell since the first opening")
		require.Equal(w, "probe failed", again.Cause)
		sick.Remove()
		time.Sleep(2 * openAtMost)
		_, _ = w.do(w.Context(), read)
		synctest.Wait()
		for range 11 {
			_, _ = w.do(w.Context(), read)
		}
		require.Equal(w, []string{"access=read region=A result=failure: 1", "access=read region=A result=success: 1"}, w.points("cosmos.ha.breaker.probes"))
		require.Contains(w, w.points("cosmos.ha.breaker.transitions"), "access=read cause=recovered region=A to=Healthy: 1")
		require.Contains(w, w.points("cosmos.ha.breaker.open_partitions"), "access=read region=A: 0")
		require.Contains(w, w.log.String(), "cosmos.ha circuit breaker")
	})
}

// TestTellFailover: an override that is set, used, moved and dropped.
func TestTellFailover(t *testing.T) {
	s := ppafAccount(1)
	inTold(t, s, func(w *told) {
		where := w.RangeOf("items", `["a"]`)
		w.MoveRange("items", where, B)
		w.expect(upsert, "200", "A B", 0)
		require.Equal(w, []string{"region.health A write marked 403/3", "topology.refresh asked 403/3", "retry A B failover 403/3", "failover.change B set confirmation"}, w.events())
		require.Contains(w, w.points("cosmos.ha.failover.overrides"), "region=B: 1")
		w.tell()
		w.expect(upsert, "200", "B", 0)
		require.Equal(w, B, attr(w.operation(), "cosmos.ha.override").AsString())
		w.tell()
		w.MoveRange("items", where, C)
		w.expect(upsert, "200", "B A C", 0)
		require.Contains(w, w.events(), "failover.change B C moved confirmation")
		w.tell()
		w.MoveRange("items", where, A)
		w.expect(upsert, "200", "C A", 0)
		require.Contains(w, w.events(), "failover.change C dropped confirmation")
		require.Contains(w, w.points("cosmos.ha.failover.overrides"), "region=B: 0")
		require.Contains(w, w.log.String(), "cosmos.ha partition failover")
	})
}

// TestTellHedge: hedges fired, won, lost and withheld.
func TestTellHedge(t *testing.T) {
	options := policy.Options{Hedge: hedge.Options{Threshold: 100 * time.Millisecond, MaxInFlight: 1}}
	inTold(t, setup{policy: options, hedged: true}, func(w *told) {
		hang := w.Inject(fault(A, gateway.Hang))
		w.expect(read, "200", "A B", 100*time.Millisecond)
		synctest.Wait()
		require.Equal(w, []string{"hedge.started B", "hedge.won B A"}, w.events())
		require.Equal(w, []string{
			"read_item items [A B] 200 by B rule filter",
			"attempt A initial lost",
			"attempt B hedge 200",
		}, w.tell())
		require.Equal(w, []string{"region=B name=read_item: 1"}, w.points("cosmos.ha.hedge.won"))
		require.Equal(w, []string{"region=B name=read_item: 1"}, w.points("cosmos.ha.hedge.started"))
		require.Equal(w, []string{"result=hedge_won: 1"}, w.points("cosmos.ha.hedge.outcomes"))
		require.Equal(w, ": 1", w.points("cosmos.ha.hedge.limit")[0])
		hang.Remove()

		ctx, cancel := context.WithTimeout(w.Context(), 50*time.Millisecond)
		defer cancel()
		w.expectWith(ctx, read, "200", "A", 0)
		require.Equal(w, "deadline", attr(w.operation(), "cosmos.ha.hedge_withheld").AsString())
		require.Equal(w, []string{"cause=deadline name=read_item: 1"}, w.points("cosmos.ha.hedge.withheld"))
		state := w.ha.State().Hedging
		require.Equal(w, [4]uint64{1, 1, 1, 0}, [4]uint64{state.Sent, state.Raced, state.Won, state.Withheld})
		require.InDelta(w, 1, state.WinRate, 0)
	})
}

// TestTellNoHedge: nothing is told of a hedge that was not sent.
func TestTellNoHedge(t *testing.T) {
	inTold(t, setup{hedged: true}, func(w *told) {
		w.expect(read, "200", "A", 0)
		require.Empty(w, w.events())
		require.Equal(w, "primary_won_pre_threshold", attr(w.operation(), "cosmos.ha.hedge").AsString())
		require.Empty(w, w.points("cosmos.ha.hedge.outcomes"))
	})
}

// TestTellTopology: topology changes and refreshes, while no request has a span.
func TestTellTopology(t *testing.T) {
	inTold(t, setup{}, func(w *told) {
		w.SetWriteRegion(B)
		w.expect(upsert, "200", "A B", 0)
		require.Contains(w, w.events(), "topology.refresh asked 403/3")
		require.Equal(w, []string{": 2"}, w.points("cosmos.ha.topology.changes"))
		require.Equal(w, []string{"result=ok: 1"}, w.points("cosmos.ha.topology.refreshes"))
		require.Contains(w, w.log.String(), "cosmos.ha topology changed")
		w.Down(A)
		for _, endpoint := range []string{gateway.Global, B, C} {
			w.Inject(gateway.Rule{Region: endpoint, Operations: []string{"account"}, Status: 500})
		}
		time.Sleep(time.Minute)
		w.expect(read, "200", "A B", 0)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Contains(w, w.points("cosmos.ha.topology.refreshes"), "result=failed: 1")
		require.Contains(w, w.points("cosmos.ha.region.health_changes"), "access=read region=A result=marked: 1")
		require.Contains(w, w.log.String(), "cosmos.ha topology refresh failed")
	})
}

// TestReport155_RecordTellsTheRegions: dotnet#5867, java#49182, rust#4410: which
// regions were asked, why, which answered, and whether it was hedged.
func TestReport155_RecordTellsTheRegions(t *testing.T) {
	options := policy.Options{Hedge: hedge.Options{Threshold: 100 * time.Millisecond}}
	inWorld(t, setup{policy: options, hedged: true}, func(w *world) {
		w.Inject(fault(A, gateway.Hang))
		w.Inject(status(B, 503, 0))
		ctx, record := telemetry.Record(w.Context())
		w.expectWith(ctx, read, "200", "A B C", 100*time.Millisecond)
		synctest.Wait()
		require.Equal(w, []string{A, B, C}, record.Contacted())
		require.True(w, record.Hedged())
		call := record.Calls()[0]
		require.Equal(w, "filter", call.Plan.Rule)
		require.Equal(w, []string{A, B, C}, call.Plan.Applicable)
		require.Equal(w, C, call.Answered)
		require.Equal(w, "hedge_won", call.Hedge)
		require.Equal(w, fmt.Sprintf("read_item items (filter): %s initial lost, %s hedge 503, %s hedge 200", A, B, C), record.String())
		require.Equal(w, 100*time.Millisecond, call.Duration)
		answers, total := record.RequestCharge()
		require.Positive(w, answers)
		require.GreaterOrEqual(w, total, answers)
	})
}

// TestReport163_EveryAttemptIsRecorded: java#31844: failed attempts were missing.
func TestReport163_EveryAttemptIsRecorded(t *testing.T) {
	inWorld(t, setup{policy: noBreaker}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Reset})
		w.Inject(status(B, 410, 1022))
		ctx, record := telemetry.Record(w.Context())
		w.expectWith(ctx, read, "200", "A B C", 0)
		var got []string
		for _, c := range record.Calls()[0].Contacts {
			got = append(got, fmt.Sprint(c.Region, " ", c.Reason, " ", c.Status, "/", c.SubStatus, c.Error))
		}
		require.Equal(w, []string{A + " initial 0/0no_answer", B + " next_region 410/1022", C + " next_region 200/0"}, got)
	})
}
