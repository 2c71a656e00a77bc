package policy

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// privateRequest is a request of our own beside the caller's: a shadow probe or
// a hedge. It goes through a pipeline of our own over the client's transport
// and logging, because two attempts of one azcore request may never be under
// way at once: its copies share a map that azcore writes on every pass.
// Authorization, User-Agent and date come along in the headers of the original.
type privateRequest struct {
	raw  *http.Request // headers of its own
	body *body
}

// newPrivateRequest copies the caller's request as it is now. Only the
// goroutine that the request belongs to may call it.
func newPrivateRequest(raw *http.Request, b *body) privateRequest {
	copied := raw.Clone(context.Background())
	copied.Body, copied.GetBody = nil, nil
	return privateRequest{copied, b}
}

// newPrivatePipeline is the pipeline of private requests: it sends once and
// signs nothing.
func newPrivatePipeline(transport azpolicy.Transporter, logging azpolicy.LogOptions) runtime.Pipeline {
	return runtime.NewPipeline(telemetry.Scope, "", runtime.PipelineOptions{}, &azpolicy.ClientOptions{
		Transport: transport,
		Logging:   logging,
		Retry:     azpolicy.RetryOptions{MaxRetries: -1},
		Telemetry: azpolicy.TelemetryOptions{Disabled: true},
	})
}

// send sends the request to one host. It may be sent several times, one after
// the other.
func (p privateRequest) send(ctx context.Context, pipeline runtime.Pipeline, host string) (*http.Response, error) {
	req, err := runtime.NewRequestFromRequest(p.raw.Clone(shadow(ctx)))
	if err != nil {
		return nil, err
	}
	raw := req.Raw()
	raw.URL.Host, raw.Host = host, host
	if err := p.body.put(req); err != nil {
		return nil, err
	}
	return pipeline.Do(req)
}

// shadow hides from a private request what the caller's context holds for the
// caller's own: where to capture the response, how often to retry, and the
// state of azcore's tracing, which forbids concurrent use.
func shadow(ctx context.Context) context.Context {
	var captured *http.Response
	ctx = azpolicy.WithCaptureResponse(ctx, &captured)
	ctx = azpolicy.WithRetryOptions(ctx, azpolicy.RetryOptions{MaxRetries: -1})
	return withoutURLState{ctx}
}

// withoutURLState hides azcore's URL state, whose key has no exported name.
type withoutURLState struct{ context.Context }

// Value is the value of the parent, but for azcore's URL state.
func (c withoutURLState) Value(key any) any {
	if t := reflect.TypeOf(key); t != nil && strings.HasSuffix(t.PkgPath(), "/azcore/internal/sanitizer") {
		return nil
	}
	return c.Context.Value(key)
}
