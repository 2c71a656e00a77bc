package policy

import (
	"context"
	"errors"
	"net/http"
)

// terminalError carries a final answer past the retries of azcosmos and azcore.
// It has no Unwrap on purpose: azcosmos looks through the chain of an error and
// retries every network error that it finds, non-retriable or not. PerCall
// opens it, so no caller ever sees one.
type terminalError struct {
	response *http.Response // nil when the attempt had no answer
	cause    error          // nil when it had one
}

// Error is seen in azcore's log only.
func (e *terminalError) Error() string {
	if e.response != nil {
		return "azcosmos-ha: final answer " + e.response.Status
	}
	return "azcosmos-ha: final error: " + e.cause.Error()
}

// NonRetriable is how azcore knows an error that nobody may retry.
func (*terminalError) NonRetriable() {}

// open turns the result of the pipeline below PerCall into what azcosmos would
// have given: the response or the error that the terminal error hides. Where a
// hedge has won with such an error, azcosmos puts that of the first leg's context
// in its place, which it takes for the caller's. o may be nil.
func (o *operation) open(caller context.Context, response *http.Response, err error) (*http.Response, error) {
	if err == nil {
		return response, nil
	}
	var terminal *terminalError // on the heap: not for a success
	switch {
	case errors.As(err, &terminal):
	case o != nil && o.terminal != nil && caller.Err() == nil && errors.As(o.terminal, &terminal):
	default:
		return response, err
	}
	return terminal.response, terminal.cause
}
