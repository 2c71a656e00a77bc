// Package policy makes an azcosmos client survive the loss, slowness or
// partial failure of a region. It holds the two azcore policies and the loop
// of attempts between them, and it is the only package of this module that
// sends, waits or starts a goroutine: every decision is taken elsewhere, as a
// function of values.
//
//	ha, err := policy.New(policy.Options{})
//	opts := &azcosmos.ClientOptions{PreferredRegions: []string{"West US 3", "East US"}}
//	ha.Apply(opts)
//	client, err := azcosmos.NewClientWithKey(endpoint, cred, opts)
//
// # The road of one request
//
// azcosmos calls our PerCall policy ("operation"), then azcore's retry policy,
// its own retry policy and authorization, then our PerRetry policy ("route"),
// then the transport.
//
// PerCall recognises the account read, which teaches the topology and is never
// routed by it, classifies every other request, and hands its operation on.
// PerRetry computes the applicable regions (package regions), then walks them:
// it sets the host of the request in place, sends it, judges the outcome by
// the table of [judge], applies the effects, and goes on or returns. What must
// stop the retries of azcosmos and azcore leaves PerRetry as an opaque error,
// which PerCall opens again: the caller sees exactly what azcosmos would have
// given.
//
// # The straight way
//
// A request about items that nobody records, while nothing of its account is
// unwell and no breaker, override or exclusion of its own has a say, needs none of
// that: PerCall lets it go as it is, and PerRetry asks the region that a walk would
// ask first. A success is returned, and nothing was allocated but the guard of a
// body; hedging adds the timer and the context that it needs. At anything else, or
// when the timer fires, the walk is made, which goes on as if it had asked that
// region itself. Feeds (read feed, change feed), and writes of an account whose
// partitions fail over one by one, always walk, and so do requests for a further
// page once a page had to be remembered.
//
// # A race
//
// The first leg of a race is the caller's request on the caller's goroutine,
// under a context that a winning hedge ends; hedges are requests of their own.
// azcore makes a request for each try. When no policy of yours stands in front
// of PerRetry, that request itself gets the context, for the price of a copy is a
// quarter of all that hedging costs a healthy read. Else a copy gets it, and your
// policies see the caller's context and the region that answered.
//
// # What is left alone
//
// Requests to an account whose topology is not known, metadata writes and
// requests of unknown shape pass through untouched. Session tokens, the
// tentative-writes header and the Authorization header are never changed.
// Status codes 410 (topology of a partition), 429 and 449 go back raw, but for
// 410/1022 and other 410 that are the region's fault, and 429/3092: azcosmos and
// azcore handle them.
package policy
