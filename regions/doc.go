// Package regions decides which regions of a Cosmos DB account a request may go to, and in which order.
//
// It is pure: no clock, no I/O, no goroutine. Everything but the name and JSON edges works on small integers: a
// [Topology] gives each region an [Index], a [Set] is a bit mask of indices and a [List] a short array of them.
// Topology, [View] and [Health] are immutable values that can be shared behind an atomic pointer.
//
// # Applicable regions
//
// Names are compared without case, spaces, "-" and "_" ([Normalize]). Names the account lacks are ignored, and used as
// soon as the account has them.
//
//	primary  the first writable region
//	acct     readable regions for reads, writable ones for writes, in the service's order; every list below means
//	         its regions in acct
//	global   the client's endpoint is not one region's own
//	O        the partition's override: single-write accounts only, readable, not the primary
//	base     preferred regions in acct, in preferred order; no preference and global: acct; no preference and a
//	         regional endpoint: the primary (single-write) or that region alone (multi-write); nothing left: primary
//	list     base - excluded - opened
//	removed  what only the breaker took from base
//
// The rules, in this order; [View.Plan] is their only implementation, [Rule] says which one made a list:
//
//	W         write, single-write account             [O], else [primary]; nothing else applies
//	U         read, no preference, global, O, nothing excluded, nothing opened, |base| > 1    [O, primary]
//	filter    list is not empty                       list
//	fallback  list is empty                           [primary]
//	          done if |base| <= 1, |list| >= 2, or the request is a hedge
//	K         fallback, something excluded, nothing removed      [O] for a read with O, else [primary]; done
//	O         fallback, no preference, global, read, O           [O, primary]
//	+M        append the oldest opened region in acct that is neither excluded nor in the list: at most one
//	metadata  a metadata read: base with the excluded regions last; breaker and override do not apply.
//	          A metadata write is rule W without an override, on multi-write accounts too.
//
// The source is the list algorithm of the Java SDK (its location cache), whose slips are not copied; the rows of
// testdata/applicable_regions.json are the acceptance table, and [Applicable] answers the same question by name.
//
// # Region health
//
// [Health] moves a region that refused behind the others, never out; see its comment.
package regions
