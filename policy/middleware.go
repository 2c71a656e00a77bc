package policy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Middleware is what its clients share: the accounts' topologies and the
// health of their regions, the exclusions, the options. Make one with [New]
// and keep it as long as its clients. It may serve several clients of several
// accounts, and is safe for concurrent use.
type Middleware struct {
	excluded  atomic.Pointer[regions.Names]
	observer  observer
	options   Options
	preferred regions.Names

	accountsMutex sync.Mutex          // guards accounts
	accounts      map[string]*account // by the normalised host of the client endpoint

	byHand *binding // the pair of policies of PerCall and PerRetry

	budgets   budgets
	unobserve func() // ends the reading of gauges

	background context.Context // of what runs in the background; ended by Close
	stop       context.CancelFunc
}

// New makes a Middleware, or returns an [*OptionError] that names the first
// option that cannot be used and its value.
func New(o Options) (*Middleware, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := &Middleware{
		options:   o,
		observer:  telemetry.New(o.Telemetry),
		preferred: regions.NewNames(o.PreferredRegions...),
		accounts:  make(map[string]*account),
	}
	m.background, m.stop = context.WithCancel(context.Background())
	m.SetExcludedRegions(o.ExcludedRegions...)
	m.byHand = m.bind(m.preferred, azpolicy.ClientOptions{Transport: o.Transport})
	m.unobserve = m.observer.Observe(m.gauges)
	return m, nil
}

// Apply adds both policies to the options of an azcosmos client, last, and
// gives it a transport when it has none: one with azcosmos's own limits (5 s to
// connect, 65 s for an attempt, 1000 idle connections, 100 of them per host).
// The slices of the options are copied, never written to. Options may serve
// several clients; each call makes a pair of policies of its own.
//
// Call it once, after everything else is set: policies that are added behind
// ours later see every attempt instead of every operation, and those that are put
// in front of ours later see a context that has ended where a hedge has won.
// Apply(nil) does nothing. Options that already hold policies of a Middleware are
// left as they are, so a second Apply is harmless.
func (m *Middleware) Apply(o *azcosmos.ClientOptions) {
	if o == nil || slices.ContainsFunc(o.PerRetryPolicies, isRoute) {
		return
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	preferred := m.preferred
	if len(preferred) == 0 {
		preferred = regions.NewNames(o.PreferredRegions...)
	} else if len(o.PreferredRegions) > 0 && !sameRegions(preferred, o.PreferredRegions) {
		m.tellOverruled(o.PreferredRegions)
	}
	b := m.bind(preferred, o.ClientOptions)
	b.soleRetry = len(o.PerRetryPolicies) == 0
	b.rewinds = !b.soleRetry || o.Logging.IncludeBody
	o.PerCallPolicies = append(slices.Clip(slices.Clone(o.PerCallPolicies)), operationPolicy{b})
	o.PerRetryPolicies = append(slices.Clip(slices.Clone(o.PerRetryPolicies)), routePolicy{b})
}

func sameRegions(ours regions.Names, clients []string) bool {
	return slices.EqualFunc(ours, regions.NewNames(clients...), func(a, b string) bool {
		return regions.Normalize(a) == regions.Normalize(b)
	})
}

func isRoute(p azpolicy.Policy) bool {
	_, ours := p.(routePolicy)
	return ours
}

// PerCall is the first policy of the pair, for wiring by hand: append it last
// to azcosmos.ClientOptions.PerCallPolicies, together with [Middleware.PerRetry].
// Preferred regions and the transport are those of [Options].
func (m *Middleware) PerCall() azpolicy.Policy { return operationPolicy{m.byHand} }

// PerRetry is the second policy of the pair: append it last to
// azcosmos.ClientOptions.PerRetryPolicies. See [Middleware.PerCall].
func (m *Middleware) PerRetry() azpolicy.Policy { return routePolicy{m.byHand} }

// SetExcludedRegions replaces the excluded regions of all clients from the next
// request on. Blank names are dropped; no names at all end the exclusion.
func (m *Middleware) SetExcludedRegions(names ...string) {
	excluded := regions.NewNames(names...)
	m.excluded.Store(&excluded)
}

// Close ends what runs in the background: a topology refresh of our own, a
// reading of ranges, and shadow probes, as far as they are in flight. Requests
// may go on; they are still routed, by what is known. Calling it again does
// nothing.
func (m *Middleware) Close() {
	m.stop()
	m.unobserve()
}

// hostKey is a host as it is compared: without case and the usual port.
func hostKey(host string) string { return strings.ToLower(strings.TrimSuffix(host, ":443")) }

// account returns the account that a client endpoint belongs to, and makes it
// when it is new.
func (m *Middleware) account(host string) *account {
	key := hostKey(host)
	m.accountsMutex.Lock()
	defer m.accountsMutex.Unlock()
	a := m.accounts[key]
	if a == nil {
		a = newAccount(m, key)
		m.accounts[key] = a
	}
	return a
}
