package main

import (
	"context"
	"errors"
	"net/http"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// watched tells a breaker what becomes of each call of a client, the client's own retries included. A call that was given up
// because another one won says nothing.
type watched struct {
	circuitbreaker.CircuitBreaker[any]
}

// Do passes a request on.
func (w watched) Do(req *azpolicy.Request) (*http.Response, error) {
	response, err := req.Next()
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		w.RecordError(err)
	case response.StatusCode >= http.StatusInternalServerError:
		w.RecordError(runtime.NewResponseError(response))
	default:
		w.RecordSuccess()
	}
	return response, err
}
