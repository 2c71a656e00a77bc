package policy

import (
	"context"
	"sync/atomic"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// firstLeg gives the request of the first leg its context. azcore makes a request
// for each try; when nobody but azcosmos can have seen that, it is changed, else
// copied. Nobody may write to it any more once a hedge has won: a transport may
// still be reading it.
func (r *race) firstLeg(req *azpolicy.Request, b *binding) *azpolicy.Request {
	r.request, r.copied = req.Raw(), !b.soleRetry
	if r.copied {
		return req.WithContext(r.leg)
	}
	*r.request = *r.request.WithContext(r.leg)
	return req
}

// leave ends the first leg's context. azcosmos may go on with the request, which
// has the caller's again, unless a hedge has won.
func (r *race) leave() {
	if !r.copied && (r.walk == nil || !r.walk.lost.Load()) {
		*r.request = *r.request.WithContext(r.caller)
	}
	r.leg.finish()
}

// pointTo leaves on the caller's request the host that answered, for policies in
// front of ours. When a hedge has won, its URL and headers are new ones: the
// transport may still be reading the first leg's.
func (r *race) pointTo(region regions.Index) {
	if !r.copied {
		return
	}
	host := r.walk.view.Topology().Host(region)
	if r.state.Winner() != hedge.First {
		address := r.url
		r.request.URL, r.request.Header = &address, r.headers()
	}
	r.request.URL.Host, r.request.Host = host, host
}

// legContext is the context of a race's first leg: the caller's, which a hedge
// that wins ends, and the end of the race. Unlike one that [context.WithCancel]
// makes it costs next to nothing until somebody waits for its end. Those who do
// hear of the caller's end by way of a goroutine, a moment after Err tells it.
type legContext struct {
	context.Context // the caller's
	end             atomic.Pointer[legEnd]
}

// legEnd is the end of a leg's context that somebody waits for.
type legEnd struct {
	context.Context // which is over when the leg's is
	cancel          context.CancelFunc
	leave           func() bool // lets go of the caller's context
	finished        atomic.Bool // set before cancel, but by the caller's end
}

// finished is the end of what is over before anybody has waited.
var finished = func() *legEnd {
	e := new(legEnd)
	e.Context, e.cancel = context.WithCancel(context.Background())
	e.cancel()
	e.finished.Store(true)
	return e
}()

// ending is the end to wait for.
func (c *legContext) ending() *legEnd {
	if e := c.end.Load(); e != nil {
		return e
	}
	e := new(legEnd)
	e.Context, e.cancel = context.WithCancel(context.Background())
	e.leave = func() bool { return false }
	if c.Context.Done() != nil {
		e.leave = context.AfterFunc(c.Context, e.cancel)
	}
	if !c.end.CompareAndSwap(nil, e) {
		e.leave()
		return c.end.Load()
	}
	return e
}

// finish ends the context, for good.
func (c *legContext) finish() {
	if c.end.CompareAndSwap(nil, finished) {
		return
	}
	if e := c.end.Load(); e != finished {
		e.finished.Store(true)
		e.cancel()
		e.leave()
	}
}

// Done implements [context.Context].
func (c *legContext) Done() <-chan struct{} { return c.ending().Done() }

// Err implements [context.Context].
func (c *legContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if e := c.end.Load(); e != nil && e.finished.Load() {
		return context.Canceled
	}
	return nil
}

// AfterFunc is how contexts that derive from this one wait for its end: package
// context knows the method, and would need a goroutine for each of them without.
func (c *legContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.ending().Context, f)
}
