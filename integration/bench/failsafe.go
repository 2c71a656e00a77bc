package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

// troubled reports whether an error says that the service, or the road to it, is unwell: any error but an answer below 500
// that is not 408, and the caller's own cancellation.
func troubled(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusRequestTimeout
	}
	return true
}

// notDone reports whether an error says that a write was surely not carried out, so that it may be sent again: 503, 403, and a
// connection that was not made.
func notDone(err error) bool {
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusForbidden
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}

// guard is the executors of an application: one for reads, which are repeated and hedged, and one for writes, which are
// repeated only when they were not carried out. R is what a call returns.
type guard[R any] struct{ reads, writes failsafe.Executor[R] }

// newGuard makes them. inner are policies that both have around each call.
func newGuard[R any](threshold time.Duration, hedges int, inner ...failsafe.Policy[R]) guard[R] {
	retry := func(again func(error) bool) failsafe.Policy[R] {
		return retrypolicy.NewBuilder[R]().
			HandleIf(func(_ R, err error) bool { return again(err) }).
			WithMaxRetries(2).WithBackoff(50*time.Millisecond, time.Second).WithJitterFactor(0.25).
			ReturnLastFailure().Build()
	}
	hedge := hedgepolicy.NewBuilderWithDelay[R](threshold).WithMaxHedges(hedges).
		CancelIf(func(_ R, err error) bool { return !troubled(err) }).Build()
	return guard[R]{
		reads:  failsafe.With(slices.Concat([]failsafe.Policy[R]{retry(troubled), hedge}, inner)...),
		writes: failsafe.With(slices.Concat([]failsafe.Policy[R]{retry(notDone)}, inner)...),
	}
}

// newBreaker opens for 30 s after 10 failures in a row, as ours does by default.
func newBreaker[R any]() circuitbreaker.CircuitBreaker[R] {
	return circuitbreaker.NewBuilder[R]().HandleIf(func(_ R, err error) bool { return troubled(err) }).
		WithFailureThreshold(10).WithSuccessThreshold(5).WithDelay(30 * time.Second).Build()
}

// do runs a call under an executor.
func do[R any](ctx context.Context, e failsafe.Executor[R], call func(failsafe.Execution[R]) (R, error)) error {
	_, err := e.WithContext(ctx).GetWithExecution(call)
	return err
}

// buildFailsafe puts retry, hedge and breaker around the calls of one client.
func buildFailsafe(s setting) (*app, error) {
	client, container, err := s.client(nil)
	if err != nil {
		return nil, err
	}
	items := newGuard[azcosmos.ItemResponse](s.threshold, 1, newBreaker[azcosmos.ItemResponse]())
	pages := newGuard[azcosmos.QueryItemsResponse](s.threshold, 1, newBreaker[azcosmos.QueryItemsResponse]())
	one := func(int) *azcosmos.ContainerClient { return container }
	return guarded(items, pages, one, client.Close), nil
}

// guarded is an application whose calls run under guards; choose picks the client of an attempt, counted from 0.
func guarded(
	items guard[azcosmos.ItemResponse], pages guard[azcosmos.QueryItemsResponse], choose func(attempt int) *azcosmos.ContainerClient, end func(),
) *app {
	return &app{
		read: func(ctx context.Context, pk, id string) error {
			return do(ctx, items.reads, func(e failsafe.Execution[azcosmos.ItemResponse]) (azcosmos.ItemResponse, error) {
				return choose(e.Attempts()-1).ReadItem(e.Context(), azcosmos.NewPartitionKeyString(pk), id, nil)
			})
		},
		upsert: func(ctx context.Context, pk string, item []byte) error {
			return do(ctx, items.writes, func(e failsafe.Execution[azcosmos.ItemResponse]) (azcosmos.ItemResponse, error) {
				return choose(e.Attempts()-1).UpsertItem(e.Context(), azcosmos.NewPartitionKeyString(pk), item, nil)
			})
		},
		query: func(ctx context.Context, pk string) error {
			return do(ctx, pages.reads, func(e failsafe.Execution[azcosmos.QueryItemsResponse]) (azcosmos.QueryItemsResponse, error) {
				return choose(e.Attempts()-1).NewQueryItemsPager(everything, azcosmos.NewPartitionKeyString(pk), nil).NextPage(e.Context())
			})
		},
		close: end,
	}
}

// buildFailsafePerRegion is what can be made of failsafe-go with more work: a client for each region, which prefers it, and the
// attempts of a call, hedges among them, go from one to the next. Each client has a breaker: one that is open is passed over.
func buildFailsafePerRegion(s setting) (*app, error) {
	var ring ring
	for i := range s.preferred {
		turned := s
		turned.preferred = slices.Concat(s.preferred[i:], s.preferred[:i])
		if err := ring.add(turned); err != nil {
			ring.close()
			return nil, err
		}
	}
	items := newGuard[azcosmos.ItemResponse](s.threshold, len(s.preferred)-1)
	pages := newGuard[azcosmos.QueryItemsResponse](s.threshold, len(s.preferred)-1)
	return guarded(items, pages, ring.choose, ring.close), nil
}

// ring is the clients, with their breakers, in the order of preference.
type ring struct {
	containers []*azcosmos.ContainerClient
	breakers   []circuitbreaker.CircuitBreaker[any]
	closers    []func()
}

// add makes the next client: its breaker sees what becomes of each of its calls.
func (r *ring) add(s setting) error {
	b := newBreaker[any]()
	client, container, err := s.client(func(o *azcosmos.ClientOptions) {
		o.PerCallPolicies = append(o.PerCallPolicies, watched{b})
	})
	if err != nil {
		return err
	}
	r.containers, r.breakers, r.closers = append(r.containers, container), append(r.breakers, b), append(r.closers, client.Close)
	return nil
}

// choose takes the clients in turn, those with an open breaker last.
func (r *ring) choose(attempt int) *azcosmos.ContainerClient {
	n := len(r.containers)
	for i := range n {
		if at := (attempt + i) % n; r.breakers[at].TryAcquirePermit() {
			return r.containers[at]
		}
	}
	return r.containers[attempt%n]
}

func (r *ring) close() {
	for _, end := range r.closers {
		end()
	}
}
