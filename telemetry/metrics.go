package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// metrics are the instruments and the prebuilt attribute sets they are used
// with. All are made once: what OpenTelemetry's global meter makes starts to
// work when an SDK is installed.
type metrics struct {
	duration, charge, contacted, attemptTime metric.Float64Histogram
	extra                                    metric.Float64Counter
	attempts                                 metric.Int64Counter
	decisions                                map[Kind]metric.Int64Counter
	outcomes                                 metric.Int64Counter
	gauges                                   gauges

	attemptSets   *sets[attemptKey, attemptSets]
	operationSets *sets[operationKey, operationSets]
	decisionSets  *sets[decisionKey, []metric.AddOption]
}

// gauges are the instruments that are read, not written.
type gauges struct {
	inFlight, limit, open, overrides, refused metric.Int64ObservableUpDownCounter
}

func newMetrics(meter metric.Meter) *metrics {
	return &metrics{
		duration:    histogram(meter, metricDuration, secondsBuckets),
		charge:      histogram(meter, metricCharge, chargeBuckets),
		contacted:   histogram(meter, metricContacted, contactedBuckets),
		attemptTime: histogram(meter, metricAttemptTime, secondsBuckets),
		extra:       units(meter, metricExtraCharge),
		attempts:    counter(meter, metricAttempts),
		outcomes:    counter(meter, metricOutcomes),
		decisions: map[Kind]metric.Int64Counter{
			KindFallback:      counter(meter, metricFallbacks),
			KindHedgeStarted:  counter(meter, metricStarted),
			KindHedgeWon:      counter(meter, metricWon),
			KindHedgeWithheld: counter(meter, metricWithheld),
			KindBreaker:       counter(meter, metricTransitions),
			KindProbe:         counter(meter, metricProbes),
			KindOverride:      counter(meter, metricMoves),
			KindHealth:        counter(meter, metricHealth),
			KindTopology:      counter(meter, metricTopologies),
			KindRefresh:       counter(meter, metricRefreshes),
			KindRanges:        counter(meter, metricRangeReads),
		},
		gauges: gauges{
			inFlight: gauge(meter, metricInFlight), limit: gauge(meter, metricLimit),
			open: gauge(meter, metricOpen), overrides: gauge(meter, metricOverrides),
			refused: gauge(meter, metricRefused),
		},
		attemptSets: newSets(maxAttemptSets, attemptKey{
			region: other, operation: other, reason: other,
			result: result{class: other},
		}, buildAttempt),
		operationSets: newSets(maxOperationSets, operationKey{
			operation: other, database: other, container: other,
			result: result{class: other},
		}, buildOperation),
		decisionSets: newSets(maxDecisionSets, decisionKey{region: other, cause: other}, buildDecision),
	}
}

func histogram(meter metric.Meter, m Metric, buckets []float64) metric.Float64Histogram {
	i, err := meter.Float64Histogram(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Description),
		metric.WithExplicitBucketBoundaries(buckets...))
	if refused(err) {
		return noop.Float64Histogram{}
	}
	return i
}

func counter(meter metric.Meter, m Metric) metric.Int64Counter {
	i, err := meter.Int64Counter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Description))
	if refused(err) {
		return noop.Int64Counter{}
	}
	return i
}

func units(meter metric.Meter, m Metric) metric.Float64Counter {
	i, err := meter.Float64Counter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Description))
	if refused(err) {
		return noop.Float64Counter{}
	}
	return i
}

func gauge(meter metric.Meter, m Metric) metric.Int64ObservableUpDownCounter {
	i, err := meter.Int64ObservableUpDownCounter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Description))
	if refused(err) {
		return noop.Int64ObservableUpDownCounter{}
	}
	return i
}

// refused tells OpenTelemetry's own handler of a provider that does not make an
// instrument; one that does nothing takes its place.
func refused(err error) bool {
	if err != nil {
		otel.Handle(err)
	}
	return err != nil
}

// enabled reports whether what requests do is measured at all.
func (m *metrics) enabled(ctx context.Context) bool {
	return m.attempts.Enabled(ctx) || m.duration.Enabled(ctx)
}

func (m *metrics) attempt(ctx context.Context, operation string, a Attempt, r Result, took time.Duration) {
	count, timed := m.attempts.Enabled(ctx), m.attemptTime.Enabled(ctx)
	if !count && !timed {
		return
	}
	b := r.bounded()
	key := attemptKey{region: a.Region, operation: operation, reason: a.Reason, result: b}
	set := m.attemptSets.get(key, key.place())
	if count {
		m.attempts.Add(ctx, 1, set.count...)
	}
	// How long it took until we gave up says nothing about the region.
	if timed && b.class != ErrorLost && b.class != ErrorCancelled {
		m.attemptTime.Record(ctx, took.Seconds(), set.duration...)
	}
}

func (m *metrics) operation(ctx context.Context, o OperationStart, r Result, took time.Duration, contacted int, extra float64) {
	key := operationKey{operation: o.Name, database: o.Database, container: o.Container, result: r.bounded()}
	set := m.operationSets.get(key, key.place())
	if m.duration.Enabled(ctx) {
		m.duration.Record(ctx, took.Seconds(), set.duration...)
	}
	if contacted > 0 && m.contacted.Enabled(ctx) {
		m.contacted.Record(ctx, float64(contacted), set.contacted...)
	}
	if r.Charge > 0 && m.charge.Enabled(ctx) {
		m.charge.Record(ctx, r.Charge, set.charge...)
	}
	if extra > 0 {
		m.extra.Add(ctx, extra, set.extra...)
	}
}

// extraCharge counts an answer that came after the operation's end.
func (m *metrics) extraCharge(ctx context.Context, o OperationStart, extra float64) {
	if extra > 0 && m.extra.Enabled(ctx) {
		key := operationKey{operation: o.Name, database: o.Database, container: o.Container, result: result{status: 200}}
		m.extra.Add(ctx, extra, m.operationSets.get(key, key.place()).extra...)
	}
}

// outcome counts how a hedged operation ended.
func (m *metrics) outcome(ctx context.Context, state string) {
	if m.outcomes.Enabled(ctx) {
		m.outcomes.Add(ctx, 1, m.decisionSets.get(decisionKey{result: state}, len(state))...)
	}
}

// decided counts a decision, by the fields that have few values.
func (m *metrics) decided(ctx context.Context, d Decision) {
	count := m.decisions[d.Kind]
	if count == nil || !count.Enabled(ctx) {
		return
	}
	k := decisionKey{}
	switch d.Kind {
	case KindFallback, KindHedgeStarted, KindHedgeWon:
		k = decisionKey{region: d.Region, operation: d.Operation}
	case KindHedgeWithheld:
		k = decisionKey{operation: d.Operation, cause: d.Cause}
	case KindBreaker:
		k = decisionKey{region: d.Region, access: d.access(), to: d.To, cause: d.Cause}
	case KindProbe:
		k = decisionKey{region: d.Region, access: d.access(), result: d.Cause}
	case KindOverride:
		k = decisionKey{region: d.To, cause: d.Cause, result: d.Change}
	case KindHealth:
		k = decisionKey{region: d.Region, access: d.access(), result: d.Change}
	case KindRefresh, KindRanges:
		k = decisionKey{result: orOK(d.Cause)}
	}
	k.kind = d.Kind
	count.Add(ctx, 1, m.decisionSets.get(k, len(k.kind)+len(k.region)+len(k.cause))...)
}

func orOK(cause string) string {
	if cause == "" {
		return "ok"
	}
	return cause
}
