package policy_test

import (
	"context"
	"fmt"
	"strings"
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

// recorded makes a call and returns its outcome and the one request's record.
func (w *world) recorded(ctx context.Context, c call) (string, telemetry.Call) {
	w.Helper()
	ctx, record := telemetry.Record(ctx)
	got, _ := w.do(ctx, c)
	calls := record.Calls()
	require.Len(w, calls, 1)
	return got, calls[0]
}

// Azure/azure-sdk-for-rust#4625: a read after a write, hedged to a region that
// has not seen the write, gives the item, never 404 and never the old one.
func TestReport71_HedgeToARegionThatLags(t *testing.T) {
	for _, account := range []gateway.Options{single, multi} {
		inWorld(t, setup{gateway: account, policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
			r, err := w.container.UpsertItem(w.Context(), key("a"), item("1", "a", 7), nil)
			require.NoError(w, err)
			w.Inject(slow(A, time.Second))
			w.Inject(status(B, 404, 1002))
			w.Inject(status(C, 404, 1002))
			w.expect(readWith(*r.SessionToken), "200", "A B C", time.Second)
		})
	}
}

// golang/go#59690, azure-sdk-for-go#21346: a dead connection costs a read the
// threshold, not its deadline.
func TestReport81_DeadConnection(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			w := onWire(t, protocol, setup{policy: hedgedAt(200 * ms), hedged: true})
			w.Inject(fault(A, gateway.Hang))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			got, took := w.do(ctx, read)
			require.Equal(t, "200", got)
			require.Equal(t, "A B", w.contacted())
			require.GreaterOrEqual(t, took, 200*ms)
			require.Less(t, took, 10*time.Second)
		})
	}
}

// Azure/azure-sdk-for-rust#4432: a region that is slow but answers opens too.
func TestReport115_SlowRegionOpens(t *testing.T) {
	inCircuit(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *circuitWorld) {
		f := w.Inject(slow(A, 300*ms))
		for range 4 {
			w.expect(read, "200", "A B", 100*ms)
		}
		f.Remove()
		w.expect(read, "200", "A", 0) // begins the count anew
		w.Inject(slow(A, 300*ms))
		for range 5 {
			w.expect(read, "200", "A B", 100*ms)
		}
		_, record := w.recorded(w.Context(), read)
		require.Equal(w, "primary_won_pre_threshold", record.Hedge)
		require.Equal(w, []string{B}, contactedOf(record))
		w.RemoveAll()
		require.Equal(w, "A", w.times(1, upsertKey, w.container, w.p1), "writes are not concerned")
	})
}

func contactedOf(c telemetry.Call) (list []string) {
	for _, contact := range c.Contacts {
		list = append(list, contact.Region)
	}
	return list
}

// Azure/azure-cosmos-dotnet-v3#5613: the losing attempt ends with the race, and
// nothing runs when the call has returned.
func TestReport131_LosersEndWithTheRace(t *testing.T) {
	s := setup{policy: hedgedAt(100 * ms), hedged: true}
	s.policy.Breaker = noBreaker.Breaker
	inWorld(t, s, func(w *world) {
		for _, winner := range []string{B, A} {
			w.RemoveAll()
			for _, region := range []string{A, B, C} {
				if region != winner {
					w.Inject(fault(region, gateway.Hang))
				}
			}
			if winner == A {
				w.Inject(slow(A, 150*ms))
			}
			got, _ := w.do(w.Context(), read)
			require.Equal(w, "200", got)
			synctest.Wait()
			now, _ := w.InFlight()
			require.Zero(w, now)
			require.Zero(w, hedgesRunning())
			for _, e := range w.Log() {
				require.Equal(w, e.Region != winner, e.Cancelled, e.Region)
			}
			w.ResetLog()
		}
	})
}

// Azure/azure-cosmos-dotnet-v3#6017: what a loser failed with is recorded as
// what it was, and never returned.
func TestReport133_LosersErrorsAreRecorded(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, 300*ms))
		w.Inject(fault(B, gateway.Reset))
		w.Inject(gateway.Rule{Region: C, Status: 500, Delay: 50 * ms})
		got, record := w.recorded(w.Context(), read)
		require.Equal(w, "200", got)
		require.Equal(w, "primary_won_after_hedge", record.Hedge)
		require.Equal(w, A, record.Answered)
		require.Equal(w, []string{A, B, C}, contactedOf(record))
		require.NotEmpty(w, record.Contacts[1].Error)
		require.NotEqual(w, telemetry.ErrorLost, record.Contacts[1].Error, "a reset is no cancellation")
		require.Equal(w, 500, record.Contacts[2].Status)
	})
}

