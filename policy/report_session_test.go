package policy_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// hubHeader is what a read sends that only the partition's write region may serve.
const hubHeader = "x-ms-cosmos-hub-region-processing-only"

// Azure/azure-sdk-for-java#18498: queries were retried in the same region only.
func TestReport63_QueryPageLeavesTheRegionThatLags(t *testing.T) {
	for _, o := range itemReads {
		inWorld(t, setup{gateway: gateway.Options{Account: "report63" + o.name[:4], MultiWrite: true}}, func(w *world) {
			w.Inject(status(A, 404, 1002))
			got, took := w.do(w.Context(), o.call)
			require.Equal(w, "200", got)
			require.Zero(w, took)
			require.Equal(w, "A B", w.data())
			require.Equal(w, []string{"", ""}, w.headers(hubHeader)[len(w.headers(hubHeader))-2:], "no hub on a multi-write account")
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#5281: a token that no region knows: each region
// is asked once, at once, and the service's answer surfaces.
func TestReport65_TokenThatNoRegionKnows(t *testing.T) {
	token := "0:-1#999999"
	tests := []struct {
		account   gateway.Options
		preferred []string
		regions   string
	}{
		{multi, nil, "A B C"},
		{multi, []string{C, A}, "C A"},
		{single, nil, "A"},
		{single, []string{B, C}, "B A"},
	}
	for _, test := range tests {
		inWorld(t, setup{gateway: test.account, preferred: test.preferred}, func(w *world) {
			w.Inject(gateway.Rule{Status: 404, SubStatus: 1002})
			ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
			defer cancel()
			w.expectWith(ctx, readWith(token), "404/1002", test.regions, 0)
			for _, sent := range w.headers("x-ms-session-token") {
				require.Equal(w, token, sent, "the token of a request is never changed or dropped")
			}
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#5447: after the failover of a partition its write
// region is found. The design decides otherwise in one detail: the hub header
// goes with the first retry, not with the second, and stays for the operation.
func TestReport67_WriteRegionOfThePartitionIsFound(t *testing.T) {
	inWorld(t, setup{preferred: []string{B, A, C}}, func(w *world) {
		w.MoveRange("items", "0", C)
		w.Inject(status(B, 404, 1002))
		w.expect(read, "200", "B A C", 0)
		require.Equal(w, []string{"", "true", "true"}, w.headers(hubHeader))
		require.Equal(w, A+" read 403/3", w.Sequence()[1])
		// Only the write region surely has the session: it is asked even if excluded.
		w.ha.SetExcludedRegions(A, C)
		w.expect(read, "200", "B A C", 0)
		w.expect(read, "200", "B A C", 0) // a 403/3 to a read is no mark
	})
	inWorld(t, setup{preferred: []string{B}}, func(w *world) {
		w.Elect("items", "0") // nobody is the hub: the first region's answer is the caller's
		w.Inject(status(B, 404, 1002))
		w.expect(read, "404/1002", "B A C", 0)
	})
}

// Azure/azure-sdk-for-java#37040: session retries stay under the cap.
func TestReport69_SessionRetriesAreCapped(t *testing.T) {
	for limit, regions := range map[int]string{0: "A B C", 1: "A", 2: "A B", 3: "A B C", 100: "A B C"} {
		inWorld(t, setup{gateway: multi, policy: policy.Options{Retry: policy.RetryOptions{MaxAttempts: limit}}}, func(w *world) {
			w.Inject(gateway.Rule{Status: 404, SubStatus: 1002})
			w.expect(readWith("0:-1#9"), "404/1002", regions, 0)
			w.expect(upsert, "404/1002", regions, 0)
		})
	}
	inWorld(t, setup{preferred: []string{B, A, C}, policy: policy.Options{Retry: policy.RetryOptions{MaxAttempts: 2}}}, func(w *world) {
		w.MoveRange("items", "0", C)
		w.Inject(status(B, 404, 1002))
		w.expect(read, "404/1002", "B A", 0)
	})
}

// Azure/azure-sdk-for-rust#4625: a write is read back with its token although
// the region asked first lags: never the old item, never 404.
func TestReport71_OwnWritesAreRead(t *testing.T) {
	for _, account := range []gateway.Options{single, multi} {
		inWorld(t, setup{gateway: account, preferred: []string{B, C}}, func(w *world) {
			response, err := upsert(w.Context(), w.container)
			require.NoError(w, err)
			token := response.Header.Get("x-ms-session-token")
			require.NotEmpty(w, token)
			w.Inject(gateway.Rule{Region: B, Operations: []string{"readop"}, Status: 404, SubStatus: 1002})
			w.ResetLog()
			response, err = readWith(token)(w.Context(), w.container)
			require.NoError(w, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(w, err)
			require.Contains(w, string(body), `"n":1`)
			require.Equal(w, map[bool]string{false: "B A", true: "B C"}[account.MultiWrite], w.contacted())
			require.Equal(w, []string{token, token}, w.headers("x-ms-session-token"))
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#1945: a session retry is seen in the trace, with
// preferred regions and without.
func TestReport73_SessionRetryIsSeen(t *testing.T) {
	tests := []struct {
		account   gateway.Options
		preferred []string
		contacted []string
		reason    string // of the second attempt
	}{
		{single, []string{B}, []string{B, A}, "session"},
		{single, []string{C, B, A}, []string{C, A}, "session"},
		{multi, nil, []string{A, B}, "session"},
	}
	for _, test := range tests {
		recorder := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
		options := policy.Options{Telemetry: telemetry.Options{TracerProvider: provider}}
		inWorld(t, setup{gateway: test.account, preferred: test.preferred, policy: options}, func(w *world) {
			warm := len(recorder.Ended())
			w.Inject(gateway.Rule{Region: test.contacted[0], Status: 404, SubStatus: 1002})
			_, err := read(w.Context(), w.container)
			require.NoError(w, err)
			spans := recorder.Ended()[warm:]
			require.Len(w, spans, 3) // two attempts, then the operation
			first, second, operation := spans[0], spans[1], spans[2]
			require.Equal(w, "read_item items", operation.Name())
			require.Equal(w, "404", value(first, "db.response.status_code").AsString())
			require.Equal(w, int64(1002), value(first, "azure.cosmosdb.response.sub_status_code").AsInt64())
			require.Equal(w, "initial", value(first, "cosmos.ha.reason").AsString())
			require.Equal(w, test.reason, value(second, "cosmos.ha.reason").AsString())
			require.Equal(w, "200", value(second, "db.response.status_code").AsString())
			require.Equal(w, test.contacted, value(operation, "azure.cosmosdb.operation.contacted_regions").AsStringSlice())
			for _, attempt := range spans[:2] {
				require.Equal(w, operation.SpanContext().SpanID(), attempt.Parent().SpanID())
			}
		})
	}
}

// value is an attribute of a span.
func value(span sdktrace.ReadOnlySpan, name attribute.Key) attribute.Value {
	for _, a := range span.Attributes() {
		if a.Key == name {
			return a.Value
		}
	}
	return attribute.Value{}
}
