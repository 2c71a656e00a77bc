package policy

import (
	"net/http"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// routePolicy is the PerRetry policy: the last word on the host of a request.
type routePolicy struct{ *binding }

var _ azpolicy.Policy = (*routePolicy)(nil)

// Do walks the applicable regions of an operation, or goes the straight way.
// Whatever is not ours to route, an account read or a request without an
// operation, passes through.
func (p *routePolicy) Do(req *azpolicy.Request) (*http.Response, error) {
	if v := p.straightView(req.Raw()); v != nil {
		s := v.straightWay(req)
		return s.run()
	}
	w := walks.Get().(*walk)
	defer w.free()
	if !req.OperationValue(&w.operation) && !p.late(w, req) {
		return req.Next()
	}
	return w.pass(req)
}

// late makes the operation of a point read that PerCall did without, and reports
// whether it is one.
func (b *binding) late(w *walk, req *azpolicy.Request) bool {
	e, raw := b.only.Load(), req.Raw()
	_, ok := request.PointRead(raw.Method, raw.URL)
	if e == nil || !ok {
		return false
	}
	w.operation = &operation{endpoint: e, info: classified(raw.URL, raw.Header)}
	b.keep(req, w.operation)
	return true
}

// pass is one pass of the operation.
func (w *walk) pass(req *azpolicy.Request) (*http.Response, error) {
	v := w.endpoint.view()
	if v == nil {
		return req.Next()
	}
	if err := req.Raw().Context().Err(); err != nil {
		return nil, err
	}
	b, err := bodyOf(req)
	if err != nil {
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