// Azure/azure-cosmos-dotnet-v3#5061, #5138: metadata is not hedged, but routed: a
// region that refuses it is left at once, and exclusions are kept.
func TestReport135_MetadataIsRoutedNotHedged(t *testing.T) {
	for _, o := range []named{{"container", readContainer}, {"readMany", readMany}} {
		s := setup{policy: hedgedAt(200 * ms), hedged: true, gateway: gateway.Options{Account: "report135" + strings.ToLower(o.name)}}
		inWorld(t, s, func(w *world) {
			f := w.Inject(gateway.Rule{Region: A, Operations: []string{"container/read"}, Kind: gateway.Slow, Delay: 2 * time.Second})
			got, took := w.do(w.Context(), o.call)
			require.Equal(w, "200", got)
			require.Equal(w, 2*time.Second, took)
			f.Remove()
			w.Inject(gateway.Rule{Region: A, Operations: []string{"meta"}, Kind: gateway.Refuse})
			w.expect(readContainer, "200", "A B", 0)
			w.expectWith(regions.WithExcluded(w.Context(), B), readContainer, "200", "C", 0)
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#5665: where nothing was hedged nothing is said of it.
func TestReport137_NoHedgeNoWord(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		ctx, record := telemetry.Record(w.Context())
		got, _ := w.do(ctx, read)
		require.Equal(w, "200", got)
		require.False(w, record.Hedged())
		require.Equal(w, []string{A}, record.Contacted())
		require.Empty(w, record.Calls()[0].Decisions)
		require.Empty(w, record.Calls()[0].HedgeWithheld)
		w.Inject(slow(A, time.Second))
		ctx, record = telemetry.Record(w.Context())
		_, _ = w.do(ctx, read)
		require.True(w, record.Hedged())
		require.Equal(w, []string{A, B}, record.Contacted())
	})
}

// Azure/azure-sdk-for-java#49128: what a hedged read costs is the charge of all
// that completed, the caller's answer apart.
func TestReport139_ChargeOfLosers(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		charged := func(region string, charge string, d time.Duration) {
			w.Inject(gateway.Rule{Region: region, Status: 503, Delay: d, Header: map[string]string{"x-ms-request-charge": charge}})
		}
		charged(B, "2.5", 0)
		charged(C, "4", 0)
		w.Inject(slow(A, 300*ms))
		ctx, record := telemetry.Record(w.Context())
		r, err := w.container.ReadItem(ctx, key("a"), "1", nil)
		require.NoError(w, err)
		answer, total := record.RequestCharge()
		require.InDelta(w, float64(r.RequestCharge), answer, 1e-6)
		require.InDelta(w, float64(r.RequestCharge)+6.5, total, 1e-6)
		require.InDelta(w, 6.5, record.Calls()[0].ExtraCharge, 1e-6)
	})
}

// Azure/azure-sdk-for-rust#4330: how many regions are hedged to can be bounded;
// the first at the threshold, the next after a step.
func TestReport141_NumberOfHedges(t *testing.T) {
	for _, test := range []struct {
		hedges  int
		regions string
		at      []time.Duration
	}{
		{0, "A B C", []time.Duration{0, 100 * ms, 350 * ms}},
		{1, "A B", []time.Duration{0, 100 * ms}},
		{2, "A B C", []time.Duration{0, 100 * ms, 350 * ms}},
		{9, "A B C", []time.Duration{0, 100 * ms, 350 * ms}},
	} {
		s := setup{policy: policy.Options{Hedge: hedge.Options{Threshold: 100 * ms, Step: 250 * ms, MaxHedges: test.hedges}}, hedged: true}
		inWorld(t, s, func(w *world) {
			w.Inject(fault("", gateway.Hang))
			ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			w.expectWith(ctx, read, "deadline", test.regions, 5*time.Second)
			for i, e := range w.Log() {
				require.Equal(w, test.at[i], e.At.Sub(start))
			}
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#4706, #4457, #5190: writes are hedged on
// multi-write accounts only, and only if asked for.
func TestReport143_WritesAreNotHedged(t *testing.T) {
	for _, test := range []struct {
		account gateway.Options
		writes  bool
		regions string
	}{{multi, false, "A"}, {multi, true, "A B"}, {single, true, "A"}, {single, false, "A"}} {
		for _, o := range itemWrites {
			s := setup{gateway: test.account, policy: hedgedAt(100 * ms), hedged: true}
			s.policy.Hedge.Writes = test.writes
			inWorld(t, s, func(w *world) {
				w.Inject(gateway.Rule{Region: A, Operations: []string{"write"}, Kind: gateway.Slow, Delay: time.Second})
				_, _ = w.do(w.Context(), o.call)
				require.Equal(w, test.regions, w.data(), o.name)
				if !test.writes {
					require.Empty(w, w.store.Repeated())
				}
			})
		}
	}
}

// Azure/azure-cosmos-dotnet-v3#4471: a hedge is pinned to its region; what it
// gets there does not lead it on.
func TestReport145_HedgesArePinned(t *testing.T) {
	for _, rule := range []gateway.Rule{
		status(B, 503, 0), status(B, 403, 3), status(B, 403, 1008), status(B, 404, 1002), status(B, 410, 1007), status(B, 429, 3200),
		fault(B, gateway.Refuse), fault(B, gateway.Reset),
	} {
		s := setup{policy: hedgedAt(100 * ms), hedged: true}
		s.policy.Hedge.MaxHedges = 1
		inWorld(t, s, func(w *world) {
			w.Inject(slow(A, 300*ms))
			w.Inject(rule)
			w.expect(read, "200", "A B", 300*ms)
		})
	}
}

// The documentation of the .NET and Java SDKs: which first answers end the wait,
// and that any other starts the hedge before its threshold.
func TestReport147_FinalAnswersEndTheWait(t *testing.T) {
	final := []string{"304", "400", "401", "403", "404", "405", "409", "412", "413", "422", "501", "505", "408/21013"}
	for _, answer := range final {
		inWorld(t, setup{policy: hedgedAt(time.Second), hedged: true}, func(w *world) {
			w.Inject(statusOf(t, A, answer))
			w.expect(read, answer, "A", 0)
		})
		inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
			w.Inject(fault(A, gateway.Hang))
			w.Inject(statusOf(t, B, answer))
			w.expect(read, answer, "A B", 100*ms)
		})
	}
	for _, answer := range []string{"404/1002", "408", "410/1002", "429/3200", "449", "500", "502", "503", "504", "403/1008"} {
		inWorld(t, setup{policy: hedgedAt(time.Second), hedged: true}, func(w *world) {
			w.Inject(statusOf(t, A, answer))
			w.expect(read, "200", "A B", 0)
		})
		inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
			w.Inject(fault(A, gateway.Hang))
			w.Inject(statusOf(t, B, answer))
			w.expect(read, "200", "A B C", 100*ms)
		})
	}
}

