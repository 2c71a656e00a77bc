package policy

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/internal/given"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// straight is the way of a point read while all is well: the region that a walk
// would ask first is asked, without making an operation and a walk. Where there
// is more to do than to return a success, both are made and go on from there.
type straight struct {
	view    *view
	request *azpolicy.Request
	began   time.Time
}

// straightEndpoint is the endpoint whose point reads PerCall lets go without an
// operation, nil if this request is none, or others have come. PerRetry makes
// the operation where one is needed.
func (b *binding) straightEndpoint(raw *http.Request) (e *endpoint, containerLink string) {
	if e = b.only.Load(); e == nil {
		return nil, ""
	}
	if c := b.container.Load(); c != nil && c.reads(raw) {
		return e, c.link
	}
	link, ok := request.PointRead(raw.Method, raw.URL)
	if !ok {
		return nil, ""
	}
	if b.container.Load() == nil {
		b.container.Store(&container{link: link, items: "/" + link + "/docs/"})
	}
	return e, link
}

// container is the one that a client reads first. Most clients have only one,
// and it is recognised for less than it takes to read a path.
type container struct{ link, items string }

// reads reports whether a request is a point read in the container.
func (c *container) reads(raw *http.Request) bool {
	path, n := raw.URL.Path, len(c.items)
	return len(path) > n && path[:n] == c.items && strings.IndexByte(path[n:], '/') < 0 &&
		raw.URL.RawPath == "" && raw.Method == http.MethodGet
}

// straightView is the view by which a point read goes straight, nil if it takes
// a walk to know where to go, or if there is something to tell.
func (e *endpoint) straightView(ctx context.Context, containerLink string) *view {
	v, a := e.viewed(), e.account
	switch {
	case v == nil, v.straight == regions.None, a.marked(v.straight), !a.breaker.Empty(), !a.ppaf.Empty():
		return nil
	case given.Has(given.Any) && (v.ExcludedFor(ctx) != v.ClientExcluded() || hedge.Given(ctx)), e.records(ctx):
		return nil
	case ctx.Err() != nil, a.loader.bound() && a.partitions.mapOf(containerLink) == nil:
		return nil
	}
	return v
}

// straightIn works out where point reads go straight in a view, None if they always
// take a walk, and how many regions their hedges may go to, 0 if there are none.
func (e *endpoint) straightIn(v *regions.View) (first regions.Index, candidates int) {
	p := v.Plan(regions.Route{Excluded: v.ClientExcluded(), Override: regions.None})
	if p.Fallback || e.options.Retry.AttemptTimeout > 0 {
		return regions.None, 0
	}
	q := hedge.Query{
		Document:        true,
		MultiWrite:      v.Topology().MultiWrite(),
		AccountDisabled: v.Topology().HedgingForbidden(),
		Candidates:      hedge.Candidates(p.Regions, v.ClientExcluded()).Len(),
	}
	if ok, _ := hedge.Eligible(e.options.Hedge, q); !ok || !e.sends {
		return p.Regions.First(), 0
	}
	return p.Regions.First(), q.Candidates
}

// schedule is that of the hedges, false if there are none. Why need not be told:
// nobody records the read.
func (s *straight) schedule() (hedge.Schedule, bool) {
	if s.view.candidates == 0 {
		return hedge.Schedule{}, false
	}
	until, bounded := s.request.Raw().Context().Deadline()
	options := s.view.endpoint.options.Hedge
	threshold, ok := hedge.Threshold(options, s.began, until, bounded)
	return hedge.MakeSchedule(options, s.began, threshold, s.view.candidates), ok
}

// run asks the region, as the first leg of a race if the read may be hedged.
func (s *straight) run() (*http.Response, error) {
	raw := s.request.Raw()
	raw.URL.Host, raw.Host = s.view.host, s.view.host
	if schedule, ok := s.schedule(); ok {
		return s.race(schedule)
	}
	response, err := s.request.Next()
	if s.well(response, err) {
		return s.deliver(response)
	}
	w := s.walk(s.request, classified(raw.URL, raw.Header), false)
	defer w.free()
	return s.goOn(w, response, err)
}

// race asks the region as the first leg of a race.
func (s *straight) race(schedule hedge.Schedule) (*http.Response, error) {
	r := newRace(s.request.Raw(), schedule)
	r.straight = *s
	r.straight.request = r.firstLeg(s.request, s.view.endpoint.binding)
	r.arm(&s.view.endpoint.alarms, s.began)
	defer r.end()
	response, err := r.straight.request.Next()
	if s.well(response, err) && r.quit() {
		return s.deliver(response)
	}
	w := r.joined()
	response, err = r.decide(s.goOn(w, response, err))
	s.view.endpoint.keep(s.request, w.operation)
	return response, err
}

// join makes the walk, if the first leg has gone the straight way so far. That
// region has been asked; the hedges may ask all others. The caller holds the mutex.
func (r *race) join() {
	if r.walk != nil {
		return
	}
	w := r.straight.walk(r.straight.request, classified(&r.url, r.headers()), true)
	r.walk, r.made, r.list, r.candidates = w, w, w.list, w.list.Set()&^w.never
}

// joined is the walk, made now or when the alarm went off.
func (r *race) joined() *walk {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.join()
	return r.walk
}

// well reports whether there is no more to do than to return the answer.
func (s *straight) well(response *http.Response, err error) bool {
	return err == nil && response != nil && response.StatusCode < http.StatusBadRequest && s.view.endpoint.account.breaker.Empty()
}

func (s *straight) deliver(response *http.Response) (*http.Response, error) {
	s.view.endpoint.account.traffic.Count(int(s.view.straight), false, false, s.began)
	return response, nil
}

// walk makes a walk that has been to the region.
func (s *straight) walk(req *azpolicy.Request, info request.Info, inRace bool) *walk {
	w := walks.Get().(*walk)
	w.inRace = inRace
	w.operation = &operation{endpoint: s.view.endpoint, info: info}
	w.begin(req, body{}, s.view.View)
	w.began = s.began
	w.claims.Claim(s.view.straight)
	w.visit(s.view.straight)
	return w
}

// goOn lets a walk go on from the answer of the region.
func (s *straight) goOn(w *walk, response *http.Response, err error) (*http.Response, error) {
	a := answer{region: s.view.straight, start: s.began, response: response, err: err}
	return w.follow(w.judged(a, nil))
}

// classified says what a point read means.
func classified(u *url.URL, header http.Header) request.Info {
	return request.Classify(http.MethodGet, u.EscapedPath(), header)
}

// keep holds on to an operation that PerCall did without, when it was hedged:
// should azcore repeat it, its hedges are not repeated. Until settle drops it, all
// point reads look for what was kept of theirs.
func (b *binding) keep(req *azpolicy.Request, o *operation) {
	if !o.hedged {
		return
	}
	var made *operation
	if req.OperationValue(&made) {
		return // by PerCall, which drops nothing then, or in an earlier pass
	}
	o.kept = true
	b.kept.Add(1)
	req.SetOperationValue(o)
}

// settle is the end of an operation that PerCall did without, when it is more
// than the return of a success.
func (b *binding) settle(req *azpolicy.Request, response *http.Response, err error) (*http.Response, error) {
	var o *operation
	if b.kept.Load() > 0 && req.OperationValue(&o) && o.kept {
		b.kept.Add(-1)
	}
	return o.open(req.Raw().Context(), response, err)
}
