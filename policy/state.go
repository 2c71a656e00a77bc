package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// maxListed bounds the lists of the state that grow with the partitions.
const maxListed = 200

// State returns what is known now: the accounts, their regions, and what is
// unwell. It is a value of the caller's own. It locks nothing that a request
// waits for, and takes time in proportion to what is unwell.
func (m *Middleware) State() telemetry.State {
	s := telemetry.State{
		At:       time.Now(),
		Excluded: slices.Clone([]string(*m.excluded.Load())),
		Accounts: []telemetry.AccountState{},
	}
	m.accountsMutex.Lock()
	accounts := make([]*account, 0, len(m.accounts))
	for _, a := range m.accounts {
		accounts = append(accounts, a)
	}
	m.accountsMutex.Unlock()
	slices.SortFunc(accounts, func(a, b *account) int { return cmp.Compare(a.host, b.host) })
	for _, a := range accounts {
		if t := a.topology.Load(); t != nil {
			s.Accounts = append(s.Accounts, a.state(t))
		}
	}
	return s
}

func (a *account) state(t *regions.Topology) telemetry.AccountState {
	s := telemetry.AccountState{
		Endpoint:          a.host,
		Since:             a.changedAt(),
		MultiWrite:        t.MultiWrite(),
		PartitionFailover: t.PartitionFailover(),
		HedgingDisabled:   t.HedgingDisabled(),
		Unwell:            []telemetry.PartitionState{},
	}
	readable, writable := t.Readable(), t.Writable()
	for _, r := range slices.Concat(slices.Collect(readable.All()), slices.Collect(writable.All())) {
		if name := t.Name(r); !slices.ContainsFunc(s.Regions, func(s telemetry.RegionState) bool { return s.Name == name }) {
			s.Regions = append(s.Regions, a.regionState(t, r))
		}
	}
	for e := range a.breaker.All {
		s.UnwellCount++
		s.Unwell = append(s.Unwell, a.partitionState(t, e))
		if len(s.Unwell) == 2*maxListed {
			s.Unwell = oldest(s.Unwell)
		}
	}
	s.Unwell = oldest(s.Unwell)
	a.addOverrides(&s, t)
	return s
}

// addOverrides lists what failover holds.
func (a *account) addOverrides(s *telemetry.AccountState, t *regions.Topology) {
	s.Overrides = []telemetry.OverrideState{}
	for e := range a.ppaf.All(time.Now()) {
		s.OverrideCount++
		if len(s.Overrides) == maxListed {
			continue
		}
		container, where := a.partitions.describe(partition.ID(e.Key))
		s.Overrides = append(s.Overrides, telemetry.OverrideState{
			Container: container,
			Partition: where,
			Region:    t.Name(e.Start.Override),
			Slow:      t.Name(e.Start.Slow),
			Hub:       t.Name(e.Hub),
			Timeouts:  e.Timeouts,
		})
	}
	slices.SortFunc(s.Overrides, func(a, b telemetry.OverrideState) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Partition, b.Partition))
	})
}

// oldest keeps the entries that have been unwell for longest.
func oldest(list []telemetry.PartitionState) []telemetry.PartitionState {
	slices.SortFunc(list, func(a, b telemetry.PartitionState) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Container, b.Container),
			cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Region, b.Region))
	})
	return list[:min(len(list), maxListed)]
}

func (a *account) regionState(t *regions.Topology, r regions.Index) telemetry.RegionState {
	readable, writable := t.Readable(), t.Writable()
	s := telemetry.RegionState{
		Name:     t.Name(r),
		Host:     t.Host(r),
		Readable: readable.Has(r),
		Writable: writable.Has(r),
		Primary:  r == t.Primary(),
	}
	for _, m := range a.health.Load().Marks() {
		switch at := m.At; {
		case m.Region != r || time.Since(at) > regions.MarkFor:
		case m.Write:
			s.UnwellWrites = &at
		default:
			s.UnwellReads = &at
		}
	}
	return s
}

func (a *account) partitionState(t *regions.Topology, e breaker.Entry) telemetry.PartitionState {
	container, where := a.partitions.describe(partition.ID(e.Key))
	s := telemetry.PartitionState{
		Container: container,
		Partition: where,
		Region:    t.Name(regions.Index(e.Region)),
		Write:     e.Write,
		State:     e.State.String(),
		Failures:  e.Failures,
		Since:     e.Since,
		Probing:   e.Probing,
	}
	if e.State == breaker.Unavailable {
		at := e.Since.Add(e.OpenFor)
		s.NextProbe = &at
	}
	return s
}