// statusOf is a fault that answers "404/1002", or "404".
func statusOf(t *testing.T, region, answer string) gateway.Rule {
	t.Helper()
	r := gateway.Rule{Region: region}
	n, _ := fmt.Sscanf(answer, "%d/%d", &r.Status, &r.SubStatus)
	require.Positive(t, n)
	return r
}

// The Rust driver's HEDGING_SPEC, 14.1 to 14.4: both legs transient; a deadline
// before the threshold; a topology that changes during the race.
func TestReport149_EdgesOfTheRace(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true, gateway: two(false)}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Status: 503, SubStatus: 1, Delay: 300 * ms})
		w.Inject(gateway.Rule{Region: B, Status: 503, SubStatus: 2, Delay: 10 * ms})
		w.expect(read, "503/1", "A B", 300*ms)
		ctx, cancel := context.WithTimeout(w.Context(), 80*ms)
		defer cancel()
		w.RemoveAll()
		w.Inject(fault(A, gateway.Hang))
		w.expectWith(ctx, read, "deadline", "A", 80*ms)
	})
	inWorld(t, setup{policy: hedgedAt(100 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, time.Second))
		time.AfterFunc(50*ms, func() { w.SetRegions(A, C, B) })
		w.expect(read, "200", "A B", 100*ms)
	})
}

// Azure/azure-sdk-for-python#45141: what the options look like: none means the
// client's, Off is off, fields that are set count.
func TestReport151_ShapeOfTheOption(t *testing.T) {
	inWorld(t, setup{policy: hedgedAt(400 * ms), hedged: true}, func(w *world) {
		w.Inject(slow(A, time.Second))
		w.Inject(slow(B, 700*ms))
		ctx := w.Context()
		w.expectWith(ctx, read, "200", "A B C", 900*ms)
		w.expectWith(hedge.Off(ctx), read, "200", "A", time.Second)
		w.expectWith(hedge.With(ctx, hedge.Options{}), read, "200", "A B C", 900*ms)
		w.expectWith(hedge.With(ctx, hedge.Options{Threshold: 100 * ms}), read, "200", "A B C", 600*ms)
		w.expectWith(hedge.With(hedge.Off(ctx), hedge.Options{Threshold: 100 * ms, Step: 50 * ms}), read, "200", "A B C", 150*ms)
		w.expectWith(hedge.With(ctx, hedge.Options{Disabled: true, Threshold: 100 * ms}), read, "200", "A", time.Second)
	})
}

// authzed/spicedb#235 and the Go libraries for hedging: no goroutine is left
// after a thousand hedges, however they ended.
func TestReport153_NoGoroutineIsLeft(t *testing.T) {
	s := setup{policy: hedgedAt(10 * ms), hedged: true}
	s.policy.Breaker = noBreaker.Breaker
	s.gateway.LogLimit = 10
	inWorld(t, s, func(w *world) {
		for i, faults := range [][]gateway.Rule{
			{fault(A, gateway.Hang)},
			{slow(A, 15*ms), fault(B, gateway.Hang)},
			{slow(A, 15*ms), status(B, 503, 0), fault(C, gateway.Reset)},
			{fault("", gateway.Hang)},
		} {
			w.RemoveAll()
			for _, f := range faults {
				w.Inject(f)
			}
			for range 250 {
				ctx, cancel := context.WithTimeout(w.Context(), 20*ms)
				got, _ := w.do(ctx, read)
				cancel()
				require.Equal(w, map[bool]string{false: "200", true: "deadline"}[i == 3], got)
			}
			synctest.Wait()
			require.Zero(w, hedgesRunning())
			require.Zero(w, w.ha.State().Hedging.InFlight)
		}
	})
}
