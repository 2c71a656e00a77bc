package policy

import (
	"context"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// observer is all that this package knows of telemetry: what happened is told
// to it as values, and nothing comes back but the context of a span.
// Operation spans may be nil, which records nothing and costs nothing.
type observer interface {
	// StartOperation begins the span of one routed operation. The returned
	// context carries it; it is ctx itself when nothing is recorded.
	StartOperation(ctx context.Context, o telemetry.OperationStart) (context.Context, *telemetry.OperationSpan)
	// TopologyChanged tells a new topology of an account; the first one too.
	TopologyChanged(t telemetry.Topology)
	// RefreshEnded tells the end of a topology refresh of our own.
	RefreshEnded(account string, err error)
	// RangesLoaded tells the end of a reading of a container's ranges.
	RangesLoaded(account string, err error)
	// BreakerChanged tells a transition of the circuit breaker.
	BreakerChanged(c telemetry.BreakerChange)
	// FailoverChanged tells a change of a partition's write region.
	FailoverChanged(c telemetry.FailoverChange)
	// StartProbe begins the span of a shadow probe: one of its own, linked to
	// the operation that it copies.
	StartProbe(ctx context.Context, o telemetry.OperationStart, a telemetry.Attempt) (context.Context, *telemetry.AttemptSpan)
	// UnknownRegion tells a preferred or excluded region that the account
	// does not have.
	UnknownRegion(name string)
	// PreferredRegionsDiffer tells that Options.PreferredRegions win over
	// different ones of the client.
	PreferredRegionsDiffer(ours, clients []string)
}
