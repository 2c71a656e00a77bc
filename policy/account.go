package policy

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// account is what is known of one account: its topology and the health of its
// regions, shared by all clients of the Middleware.
type account struct {
	middleware *Middleware
	host       string // normalised host of the client endpoint
	topology   atomic.Pointer[regions.Topology]
	health     atomic.Pointer[regions.Health]
	breaker    *breaker.Store
	ppaf       *ppaf.Store
	partitions *partitions
	pages      *hedge.Pages
	traffic    *telemetry.Traffic
	openings   openings
	loader     loader

	learning  sync.Mutex // one answer at a time; guards what follows
	changed   time.Time  // when the topology changed last
	confirmed time.Time  // when the account last told it

	mutex     sync.Mutex        // guards what follows; requests take it, so nothing long is done under it
	reader    *endpoint         // whose account read the template is
	template  *azpolicy.Request // an account read of the SDK, kept at the PerCall stage
	flight    *flight           // the refresh in flight, nil when there is none
	attempted time.Time         // when the last refresh of our own started
}

// flight is one refresh of the topology; done is closed at its end.
type flight struct {
	since time.Time
	done  chan struct{}
}

func newAccount(m *Middleware, host string) *account {
	a := &account{
		middleware: m,
		host:       host,
		breaker:    breaker.NewStore(m.options.Breaker),
		ppaf:       ppaf.NewStore(m.options.Failover),
		partitions: newPartitions(host),
		pages:      hedge.NewPages(),
		traffic:    telemetry.NewTraffic(),
	}
	a.loader.account = a
	return a
}

// learn takes over the answer of an account read. A malformed or empty answer
// is an error and keeps the last good topology.
func (a *account) learn(response *http.Response) error {
	body, err := runtime.Payload(response)
	if err != nil {
		return err
	}
	parsed, err := regions.ParseAccount(body)
	if err != nil {
		return err
	}
	told, err := a.takeOver(parsed)
	for _, d := range told {
		a.middleware.observer.Decided(nil, d)
	}
	return err
}

// takeOver makes a topology of an account's answer and returns what there is to
// tell of it once the mutex is free: behind the telling is the application.
func (a *account) takeOver(parsed regions.Account) ([]telemetry.Decision, error) {
	a.learning.Lock()
	defer a.learning.Unlock()
	before := a.topology.Load()
	after, err := regions.NewTopology(parsed, before)
	if err != nil {
		return nil, err
	}
	a.confirmed = time.Now()
	if before != nil && after.Equal(before) {
		return a.applyFailover(before, 0), nil
	}
	a.topology.Store(after)
	a.changed = a.confirmed
	gone := goneRegions(before, after)
	a.forgetRegions(gone)
	told := []telemetry.Decision{a.toldTopology(before, after)}
	if before != nil && gone&after.Known() != 0 {
		told = append(told, a.applyFailover(after, gone)...) // their places were given away at once
	}
	return append(told, a.applyFailover(after, 0)...), nil
}

// applyFailover lets failover follow the topology, less the regions in without.
func (a *account) applyFailover(t *regions.Topology, without regions.Set) (told []telemetry.Decision) {
	var readable regions.List
	all := t.Readable()
	for r := range all.All() {
		if !without.Has(r) {
			readable.Append(r)
		}
	}
	changes := a.ppaf.Apply(ppaf.Account{
		Primary:    t.Primary(),
		Readable:   readable,
		MultiWrite: t.MultiWrite(),
		Flag:       t.PartitionFailover(),
	}, time.Now())
	for _, c := range changes {
		told = append(told, a.toldFailover(c))
	}
	return told
}

// goneRegions are those that have left the account, by the places they had,
// which other regions may have taken.
func goneRegions(before, after *regions.Topology) (gone regions.Set) {
	if before == nil {
		return 0
	}
	for r := range regions.Index(regions.MaxRegions) {
		taken := regions.Normalize(before.Name(r)) != regions.Normalize(after.Name(r))
		if before.Known().Has(r) && (taken || !after.Known().Has(r)) {
			gone = gone.With(r)
		}
	}
	return gone
}

// forgetRegions drops what is known of regions that have left the account.
func (a *account) forgetRegions(gone regions.Set) {
	if gone.Empty() {
		return
	}
	a.changeHealth(func(h *regions.Health) *regions.Health { return h.Keep(^gone) })
	for r := range regions.Index(regions.MaxRegions) {
		if gone.Has(r) {
			a.breaker.Forget(breaker.Region(r))
			a.openings.forget(breaker.Region(r))
		}
	}
}

// keep holds on to an account read that succeeded, as the template for
// refreshes of our own: sent again from the PerCall stage, it is signed anew
// by the authorization policy behind us, for any host.
func (a *account) keep(e *endpoint, read *azpolicy.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.reader, a.template = e, read.Clone(context.Background())
}

// refresh asks for a new topology in the background and returns the flight
// that brings it, nil when none is due: there is one at a time, and the last
// one started at least interval ago.
func (a *account) refresh(now time.Time, interval time.Duration) *flight {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.flight != nil {
		return a.flight
	}
	early := !a.attempted.IsZero() && now.Sub(a.attempted).Abs() < interval
	if a.template == nil || early || a.middleware.background.Err() != nil {
		return nil
	}
	a.attempted = now
	a.flight = &flight{since: now, done: make(chan struct{})}
	go a.fly(a.flight, a.reader, a.template)
	return a.flight
}

// turn is how long the next refresh has to wait, false if there can be none.
func (a *account) turn(now time.Time) (time.Duration, bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	wait := min(a.attempted.Add(refreshInterval).Sub(now), refreshInterval) // less, but for a clock that went back
	return wait, a.template != nil && a.middleware.background.Err() == nil
}

// readSince reports whether the last refresh of our own began at t or later.
func (a *account) readSince(t time.Time) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return !a.attempted.Before(t)
}

// toldAt is when the topology changed last, and when the account last told it.
func (a *account) toldAt() (changed, confirmed time.Time) {
	a.learning.Lock()
	defer a.learning.Unlock()
	return a.changed, a.confirmed
}

// inFlight is the refresh in flight, nil when there is none.
func (a *account) inFlight() *flight {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.flight
}

// fly sends the refresh, tells how it ended and makes room for the next one.
func (a *account) fly(f *flight, reader *endpoint, template *azpolicy.Request) {
	err := reader.refreshAccount(a.middleware.background, template)
	a.tellOutcome(telemetry.KindRefresh, "", err)
	a.mutex.Lock()
	a.flight = nil
	a.mutex.Unlock()
	close(f.done)
}

// names are the regions of a list as the account spells them.
func names(t *regions.Topology, list regions.List) []string {
	out := make([]string, 0, list.Len())
	for r := range list.All() {
		out = append(out, t.Name(r))
	}
	return out
}
