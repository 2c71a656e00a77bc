package telemetry

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Plan is where an operation may go, and why: the lists as they were when that
// was decided, by the account's names of the regions.
type Plan struct {
	Applicable []string // in the order to ask them
	Rule       string   // the rule of package regions that made the list
	Fallback   bool     // exclusions and opened regions left only the fallback
	Excluded   []string // in force for the request
	Opened     []string // by the breaker for the partition, oldest first
	Override   string   // the region that takes the partition's writes, "" for the account's write region
}

// Recording reports whether details of the operation are kept: by its span or
// its record.
func (s *OperationSpan) Recording() bool {
	return s != nil && (s.record != nil || s.tracing() != nil)
}

// Planned tells the applicable regions and the rule that made the list. A later
// plan of the same operation replaces it.
func (s *OperationSpan) Planned(p Plan) {
	if s == nil {
		return
	}
	s.record.change(func(c *Call) { c.Plan = p })
	span := s.tracing()
	if span == nil {
		return
	}
	list := append(make([]attribute.KeyValue, 0, 6), AttrApplicableRegions.StringSlice(p.Applicable), AttrRule.String(p.Rule))
	if p.Fallback {
		list = append(list, AttrFallback.Bool(true))
	}
	if len(p.Excluded) > 0 {
		list = append(list, AttrExcludedRegions.StringSlice(p.Excluded))
	}
	if len(p.Opened) > 0 {
		list = append(list, AttrOpenedRegions.StringSlice(p.Opened))
	}
	if p.Override != "" {
		list = append(list, AttrOverride.String(p.Override))
	}
	span.SetAttributes(list...)
}

// Answered tells the region whose answer the caller gets.
func (s *OperationSpan) Answered(region string) {
	if s == nil {
		return
	}
	s.mutex.Lock()
	s.answered = region
	s.mutex.Unlock()
}

// RefreshAsked tells that the operation has asked for a topology refresh, which
// runs in the background and tells of itself, or waits for one in flight.
func (s *OperationSpan) RefreshAsked(account, cause string) {
	if s.Recording() {
		s.event(Decision{Kind: KindRefresh, At: time.Now(), Account: account, Change: "asked", Cause: cause})
	}
}

// event puts a decision on the operation's span and into its record.
func (s *OperationSpan) event(d Decision) {
	if s == nil {
		return
	}
	s.record.decided(d)
	if span := s.tracing(); span != nil {
		span.AddEvent(prefix+string(d.Kind), trace.WithTimestamp(d.At), trace.WithAttributes(d.attributes()...))
	}
}

// attributes is what the decision says, without what it does not.
func (d Decision) attributes() []attribute.KeyValue {
	list := []attribute.KeyValue{
		AttrRegion.String(d.Region), AttrFrom.String(d.From), AttrTo.String(d.To), AttrChange.String(d.Change),
		AttrCause.String(d.Cause), AttrPartition.String(d.Partition), AttrDetail.String(d.Detail),
		semconv.DBCollectionName(d.Container),
	}
	list = slices.DeleteFunc(list, func(a attribute.KeyValue) bool { return a.Value.AsString() == "" })
	switch d.Kind {
	case KindBreaker, KindHealth, KindProbe:
		list = append(list, AttrAccess.String(d.access()))
	}
	if d.Failures > 0 {
		list = append(list, AttrFailures.Int(d.Failures))
	}
	if d.OpenFor > 0 {
		list = append(list, AttrOpenFor.Float64(d.OpenFor.Seconds()))
	}
	return list
}
