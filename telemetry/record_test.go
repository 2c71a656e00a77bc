package telemetry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// TestRecordConcurrently: operations under one context append, and the record
// may be read meanwhile.
func TestRecordConcurrently(t *testing.T) {
	r := silent()
	ctx, record := telemetry.Record(t.Context())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				operation(ctx, r, new(telemetry.OperationSpan))
				_ = record.String()
				_ = record.Contacted()
			}
		})
	}
	group.Wait()
	calls := record.Calls()
	require.Len(t, calls, 400)
	for _, c := range calls {
		require.True(t, c.Done)
		require.Equal(t, 200, c.Status)
		require.Len(t, c.Contacts, 1)
	}
	answers, total := record.RequestCharge()
	require.InDelta(t, 400, answers, 0)
	require.InDelta(t, 400, total, 0)
}

// TestRecordIsBounded: a context that is used for ever does not grow for ever.
func TestRecordIsBounded(t *testing.T) {
	r := silent()
	ctx, record := telemetry.Record(t.Context())
	for range 1100 {
		operation(ctx, r, new(telemetry.OperationSpan))
	}
	require.Len(t, record.Calls(), 1000)
	require.Equal(t, 100, record.Dropped())

	ctx, record = telemetry.Record(t.Context())
	ctx, span := r.StartOperation(ctx, new(telemetry.OperationSpan), start)
	for range 250 {
		_, attempt := span.StartAttempt(ctx, sent)
		attempt.End(telemetry.Result{Status: 503})
	}
	require.Len(t, record.Calls()[0].Contacts, 200)
	require.Equal(t, 50, record.Calls()[0].MoreContacts)
	require.False(t, record.Calls()[0].Done)
}

// TestRecordLate: what ends after the operation is in the record, and changes
// no copy that was taken before.
func TestRecordLate(t *testing.T) {
	r := silent()
	ctx, record := telemetry.Record(t.Context())
	ctx, span := r.StartOperation(ctx, new(telemetry.OperationSpan), start)
	_, attempt := span.StartAttempt(ctx, sent)
	span.Answered("East US")
	span.End(telemetry.Result{Class: telemetry.ErrorTimeout})
	early := record.Calls()[0]
	attempt.End(telemetry.Result{Status: 200, SubStatus: 0, Charge: 2})
	require.False(t, early.Contacts[0].Done)
	require.Equal(t, "timeout", early.Error)
	require.Equal(t, "read_item items (): West US initial 200", record.String())
}

// TestNilRecordsNothing: all methods of a nil span, and of the zero attempt.
func TestNilRecordsNothing(t *testing.T) {
	var s *telemetry.OperationSpan
	ctx, attempt := s.StartAttempt(t.Context(), sent)
	require.Equal(t, t.Context(), ctx)
	attempt.End(telemetry.Result{})
	s.Planned(telemetry.Plan{})
	s.Answered("")
	s.End(telemetry.Result{})
	require.Equal(t, t.Context(), s.Wake(t.Context(), sent, telemetry.Result{}))
	require.False(t, s.Recording())
	require.False(t, silent().Wants(t.Context()))
}

// TestContactedRegions: the same region twice in a row is one contact, since
// more than one region in the list means that more than one was asked.
func TestContactedRegions(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	r := telemetry.New(telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)), MeterProvider: metricnoop.NewMeterProvider(),
	})
	ctx, span := r.StartOperation(context.Background(), new(telemetry.OperationSpan), start)
	for _, region := range []string{"A", "A", "B", "A", "C", "D", "E"} {
		_, attempt := span.StartAttempt(ctx, telemetry.Attempt{Region: region, Reason: telemetry.NextRegion})
		attempt.End(telemetry.Result{Status: 503})
	}
	span.End(telemetry.Result{Status: 503})
	spans := exporter.GetSpans()
	require.Len(t, spans, 8)
	require.Contains(t, fmt.Sprint(spans[7].Attributes), `["A","B","A","C","D","E"]`)
}
