package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// maxDetail bounds the text of an error that is told.
const maxDetail = 300

// tellTransition tells a change of the circuit breaker that no operation in
// flight brought about.
func (a *account) tellTransition(t breaker.Transition) { a.tell(nil, t) }

func (a *account) tell(s *telemetry.OperationSpan, t breaker.Transition) {
	a.openings.note(t, time.Now())
	container, where := a.partitions.describe(partition.ID(t.Key))
	a.middleware.observer.Decided(s, telemetry.Decision{
		Kind:      telemetry.KindBreaker,
		Account:   a.host,
		Container: container,
		Partition: where,
		Region:    a.topology.Load().Name(regions.Index(t.Region)),
		Write:     t.Write,
		From:      t.From.String(),
		To:        t.To.String(),
		Cause:     t.Cause.String(),
		Failures:  t.Failures,
		OpenFor:   t.OpenFor,
	})
}

// tellProbe tells how a probe of an opened region ended.
func (a *account) tellProbe(s *telemetry.OperationSpan, k breaker.Key, r regions.Index, write bool, e breaker.Event) {
	container, where := a.partitions.describe(partition.ID(k))
	a.middleware.observer.Decided(s, telemetry.Decision{
		Kind:      telemetry.KindProbe,
		Account:   a.host,
		Container: container,
		Partition: where,
		Region:    a.topology.Load().Name(r),
		Write:     write,
		Cause:     strings.ToLower(e.String()),
	})
}

// tellFailover tells a change of a partition's override.
func (a *account) tellFailover(s *telemetry.OperationSpan, c ppaf.Change) {
	a.middleware.observer.Decided(s, a.toldFailover(c))
}

func (a *account) toldFailover(c ppaf.Change) telemetry.Decision {
	t := a.topology.Load()
	container, where := a.partitions.describe(partition.ID(c.Key))
	return telemetry.Decision{
		Kind:      telemetry.KindOverride,
		Account:   a.host,
		Container: container,
		Partition: where,
		Write:     true,
		From:      t.Name(c.From),
		To:        t.Name(c.To),
		Change:    c.Kind(),
		Cause:     c.Cause.String(),
	}
}

// toldTopology is a new topology; before is nil for the first one.
func (a *account) toldTopology(before, after *regions.Topology) telemetry.Decision {
	d := telemetry.Decision{Kind: telemetry.KindTopology, Account: a.host, To: after.Name(after.Primary())}
	if before != nil {
		d.From = before.Name(before.Primary())
	}
	writable := "writable " + strings.Join(names(after, after.Writable()), ", ")
	d.Detail = fmt.Sprintf("readable %s; %s", strings.Join(names(after, after.Readable()), ", "), writable)
	if flag := after.PartitionFailover(); flag != nil && *flag {
		d.Detail += "; partition failover"
	}
	if flag := after.HedgingDisabled(); flag != nil && *flag {
		d.Detail += "; hedging disabled"
	}
	if ignored := after.Dropped(); len(ignored) > 0 {
		d.Detail += "; ignored: " + strings.Join(ignored, ", ")
	}
	return d
}

// tellOutcome tells the end of a refresh of ours: of the topology, or of a
// container's ranges.
func (a *account) tellOutcome(k telemetry.Kind, container string, err error) {
	d := telemetry.Decision{Kind: k, Account: a.host, Container: container}
	if err != nil {
		d.Cause = classOf(err)
		if d.Cause == telemetry.ErrorLostReply {
			d.Cause = "failed" // an answer that could not be used is among these
		}
		d.Detail = err.Error()[:min(len(err.Error()), maxDetail)]
	}
	a.middleware.observer.Decided(nil, d)
}

// tellHealth tells that a region's endpoint was marked, or is well again.
func (a *account) tellHealth(s *telemetry.OperationSpan, r regions.Index, write bool, change, cause string) {
	a.middleware.observer.Decided(s, telemetry.Decision{
		Kind: telemetry.KindHealth, Account: a.host, Region: a.topology.Load().Name(r), Write: write, Change: change, Cause: cause,
	})
}

// tellOverruled tells that Options.PreferredRegions win over those of a client.
func (m *Middleware) tellOverruled(clients []string) {
	m.observer.Decided(nil, telemetry.Decision{
		Kind:   telemetry.KindPreferred,
		Detail: fmt.Sprintf("used %q, client %q", m.options.PreferredRegions, clients),
	})
}

// countTraffic counts an attempt for its region's share.
func (w *walk) countTraffic(a answer) {
	w.endpoint.account.traffic.Count(int(a.region), w.kind.write(), a.verdict.signal == failure, a.start)
}

// lostTo reports whether an attempt under ctx was ended because another leg was
// first, and not by the caller.
func lostTo(ctx, caller context.Context) bool { return ctx.Err() != nil && caller.Err() == nil }
