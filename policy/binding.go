package policy

import (
	"maps"
	"sync"
	"sync/atomic"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// binding is one pair of policies: what Apply, or wiring by hand, put together.
// The options it was made for may serve several clients, of several accounts.
type binding struct {
	*Middleware
	preferred regions.Names
	budget    *hedge.Budget
	sends     bool                  // there is a transport for requests of our own
	private   runtime.Pipeline      // for requests of our own, over the client's transport
	retry     azpolicy.RetryOptions // the client's own, for its account reads

	// endpoints by URL.Host of the client endpoint, copied on each write. One
	// is made by an account read only, so there are few.
	endpoints atomic.Pointer[map[string]*endpoint]
	latest    atomic.Pointer[endpoint] // the one that was made last: mostly there is no other
	mutex     sync.Mutex               // guards the writes of endpoints, and told
	told      map[string]bool          // unknown region names that were told already
}

func (m *Middleware) bind(preferred regions.Names, o azpolicy.ClientOptions) *binding {
	b := &binding{
		Middleware: m,
		preferred:  preferred,
		budget:     hedge.NewBudget(m.options.Hedge),
		sends:      o.Transport != nil,
		private:    newPrivatePipeline(o.Transport, o.Logging),
		retry:      o.Retry,
		told:       make(map[string]bool),
	}
	b.endpoints.Store(&map[string]*endpoint{})
	return b
}

// known returns the endpoint that a request was addressed to, nil when no
// account read has passed for it yet.
func (b *binding) known(host string) *endpoint {
	if e := b.latest.Load(); e != nil && e.host == host {
		return e
	}
	return (*b.endpoints.Load())[host]
}

// endpoint returns the client endpoint with this host, and makes it when it is new.
func (b *binding) endpoint(host string) *endpoint {
	if e := b.known(host); e != nil {
		return e
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if e := b.known(host); e != nil {
		return e
	}
	more := maps.Clone(*b.endpoints.Load())
	if len(more) == 0 {
		b.budgets.add(b.budget)
	}
	e := &endpoint{binding: b, host: host, account: b.account(host)}
	more[host] = e
	b.endpoints.Store(&more)
	b.latest.Store(e)
	return e
}

// tellUnknown tells each unknown region name once per pair of policies.
func (b *binding) tellUnknown(names []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, name := range names {
		if !b.told[name] {
			b.told[name] = true
			b.observer.Decided(nil, telemetry.Decision{Kind: telemetry.KindUnknownRegion, Region: name})
		}
	}
}

// endpoint is one client endpoint: an account as one pair of policies sees it.
type endpoint struct {
	*binding
	host    string // URL.Host as azcosmos writes it
	account *account
	current atomic.Pointer[view]
}

// view is a compiled [regions.View] with the exclusions it was made from.
type view struct {
	*regions.View
	excluded *regions.Names
}

// view returns the client's view on the account as it is now, nil while the
// topology is unknown. Compiling happens only after a change of the topology
// or of the exclusions; two requests may both do it, to the same end.
func (e *endpoint) view() *regions.View {
	topology, excluded := e.account.topology.Load(), e.excluded.Load()
	if topology == nil {
		return nil
	}
	if v := e.current.Load(); v != nil && v.Topology() == topology && v.excluded == excluded {
		return v.View
	}
	made := &view{regions.NewView(topology, e.preferred, *excluded, e.host), excluded}
	e.current.Store(made)
	e.tellUnknown(made.Unknown())
	return made.View
}
