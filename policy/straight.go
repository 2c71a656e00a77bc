package policy

import (
	"net/http"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// straight is a request about items on its way while all is well: the region that
// a walk would ask first is asked, without making an operation and a walk. Where
// there is more to do than to return a success, both are made and go on from there.
type straight struct {
	*way
	request *azpolicy.Request
	body    *body
	began   time.Time
}

// schedule is that of the hedges, false if there are none. Why need not be told:
// nobody records the request.
func (s *straight) schedule() (hedge.Schedule, bool) {
	if s.candidates == 0 {
		return hedge.Schedule{}, false
	}
	until, bounded := s.request.Raw().Context().Deadline()
	options := s.view.endpoint.options.Hedge
	threshold, ok := hedge.Threshold(options, s.began, until, bounded)
	return hedge.MakeSchedule(options, s.began, threshold, s.candidates), ok
}

// run asks the region, as the first leg of a race if the request may be hedged.
func (s *straight) run() (*http.Response, error) {
	raw := s.request.Raw()
	raw.URL.Host, raw.Host = s.host, s.host
	if schedule, ok := s.schedule(); ok {
		return s.race(schedule)
	}
	response, err := s.send()
	if s.well(response, err) {
		return s.deliver(response)
	}
	w := s.walk(s.request, request.Classify(raw.Method, raw.URL.EscapedPath(), raw.Header), false)
	defer w.free()
	return s.goOn(w, response, err)
}

// send passes the request on with a reader of its own over the body.
func (s *straight) send() (*http.Response, error) {
	if s.view.endpoint.rewinds {
		if err := s.body.put(s.request); err != nil {
			return nil, err
		}
	} else {
		s.body.lend(s.request)
	}
	return s.request.Next()
}

// race asks the region as the first leg of a race.
func (s *straight) race(schedule hedge.Schedule) (*http.Response, error) {
	r := newRace(s.request.Raw(), schedule)
	r.straight = *s
	r.straight.request = r.firstLeg(s.request, s.view.endpoint.binding)
	r.arm(&s.view.endpoint.alarms, s.began)
	defer r.end()
	response, err := r.straight.send()
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
	info := request.Classify(r.method, r.url.EscapedPath(), r.headers())
	w := r.straight.walk(r.straight.request, info, true)
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
	return err == nil && response != nil && response.StatusCode < http.StatusBadRequest && !s.learns(response)
}

func (s *straight) deliver(response *http.Response) (*http.Response, error) {
	s.view.endpoint.account.traffic.Count(int(s.region), s.write, false, s.began)
	return response, nil
}

// walk makes a walk that has been to the region.
func (s *straight) walk(req *azpolicy.Request, info request.Info, inRace bool) *walk {
	_, _ = s.body.take() // azcore may rewind its reader, to repeat; an error comes again with the next attempt
	w := walks.Get().(*walk)
	w.inRace = inRace
	w.operation = &operation{endpoint: s.view.endpoint, info: info}
	w.begin(req, s.body, s.view.View)
	w.failover.on = false // which may have been switched on only now: the attempt was made without
	w.began = s.began
	w.claims.Claim(s.region)
	w.visit(s.region)
	return w
}

// goOn lets a walk go on from the answer of the region.
func (s *straight) goOn(w *walk, response *http.Response, err error) (*http.Response, error) {
	a := answer{region: s.region, start: s.began, response: response, err: err}
	return w.follow(w.judged(a, nil))
}

// keep holds on to an operation that PerCall did without, when it was hedged:
// should azcore repeat it, its hedges are not repeated. Until settle drops it, all
// requests about items look for what was kept of theirs.
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
