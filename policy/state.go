package policy

import (
	"cmp"
	"maps"
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
	now := time.Now()
	s := telemetry.State{
		At:        now,
		Excluded:  slices.Clone([]string(*m.excluded.Load())),
		Hedging:   m.observer.Hedging(now),
		Accounts:  []telemetry.AccountState{},
		Decisions: m.observer.Decisions(),
	}
	s.Hedging.InFlight, s.Hedging.Limit = m.budgets.use()
	for _, a := range m.allAccounts() {
		if t := a.topology.Load(); t != nil {
			s.Accounts = append(s.Accounts, a.state(t, now))
		}
	}
	return s
}

// allAccounts is the accounts by endpoint.
func (m *Middleware) allAccounts() []*account {
	m.accountsMutex.Lock()
	accounts := slices.Collect(maps.Values(m.accounts))
	m.accountsMutex.Unlock()
	slices.SortFunc(accounts, func(a, b *account) int { return cmp.Compare(a.host, b.host) })
	return accounts
}

func (a *account) state(t *regions.Topology, now time.Time) telemetry.AccountState {
	s := telemetry.AccountState{
		Endpoint:          a.host,
		MultiWrite:        t.MultiWrite(),
		PartitionFailover: t.PartitionFailover(),
		HedgingDisabled:   t.HedgingDisabled(),
		Unwell:            []telemetry.PartitionState{},
	}
	s.Since, s.Confirmed = a.toldAt()
	open := a.addUnwell(&s, t)
	readable, writable := t.Readable(), t.Writable()
	for _, r := range slices.Concat(slices.Collect(readable.All()), slices.Collect(writable.All())) {
		if name := t.Name(r); !slices.ContainsFunc(s.Regions, func(s telemetry.RegionState) bool { return s.Name == name }) {
			s.Regions = append(s.Regions, a.regionState(t, r, now))
			s.Regions[len(s.Regions)-1].Open = open[r]
		}
	}
	addParts(s.Regions)
	a.addOverrides(&s, t)
	return s
}

// addUnwell lists what the breaker holds, and returns for how many partitions
// it has opened each region. Only what is listed is looked at closely: there
// may be very many.
func (a *account) addUnwell(s *telemetry.AccountState, t *regions.Topology) (open map[regions.Index]int) {
	open = make(map[regions.Index]int)
	var list []breaker.Entry
	for e := range a.breaker.All {
		s.UnwellCount++
		if e.State == breaker.Unavailable {
			s.OpenCount++
			open[regions.Index(e.Region)]++
		}
		if list = append(list, e); len(list) == 10*maxListed {
			list = oldest(list)
		}
	}
	for _, e := range oldest(list) {
		s.Unwell = append(s.Unwell, a.partitionState(t, e))
	}
	return open
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

// oldest keeps the entries that have been unwell for longest, the opened ones
// first.
func oldest(list []breaker.Entry) []breaker.Entry {
	healthy := func(e breaker.Entry) int {
		if e.State == breaker.Unavailable {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b breaker.Entry) int {
		return cmp.Or(cmp.Compare(healthy(a), healthy(b)), a.Since.Compare(b.Since), cmp.Compare(a.Key.Container, b.Key.Container),
			cmp.Compare(a.Key.Range, b.Key.Range), cmp.Compare(a.Region, b.Region))
	})
	return list[:min(len(list), maxListed)]
}

// addParts makes shares of the regions' counts.
func addParts(list []telemetry.RegionState) {
	var reads, writes uint64
	for _, r := range list {
		reads += r.Reads.Attempts
		writes += r.Writes.Attempts
	}
	for i := range list {
		list[i].Reads.Part = float64(list[i].Reads.Attempts) / float64(max(reads, 1))
		list[i].Writes.Part = float64(list[i].Writes.Attempts) / float64(max(writes, 1))
	}
}

func (a *account) regionState(t *regions.Topology, r regions.Index, now time.Time) telemetry.RegionState {
	readable, writable := t.Readable(), t.Writable()
	s := telemetry.RegionState{
		Name:     t.Name(r),
		Host:     t.Host(r),
		Readable: readable.Has(r),
		Writable: writable.Has(r),
		Primary:  r == t.Primary(),
	}
	s.Reads.Attempts, s.Reads.Failed = a.traffic.Region(int(r), false, now)
	s.Writes.Attempts, s.Writes.Failed = a.traffic.Region(int(r), true, now)
	for _, m := range a.health.Load().Marks() {
		at, trial := m.At, m.At.Add(regions.TrialAfter)
		switch {
		case m.Region != r || now.Sub(at) > regions.MarkFor:
		case m.Write && !t.MultiWrite():
			s.UnwellWrites = &at // orders nothing, so there is no trial: it lapses
		case m.Write:
			s.UnwellWrites, s.TrialWrites = &at, &trial
		default:
			s.UnwellReads, s.TrialReads = &at, &trial
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
		Unwell:    e.Since,
		Probing:   e.Probing,
	}
	if o, known := a.openings.of(e); known {
		s.Unwell, s.Cause = o.since, o.cause.String()
	}
	if e.State == breaker.Unavailable {
		at := e.Since.Add(e.OpenFor)
		s.NextProbe = &at
	}
	return s
}
