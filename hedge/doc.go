// Package hedge decides when a request that is slow in one region is also sent to another, and which answer the caller
// gets. It decides; sending, waiting and telling are its caller's. It has no clock and starts no goroutine.
//
// Applications use [Options], [With] and [Off]. The rest is the plan as values and functions, in the order in which
// one request meets them.
//
// # Is it hedged at all
//
// [Plan] answers with a [Schedule], or with the first reason that applies:
//
//	off         Options.Disabled, from the client or the request
//	account     the account's disableCrossRegionalHedging, which beats every option
//	metadata    not about documents
//	write       a write, unless Options.Writes and the account is multi-write
//	one_region  no second region: Candidates is empty
//	deadline    the deadline is over before the first threshold is
//
// Point reads, query pages, read-many pages and change feed pages are reads alike. Candidates are the applicable
// regions but the first, and never one that is excluded or opened by the breaker, even where the walk may fall back to it.
//
// # When
//
//	hedge k (from 0) is due at threshold + k * step, counted from the start of the operation
//
// The threshold is the one that is set, taken as it is, else min(1 s, half of what is left of the deadline). Every hedge has
// its place in the schedule. A leg that ends without a final answer starts the next hedge at once: that takes the place
// of the next hedge, and the others keep theirs. There are never more hedges than MaxHedges or than candidates.
//
// # Who
//
// The first leg is the ordinary walk through the applicable regions, retries included; a hedge is one attempt, pinned to its
// region. They share [Claims], so that neither asks a region the other has asked. A [Budget] bounds the hedges
// in flight. Acquire it before a region is claimed: a region claimed for a hedge that is then withheld would be lost to the walk.
//
//	withheld for budget     the hedge's place is spent, the others keep theirs
//	withheld for no_region  every region has been asked; there is no further hedge
//
// # Which answer
//
// [Race] is told what happens, in the order in which it happens, and says what to do:
//
//	event                                 the race
//	a hedge is due                        Start
//	a leg ends, final                     Return that leg; the others have lost
//	a leg ends, not final                 Start, if the schedule has a place left; else Wait for the legs in flight;
//	                                      else Return the first leg
//	a hedge is withheld                   Wait for the legs in flight; else Return the first leg
//	the caller's context is done          over: nothing further is started
//	a leg ends after the race is over     Wait: it changes nothing
//
// [Final] says which answers are final: what the walk of a read returns of its own accord, for reads and writes alike.
//
// # Pages
//
// A continuation means most to the region that gave it, so [Pages] remembers which one that was, and [Lead] puts it first.
//
// # Sources
//
// The threshold and the final answers are the Rust driver's, the steps the Java and .NET SDKs', the early start .NET's and
// Rust's. On purpose different: 429, 410, 449 and 404/1002 are never final, the first leg keeps all its retries, and
// candidates leave out opened regions (Java hedges to them).
package hedge
