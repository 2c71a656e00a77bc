package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// The marked values: what must be nowhere.
const (
	secretKey   = "PK-value-7f3a"
	secretID    = "item-id-91bc"
	secretToken = "0:-1#777#5=session-mark"
)

// everywhere is all that telemetry has told, as text.
func (w *told) everywhere(record *telemetry.Operation) map[string]string {
	w.Helper()
	state, err := json.Marshal(w.ha.State())
	require.NoError(w, err)
	page := httptest.NewRecorder()
	telemetry.Handler(w.ha.State).ServeHTTP(page, httptest.NewRequestWithContext(context.Background(), "GET", "/", nil))
	spans, err := json.Marshal(w.spans.GetSpans())
	require.NoError(w, err)
	calls, err := json.Marshal(record.Calls())
	require.NoError(w, err)
	return map[string]string{
		"state": string(state), "page": page.Body.String(), "spans": string(spans) + spanText(w.spans.GetSpans()),
		"metrics": fmt.Sprintf("%+v", w.collect()), "log": w.log.String(),
		"record": string(calls) + record.String(),
	}
}

// spanText is the attributes of spans and events, whose values JSON hides.
func spanText(list tracetest.SpanStubs) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintln(&b, s.Name, s.Status.Description)
		all := append([]attribute.KeyValue(nil), s.Attributes...)
		for _, e := range s.Events {
			fmt.Fprintln(&b, e.Name)
			all = append(all, e.Attributes...)
		}
		for _, a := range all {
			fmt.Fprintln(&b, a.Key, a.Value.String())
		}
	}
	return b.String()
}

// TestPrivacy: through every mechanism, on both kinds of accounts, neither the
// value of a partition key nor the id of an item, authorization or a session
// token is in any span, metric, line, record, state or page.
func TestPrivacy(t *testing.T) {
	yes := true
	for _, multi := range []bool{false, true} {
		s := setup{
			gateway: gateway.Options{MultiWrite: multi, PartitionFailover: &yes},
			policy:  policy.Options{Hedge: hedge.Options{Threshold: 50 * time.Millisecond, Writes: true}}, hedged: true,
		}
		inTold(t, s, func(w *told) {
			ctx, record := telemetry.Record(w.Context())
			w.everyMechanism(ctx)
			synctest.Wait()
			told := w.everywhere(record)
			require.Contains(w, told["spans"], "breaker.transition")
			require.Contains(w, told["log"], "circuit breaker")
			require.Contains(w, told["page"], "items")
			for _, e := range w.Log() {
				if token := e.Header.Get("Authorization"); token != "" {
					for where, text := range told {
						require.NotContains(w, text, token[len(token)-20:], where)
					}
				}
			}
			for _, secret := range []string{secretKey, secretID, "session-mark", "type%3dmaster", "sig%3d", accountKey} {
				for where, text := range told {
					require.NotContains(w, text, secret, where)
				}
			}
		})
	}
}

// everyMechanism lets the marked item be read and written through faults.
func (w *told) everyMechanism(ctx context.Context) {
	token, pk := secretToken, key(secretKey)
	options := &azcosmos.ItemOptions{SessionToken: &token}
	_, err := w.container.UpsertItem(ctx, pk, item(secretID, secretKey, 1), nil)
	require.NoError(w, err)
	run := func(n int) {
		for range n {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			_, _ = w.container.ReadItem(ctx, pk, secretID, options)
			_, _ = w.container.UpsertItem(ctx, pk, item(secretID, secretKey, 1), options)
			_, _ = w.container.NewQueryItemsPager("SELECT * FROM c WHERE c.id = '"+secretID+"'", pk, nil).NextPage(ctx)
			cancel()
		}
	}
	for _, f := range []gateway.Rule{status(A, 503, 0), status(A, 404, 1002), status(A, 403, 3), fault(A, gateway.Hang), fault(A, gateway.Reset), fault("", gateway.Refuse)} {
		injected := w.Inject(f)
		run(12)
		injected.Remove()
		time.Sleep(openAtMost)
		run(2)
	}
}

// TestReport157_MetricAttributes: semconv#1438: a client id as a dimension
// explodes the cardinality. Metrics have these attributes and no others, and
// twice the partitions make no more series.
func TestReport157_MetricAttributes(t *testing.T) {
	allowed := map[attribute.Key]bool{}
	for key := range strings.FieldsSeq(`db.system.name db.operation.name db.namespace db.collection.name db.response.status_code error.type
		azure.cosmosdb.response.sub_status_code cosmos.ha.region cosmos.ha.reason cosmos.ha.access cosmos.ha.from cosmos.ha.to
		cosmos.ha.cause cosmos.ha.result cosmos.ha.part`) {
		allowed[attribute.Key(key)] = true
	}
	inTold(t, setup{}, func(w *told) {
		w.Inject(status(A, 503, 0))
		run := func(partitions int) (series int) {
			for p := range partitions {
				for range 11 {
					_, _ = w.container.NewQueryItemsPager("SELECT * FROM c", key(fmt.Sprint("key", p)), nil).NextPage(w.Context())
				}
			}
			for name, data := range w.collect() {
				for _, set := range setsOf(data) {
					series++
					for _, a := range set.ToSlice() {
						require.True(w, allowed[a.Key], "%s has %s", name, a.Key)
					}
				}
			}
			return series
		}
		few := run(5)
		require.Equal(w, few, run(40), "series do not grow with partitions")
	})
}

func setsOf(data metricdata.Aggregation) (list []attribute.Set) {
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			list = append(list, p.Attributes)
		}
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			list = append(list, p.Attributes)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			list = append(list, p.Attributes)
		}
	}
	return list
}

// TestReport159_OwnNamespace: semconv#1543: the conventions have no metrics of
// attempts and regions. Those are in our own namespace, and every metric that
// is told is in the list of names.
func TestReport159_OwnNamespace(t *testing.T) {
	known := map[string]bool{}
	for _, m := range telemetry.Metrics() {
		known[m.Name] = true
		require.NotEmpty(t, m.Description)
		require.NotEmpty(t, m.Unit)
		conventional := m.Name == "db.client.operation.duration" || m.Name == "azure.cosmosdb.client.operation.request_charge"
		require.True(t, conventional || strings.HasPrefix(m.Name, "cosmos.ha."), m.Name)
	}
	inTold(t, setup{hedged: true}, func(w *told) {
		w.Inject(status(A, 503, 0))
		w.expect(read, "200", "A B", 0)
		require.NotEmpty(w, w.collect())
		for name := range w.collect() {
			require.True(w, known[name], name)
		}
	})
}

// TestSilentProvidersAllocateNothing: a read whose telemetry goes to an SDK meter
// allocates the operation and the one value that is told about it, and nothing
// for each measurement; without a listener not even those.
func TestSilentProvidersAllocateNothing(t *testing.T) {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	silent := instantClient(t, &policy.Options{Hedge: hedge.Options{Disabled: true}})
	metered := instantClient(t, &policy.Options{Hedge: hedge.Options{Disabled: true}, Telemetry: telemetry.Options{MeterProvider: provider}})
	readOnce(t, silent)
	readOnce(t, metered)
	without := testing.AllocsPerRun(500, func() { readOnce(t, silent) })
	with := testing.AllocsPerRun(500, func() { readOnce(t, metered) })
	t.Logf("ReadItem: %.0f allocations, %.0f with a meter", without, with)
	require.LessOrEqual(t, with-without, 2.0)
}
