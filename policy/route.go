package policy

import (
	"net/http"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// routePolicy is the PerRetry policy: the last word on the host of a request.
type routePolicy struct{ *binding }

var _ azpolicy.Policy = routePolicy{}

// Do walks the applicable regions of an operation, or goes the straight way.
// Whatever is not ours to route, an account read or a request without an
// operation, passes through.
func (p routePolicy) Do(req *azpolicy.Request) (*http.Response, error) {
	if e, link := p.straightEndpoint(req.Raw()); e != nil && !p.made(req) {
		if way := e.straightWay(req.Raw(), link); way != nil {
			return p.goStraight(way, req)
		}
	}
	w := walks.Get().(*walk)
	defer w.free()
	if req.OperationValue(&w.operation) {
		if w.operation == foreign {
			return req.Next()
		}
		return w.pass(req)
	}
	if e := p.first.Load(); e != nil {
		if _, ok := request.Items(req.Raw().Method, req.Raw().URL); ok {
			return w.latePass(e, req)
		}
	}
	return req.Next()
}

// goStraight sends a request straight.
func (b *binding) goStraight(w *way, req *azpolicy.Request) (*http.Response, error) {
	s := straight{way: w, request: req, body: bodyOf(req), began: b.now()}
	return s.run()
}

// made reports whether a request about items has an operation: PerCall made one
// that is recorded, or one was kept. While there are neither, nobody need look.
func (b *binding) made(req *azpolicy.Request) bool {
	if !b.recorded.Load() && b.kept.Load() == 0 {
		return false
	}
	w := walks.Get().(*walk) // whose field costs nothing
	defer w.free()
	return req.OperationValue(&w.operation)
}

// latePass is the pass of a request that PerCall let go without an operation.
func (w *walk) latePass(e *endpoint, req *azpolicy.Request) (*http.Response, error) {
	raw := req.Raw()
	w.operation = &operation{endpoint: e, info: request.Classify(raw.Method, raw.URL.EscapedPath(), raw.Header)}
	response, err := w.pass(req)
	e.keep(req, w.operation)
	return response, err
}

// pass is one pass of the operation.
func (w *walk) pass(req *azpolicy.Request) (*http.Response, error) {
	w.terminal = nil
	v := w.endpoint.view()
	if v == nil {
		return req.Next()
	}
	if leg, ok := req.Raw().Context().(*legContext); ok {
		req = req.WithContext(leg.Context) // whoever was put in front of us after Apply goes on with a leg that has lost
	}
	if err := req.Raw().Context().Err(); err != nil {
		return nil, err
	}
	b := bodyOf(req)
	if _, err := b.take(); err != nil {
		return nil, err
	}
	w.begin(req, b, v)
	if r := w.raced(); r != nil {
		w.inRace = true
		return r.run()
	}
	return w.run()
}

// kindOf tells what a request is to its account, as its topology is now.
func kindOf(info request.Info, t *regions.Topology) kind {
	switch {
	case info.Write() && t.MultiWrite():
		return multiWriteWrite
	case info.Write():
		return singleWriteWrite
	case t.MultiWrite():
		return multiWriteRead
	default:
		return singleWriteRead
	}
}
