package policy

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// operation is the state of one HTTP operation of azcosmos, handed from PerCall
// to PerRetry. azcore may pass PerRetry several times (429): one after the other.
type operation struct {
	endpoint *endpoint
	info     request.Info
	span     *telemetry.OperationSpan // nil: nothing is recorded
	hedged   bool                     // in an earlier pass: azcore repeats a 429, its hedges are not repeated
	sent     *telemetry.AttemptSpan   // of the walk's attempt in flight, if anything is recorded
	kept     bool                     // PerCall did without it at first
	terminal error                    // what a hedge has won with, if that is no answer to return as it is
}

// foreign is the operation of a request that is nobody's: PerRetry passes it on.
var foreign = &operation{}

// recorded is an operation of which telemetry keeps something, with the room for
// that, in one piece.
type recorded struct {
	operation
	span    telemetry.OperationSpan
	attempt telemetry.AttemptSpan
}

// newOperation makes an operation. keeps: telemetry keeps something of it.
func newOperation(e *endpoint, info request.Info, keeps bool) *operation {
	if !keeps {
		return &operation{endpoint: e, info: info}
	}
	r := &recorded{operation: operation{endpoint: e, info: info}}
	r.operation.span, r.sent = &r.span, &r.attempt
	return &r.operation
}

// operationPolicy is the PerCall policy: it sees every operation once, before
// any retry, with the client endpoint still in its URL.
type operationPolicy struct{ *binding }

var _ azpolicy.Policy = operationPolicy{}

// Do recognises the account read, makes the operation of what can be routed,
// and opens the terminal error of the walk on the way back.
func (p operationPolicy) Do(req *azpolicy.Request) (*http.Response, error) {
	raw := req.Raw()
	if e, _ := p.straightEndpoint(raw); e != nil && e.host == raw.URL.Host && !p.records(raw.Context()) {
		response, err := req.Next()
		if err != nil || p.kept.Load() > 0 {
			return p.settle(req, response, err)
		}
		return response, nil
	}
	path := raw.URL.EscapedPath()
	if request.IsAccountRead(raw.Method, path) {
		return p.endpoint(raw.URL.Host).accountRead(req)
	}
	e := p.known(raw.URL.Host)
	if e == nil {
		p.stranger()
		req.SetOperationValue(foreign)
		return req.Next()
	}
	info := request.Classify(raw.Method, path, raw.Header)
	if !routable(info) {
		return req.Next()
	}
	o := newOperation(e, info, p.wants(raw.Context()))
	req.SetOperationValue(o)
	if info.Metadata() {
		return o.watched(req)
	}
	return o.traced(req)
}

// routable reports whether a request may be sent to a region of our choice:
// documents, and reads of everything else. Metadata writes belong to the
// account's write region on every kind of account, and azcosmos finds it.
func routable(info request.Info) bool {
	if info.Resource == request.ResDocument {
		return info.Operation != request.OpUnknown
	}
	return info.Metadata() && !info.Write()
}

// watched lets a read of metadata pass and learns the partitions from it.
func (o *operation) watched(req *azpolicy.Request) (*http.Response, error) {
	incremental := o.info.Continuation || request.Get(req.Raw().Header, request.HeaderIfNoneMatch) != ""
	response, err := o.traced(req)
	o.endpoint.account.partitions.watch(o.info, incremental, response)
	return response, err
}

// traced runs the operation under a span of its own, if anything records.
func (o *operation) traced(req *azpolicy.Request) (*http.Response, error) {
	caller := req.Raw().Context()
	if o.span == nil {
		response, err := req.Next()
		return o.open(caller, response, err)
	}
	var ctx context.Context
	ctx, o.span = o.endpoint.observer.StartOperation(caller, o.span, o.start())
	if ctx != caller {
		req = req.WithContext(ctx)
	}
	response, err := req.Next()
	response, err = o.open(caller, response, err)
	if o.span != nil {
		o.span.End(resultOf(response, err))
	}
	return response, err
}

// wants reports whether anything of an operation would be recorded.
func (b *binding) wants(ctx context.Context) bool {
	if !b.observer.Wants(ctx) {
		return false
	}
	if !b.recorded.Load() {
		b.recorded.Store(true)
	}
	return true
}

func (o *operation) start() telemetry.OperationStart {
	return telemetry.OperationStart{
		Name:      o.info.Name(),
		Database:  o.info.DatabaseName(),
		Container: o.info.ContainerName(),
		Server:    o.endpoint.host,
		Write:     o.info.Write(),
		Metadata:  o.info.Metadata(),
	}
}

// resultOf is what telemetry tells of an answer.
func resultOf(response *http.Response, err error) telemetry.Result {
	if err != nil || response == nil { // with both, the body broke off
		return telemetry.Result{Class: classOf(err)}
	}
	r := telemetry.Result{Status: response.StatusCode, SubStatus: subStatus(response.Header)}
	if charge := request.Get(response.Header, request.HeaderRequestCharge); charge != "" {
		if units, err := strconv.ParseFloat(charge, 64); err == nil && units >= 0 && units < math.MaxInt32 {
			r.Charge = units
		}
	}
	return r
}

// classOf says in one word why there was no answer.
func classOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return telemetry.ErrorTimeout
	case errors.Is(err, context.Canceled):
		return telemetry.ErrorCancelled
	case surelyNotSent(err):
		return telemetry.ErrorNotSent
	default:
		return telemetry.ErrorLostReply
	}
}
