package policy

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

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

	// What each healthy request about items looks at is side by side.
	only      atomic.Pointer[endpoint]  // that all requests are for; nil: there is none yet, or others have come
	container atomic.Pointer[container] // that was used first
	looked    atomic.Pointer[time.Time] // when somebody to record operations was looked for last
	recorded  atomic.Bool               // there was somebody, now or once
	kept      atomic.Int32              // operations that azcore may repeat, see keep

	preferred regions.Names
	budget    *hedge.Budget
	sends     bool                  // there is a transport for requests of our own
	soleRetry bool                  // PerRetry is the only such policy beside azcosmos's own
	rewinds   bool                  // others than azcore may read a body, and rewind it
	private   runtime.Pipeline      // for requests of our own, over the client's transport
	retry     azpolicy.RetryOptions // the client's own, for its account reads
	alarms    alarms                // of the hedges

	// endpoints by URL.Host of the client endpoint, copied on each write. One
	// is made by an account read only, so there are few.
	endpoints atomic.Pointer[map[string]*endpoint]
	latest    atomic.Pointer[endpoint] // the one that was made last: mostly there is no other
	first     atomic.Pointer[endpoint] // that was the only one, now or once: its is what PerCall let go without an operation
	mixed     atomic.Bool              // requests for others have come
	mutex     sync.Mutex               // guards the writes of endpoints, only and mixed, and told
	told      map[string]bool          // unknown region names that were told already
}

func (m *Middleware) bind(preferred regions.Names, o azpolicy.ClientOptions) *binding {
	b := &binding{
		Middleware: m,
		preferred:  preferred,
		budget:     hedge.NewBudget(m.options.Hedge),
		sends:      o.Transport != nil,
		private:    newPrivatePipeline(o.Transport, o.Logging),
		rewinds:    true, // nobody knows better
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
	b.only.Store(nil) // before anybody can know another one
	b.endpoints.Store(&more)
	b.latest.Store(e)
	if len(more) == 1 && !b.mixed.Load() {
		b.first.Store(e)
		b.only.Store(e)
	}
	return e
}

// stranger notes that a request has come for an account that is not known.
func (b *binding) stranger() {
	if b.mixed.Load() {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.only.Store(nil) // before the next one can see that this was done
	b.mixed.Store(true)
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
