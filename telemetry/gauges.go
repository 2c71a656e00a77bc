package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Gauges is what the observable metrics show, of all accounts together. Regions
// that have none are there with 0.
type Gauges struct {
	HedgesInFlight, HedgeLimit int
	OpenReads, OpenWrites      map[string]int // opened partitions by region
	Overrides                  map[string]int // partitions by the region that takes their writes
	RefusedByBreaker           int            // records that found no place since the start
	RefusedByFailover          int
}

// Observe lets the meter ask for the gauges whenever it collects. The returned
// function ends that. read must be safe for concurrent use and must not call
// back into the provider.
func (r *Recorder) Observe(read func() Gauges) (stop func()) {
	g := r.metrics.gauges
	registered, err := r.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		g.tell(o, read())
		return nil
	}, g.inFlight, g.limit, g.open, g.overrides, g.refused)
	if err != nil {
		return func() {}
	}
	return func() { _ = registered.Unregister() }
}

func (g gauges) tell(o metric.Observer, v Gauges) {
	o.ObserveInt64(g.inFlight, int64(v.HedgesInFlight))
	o.ObserveInt64(g.limit, int64(v.HedgeLimit))
	byRegion := func(i metric.Int64Observable, counts map[string]int, more ...attribute.KeyValue) {
		for region, n := range counts {
			o.ObserveInt64(i, int64(n), metric.WithAttributes(append(slices.Clip(more), AttrRegion.String(region))...))
		}
	}
	byRegion(g.open, v.OpenReads, AttrAccess.String(accessRead))
	byRegion(g.open, v.OpenWrites, AttrAccess.String(accessWrite))
	byRegion(g.overrides, v.Overrides)
	o.ObserveInt64(g.refused, int64(v.RefusedByBreaker), metric.WithAttributes(AttrPart.String("breaker")))
	o.ObserveInt64(g.refused, int64(v.RefusedByFailover), metric.WithAttributes(AttrPart.String("failover")))
}
