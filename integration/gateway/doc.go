// Package gateway is a multi-region Azure Cosmos DB gateway for tests: one account with a global endpoint and an endpoint per
// region, in front of one [Upstream]. It speaks the part of the REST protocol that azcosmos speaks, keeps the service's rules
// about regions and partition key ranges, breaks on demand, and logs every request.
//
// # Ways in
//
// [Gateway.RoundTripper] and [Gateway.Transport] carry requests in memory. They use only timers and channels made inside the
// call, so they work in a testing/synctest bubble, where latencies are exact. [Gateway.Listen] opens loopback listeners, for
// HTTP/1.1 or for HTTP/2 over TLS, where every fault is a real one. All ways lead to the same state and the same log.
//
// The names are acct.documents.azure.test for the global endpoint and acct-westus.documents.azure.test for a region.
//
// # Rules of the service
//
//	GET /                                            the account, on every endpoint; id acct, or acct-westus on a regional one
//	a region that left the account                   403/1008 to every request
//	a document write outside the write region        403/3, on a single-write account; the write region is the one of the range
//	a metadata write outside the hub                 403/3, on every account
//	a read with the hub header                       403/3 outside the write region of the range, on a single-write account
//	a range that is being elected ([Gateway.Elect])  403/3 from every region to writes and to reads with the hub header
//	a partition key range id that is gone            410/1002
//	pkranges with the current etag                   304
//
// The global endpoint is an alias of the hub, the first writable region: the same rules hold there. It is logged as [Global],
// so that a test can prove that it never carries data.
//
// Document answers carry the range id, a session token that never goes back per range, and an lsn. One store stands behind all
// regions. Without [Options.Lag] all of them see all of it at once, and 404/1002 comes from a [Rule] only; with it a region sees
// late what was written elsewhere, and answers 404/1002 to a session token that is ahead of it. A client that goes away does not
// undo a write.
//
// # Faults
//
// [Gateway.Inject] adds a [Rule]. Rules are tried in the order of injection and the first that matches acts; a rule that only
// delays lets the search go on. [Gateway.Down] takes an endpoint away: connections are refused and open ones reset.
//
// The package is for tests only and imports the standard library and this module's internal/partition.
package gateway
