package policy

import (
	"context"
	"sync/atomic"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// firstLeg gives the request of the first leg its context. azcore makes a request
// for each try; when nobody but azcosmos can have seen that, it is changed, else
// copied. Nobody may write to it once a hedge has won: a transport may still be
// reading it.
func (r *race) firstLeg(req *azpolicy.Request, b *binding) *azpolicy.Request {
	raw := req.Raw()
	if b.soleRetry {
		*raw = *raw.WithContext(r.leg)
		return req
	}
	r.original = raw
	return req.WithContext(r.leg)
}

// pointTo leaves on the caller's request the host that answered, for policies in
// front of ours. Its URL is a new one: the transport may still be reading the
// first leg's.
func (r *race) pointTo(region regions.Index) {
	if r.original == nil {
		return
	}
	address, host := r.url, r.walk.view.Topology().Host(region)
	address.Host = host
	r.original.URL, r.original.Host = &address, host
}

// legContext is the context of a race's first leg: the caller's, which a hedge
// that wins ends for good. When the race is over without that, it is as good as
// the caller's: azcore's request may keep it.
//
// Unlike one that [context.WithCancel] makes it costs next to nothing until
// somebody waits for its end, and the caller's context can let go of it without
// ending it.
type legContext struct {
	context.Context // the caller's
	end             atomic.Pointer[legEnd]
}

// legEnd is the end of a leg's context that somebody waits for.
type legEnd struct {
	context.Context // which is over when the leg's is
	cancel          context.CancelFunc
	leave           func() bool // lets go of the caller's context
	lost            atomic.Bool // set before a hedge that has won cancels
}

// noRace is the end of a leg's context after the race: the caller's.
var noRace = new(legEnd)

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

// lose ends the context, for a hedge has won.
func (c *legContext) lose() {
	if e := c.ending(); e != noRace {
		e.lost.Store(true)
		e.cancel()
	}
}

// leave makes it the caller's context again when the race is over, unless a
// hedge has won.
func (c *legContext) leave() {
	if c.end.CompareAndSwap(nil, noRace) {
		return
	}
	e := c.end.Load()
	if e == noRace {
		return
	}
	e.leave()
	if !e.lost.Load() {
		c.end.Store(noRace)
	}
}

// Done implements [context.Context].
func (c *legContext) Done() <-chan struct{} {
	if e := c.ending(); e != noRace {
		return e.Done()
	}
	return c.Context.Done()
}

// Err implements [context.Context].
func (c *legContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if e := c.end.Load(); e != nil && e.lost.Load() {
		return context.Canceled
	}
	return nil
}

// AfterFunc is how contexts that derive from this one wait for its end: package
// context knows the method, and would need a goroutine for each of them without.
func (c *legContext) AfterFunc(f func()) (stop func() bool) {
	if e := c.ending(); e != noRace {
		return context.AfterFunc(e.Context, f)
	}
	return context.AfterFunc(c.Context, f)
}
