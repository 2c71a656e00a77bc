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

// Do walks the applicable regions of an operation. Whatever is not ours to
// route, an account read or a request without an operation, passes through.
func (p *routePolicy) Do(req *azpolicy.Request) (*http.Response, error) {
	w := walks.Get().(*walk)
	defer w.free()
	if !req.OperationValue(&w.operation) {
		return req.Next()
	}
	v := w.endpoint.view()
	if v == nil {
		return req.Next()
	}
	if err := req.Raw().Context().Err(); err != nil {
		return nil, err
	}
	if err := w.begin(req, v); err != nil {
		return nil, err
	}
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
