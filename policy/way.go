package policy

import (
	"net/http"
	"strings"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/internal/given"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// view is a compiled [regions.View] with the exclusions it was made from, and
// the straight ways in it.
type view struct {
	*regions.View
	endpoint          *endpoint
	excluded          *regions.Names
	read, page, write way
}

// way is how requests of one kind go straight.
type way struct {
	view       *view
	region     regions.Index // that a walk would ask first; None: they always take a walk
	host       string        // of the region
	candidates int           // regions that hedges may go to; 0: there are none
	write      bool
	paged      bool // they are for pages of a query
}

// view returns the client's view on the account as it is now, nil while the
// topology is unknown.
func (e *endpoint) view() *regions.View {
	if v := e.viewed(); v != nil {
		return v.View
	}
	return nil
}

// viewed is view with what was worked out beside. That happens only after a
// change of the topology or of the exclusions; two requests may both do it, to
// the same end.
func (e *endpoint) viewed() *view {
	topology, excluded := e.account.topology.Load(), e.excluded.Load()
	if topology == nil {
		return nil
	}
	if v := e.current.Load(); v != nil && v.Topology() == topology && v.excluded == excluded {
		return v
	}
	made := &view{View: regions.NewView(topology, e.preferred, *excluded, e.host), endpoint: e, excluded: excluded}
	made.read, made.page, made.write = made.way(false), made.way(false), made.way(true)
	if base := made.ReadBase(); made.page.region != base.First() {
		made.page.region = regions.None // each page would have to be remembered, see rememberPage
	}
	made.page.paged = true
	e.current.Store(made)
	e.tellUnknown(made.Unknown())
	return made
}

// way works out the straight way of reads or writes.
func (v *view) way(write bool) way {
	e, w := v.endpoint, way{view: v, region: regions.None, write: write}
	p := v.Plan(regions.Route{Write: write, Excluded: v.ClientExcluded(), Override: regions.None})
	if p.Fallback || e.options.Retry.AttemptTimeout > 0 {
		return w
	}
	q := hedge.Query{
		Document:        true,
		Write:           write,
		MultiWrite:      v.Topology().MultiWrite(),
		AccountDisabled: v.Topology().HedgingForbidden(),
		Candidates:      hedge.Candidates(p.Regions, v.ClientExcluded()).Len(),
	}
	w.region = p.Regions.First()
	w.host = v.Topology().Host(w.region)
	if ok, _ := hedge.Eligible(e.options.Hedge, q); ok && e.sends {
		w.candidates = q.Candidates
	}
	return w
}

// of is the way of a request about items.
func (v *view) of(raw *http.Request) *way {
	switch {
	case raw.Method == http.MethodGet:
		return &v.read
	case raw.Method == http.MethodPost && request.IsItemQuery(raw.Header):
		return &v.page
	default:
		return &v.write
	}
}

// straightEndpoint is the endpoint whose requests about items PerCall lets go
// without an operation, nil if this request is none, or others have come.
// PerRetry makes the operation where one is needed.
func (b *binding) straightEndpoint(raw *http.Request) (e *endpoint, containerLink string) {
	if e = b.only.Load(); e == nil {
		return nil, ""
	}
	if c := b.container.Load(); c != nil && c.has(raw) {
		return e, c.link
	}
	link, ok := request.Items(raw.Method, raw.URL)
	if !ok {
		return nil, ""
	}
	if b.container.Load() == nil {
		b.container.Store(&container{link: link, items: "/" + link + "/docs"})
	}
	return e, link
}

// container is the one that a client uses first. Most clients have only one,
// and it is recognised for less than it takes to read a path.
type container struct{ link, items string }

// has reports whether a request is about items of the container, as
// [request.Items] would.
func (c *container) has(raw *http.Request) bool {
	path, n := raw.URL.Path, len(c.items)
	switch {
	case len(path) < n || path[:n] != c.items || raw.URL.RawPath != "":
		return false
	case len(path) == n:
		return raw.Method == http.MethodPost
	default:
		return path[n] == '/' && len(path) > n+1 && strings.IndexByte(path[n+1:], '/') < 0 && request.OnItem(raw.Method)
	}
}

// straightWay is the way by which a request goes straight, nil if it takes a
// walk to know where to go, or if there is something to tell.
func (e *endpoint) straightWay(raw *http.Request, containerLink string) *way {
	v, a, ctx := e.viewed(), e.account, raw.Context()
	if v == nil {
		return nil
	}
	w := v.of(raw)
	switch {
	case w.region == regions.None, a.marked(w.region, w.write), !a.breaker.Empty(), !a.ppaf.Empty():
		return nil
	case w.write && a.ppaf.On(), w.paged && !a.pages.Empty() && request.Get(raw.Header, request.HeaderContinuation) != "":
		return nil
	case given.Has(given.Any) && (v.ExcludedFor(ctx) != v.ClientExcluded() || hedge.Given(ctx)), e.records(ctx):
		return nil
	case ctx.Err() != nil, a.loader.bound() && a.partitions.mapOf(containerLink) == nil:
		return nil
	}
	return w
}

// learns reports whether something is to be learned from a success.
func (w *way) learns(response *http.Response) bool {
	a := w.view.endpoint.account
	return !a.breaker.Empty() ||
		w.paged && !a.pages.Empty() && request.Get(response.Header, request.HeaderContinuation) != ""
}
