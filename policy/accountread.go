package policy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

const (
	// refreshInterval is the least time between two refreshes of our own that
	// an answer asked for: the service told us that our topology is wrong.
	refreshInterval = time.Second
	// suspicionInterval is the same for a mere suspicion: an endpoint that
	// cannot be reached, a write region that fails. 5 s is what the Rust driver
	// keeps between refreshes that an event asks for.
	suspicionInterval = 5 * time.Second

	// accountReadTimeout is what one endpoint is given for an account read of
	// the SDK while another endpoint is left.
	accountReadTimeout = 5 * time.Second
	// refreshAttemptTimeout is the same for a refresh of our own. A write may be
	// waiting for it, for refreshWait: the second endpoint must have its chance.
	refreshAttemptTimeout = 600 * time.Millisecond
	// refreshTimeout bounds a refresh of our own, all its endpoints together.
	refreshTimeout = 10 * time.Second
)

// accountRead sends an account read of the SDK. It passes untouched while
// there is only one endpoint to ask. Else an endpoint that does not give a
// usable answer is followed by the next, because azcosmos asks the client
// endpoint only and, when that fails, stays dead for five minutes. When nobody
// answers, the read passes untouched after all.
func (e *endpoint) accountRead(req *azpolicy.Request) (*http.Response, error) {
	e.look()
	if others := e.otherHosts(); len(others) > 0 {
		ctx := azpolicy.WithRetryOptions(req.Raw().Context(), e.throttledOnly())
		hosts := append([]string{req.Raw().URL.Host}, others...)
		bound := func(int) time.Duration { return accountReadTimeout }
		if response, err := e.ask(ctx, req, hosts, bound); err == nil {
			return response, nil
		}
	}
	response, err := req.Next()
	if err == nil && e.take(req, response) == nil {
		return response, nil
	}
	return response, err
}

// throttledOnly are the client's retry options for an account read that has
// other endpoints to go to: only 429 is repeated in place, as the service asks.
func (b *binding) throttledOnly() azpolicy.RetryOptions {
	o := b.retry
	o.ShouldRetry = func(response *http.Response, _ error) bool {
		return response != nil && response.StatusCode == http.StatusTooManyRequests
	}
	return o
}

// refreshAccount is an account read of our own: the template, dated anew.
func (e *endpoint) refreshAccount(ctx context.Context, template *azpolicy.Request) (err error) {
	defer func() {
		// A panic of the transport would end the process here, where the caller
		// of no request can recover it; azcosmos does the same for its own.
		if r := recover(); r != nil {
			err = fmt.Errorf("panic during the topology refresh: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	ctx = azpolicy.WithRetryOptions(ctx, azpolicy.RetryOptions{MaxRetries: -1})
	hosts := append([]string{template.Raw().URL.Host}, e.otherHosts()...)
	last := len(hosts) - 1
	_, err = e.ask(ctx, template, hosts, func(i int) time.Duration {
		if i == last {
			return refreshTimeout
		}
		return refreshAttemptTimeout
	})
	return err
}

// ask sends a copy of an account read to one host after the other until one
// gives a usable answer, which is taken over, or one about the caller.
func (e *endpoint) ask(ctx context.Context, read *azpolicy.Request, hosts []string, bound func(i int) time.Duration) (response *http.Response, err error) {
	for i, host := range hosts {
		response, err = askOne(ctx, read, host, bound(i))
		if err == nil {
			// Who answers at a guessed address is not known.
			if aboutCaller(response) && (i == 0 || e.account.topology.Load() != nil) {
				return response, nil
			}
			if err = e.take(read, response); err == nil {
				return response, nil
			}
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, err
}

// aboutCaller reports an answer that every endpoint would give, because it
// does not depend on the endpoint.
func aboutCaller(response *http.Response) bool {
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return subStatus(response.Header) != subAccountNotFound
	default:
		return false
	}
}

// askOne sends a copy of an account read to one host, dated now.
func askOne(ctx context.Context, read *azpolicy.Request, host string, bound time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel() // the body is buffered when Next returns
	attempt := read.Clone(ctx)
	raw := attempt.Raw()
	raw.URL.Host, raw.Host = host, host
	raw.Header.Set(request.HeaderDate, time.Now().UTC().Format(http.TimeFormat))
	return attempt.Next()
}

// take learns from the answer to an account read and keeps the request.
func (e *endpoint) take(read *azpolicy.Request, response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("account read answered %s", response.Status)
	}
	if err := e.account.learn(response); err != nil {
		return err
	}
	e.account.keep(e, read)
	return nil
}

// otherHosts are the endpoints that can answer an account read beside the
// client's own: the account's regions, preferred ones first, or, before the
// first answer, what the preferred regions' endpoints are called. Exclusions
// do not apply: they must not blind us.
func (e *endpoint) otherHosts() []string {
	var hosts []string
	add := func(host string) {
		same := func(other string) bool { return hostKey(other) == hostKey(host) }
		if host != "" && !same(e.host) && !slices.ContainsFunc(hosts, same) {
			hosts = append(hosts, host)
		}
	}
	v := e.view()
	if v == nil {
		for _, name := range e.preferred {
			add(regions.GuessEndpoint(e.host, name))
		}
		return hosts
	}
	preferred, readable := v.ReadBase(), v.Topology().Readable()
	for r := range preferred.All() {
		add(v.Topology().Host(r))
	}
	for r := range readable.All() {
		add(v.Topology().Host(r))
	}
	return hosts
}
