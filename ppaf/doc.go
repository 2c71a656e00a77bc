// Package ppaf is per-partition automatic failover: on a single-write account the service can move the write region of one
// partition, and writes to that partition must follow it, at once, for exactly that partition, and come back when the service
// does. It decides; sending, waiting and telling are its caller's.
//
// # When it applies
//
// Document writes on single-write accounts with two or more readable regions, the partition known, while it is switched on: by
// the account's enablePerPartitionFailoverBehavior (absent: no change) or by [Options].Mode. Never: multi-write
// accounts, metadata, stored procedures. A [Store] knows account and flag from [Store.Apply]; it is inert until then.
//
// # What an attempt says
//
//	Answer       outcomes                                                     the operation          the record
//	Confirmed    < 400, 304, 400, 401, 403 (other), 404 (but 1002), 405, 409,
//	             412, 413, 422, 501, 505, other 4xx                           ends                   confirmed
//	Refused      403/3                                                        next candidate         count cleared
//	Unavailable  403/1008, 410/1022 and 410 other, 429/3092, 503              next candidate         count cleared
//	NotSent      surely not sent: DNS, refused, unreachable, TLS, dial        next candidate         –
//	TimedOut     408 (but 21013), 502, 504; perhaps sent; the caller's
//	             deadline passed while it was in flight                       ends, not repeated     counted
//	Other        404/1002, 408/21013, 410 of a topology change, 429 other,
//	             449, 500 and other 5xx                                       ends                   count cleared
//	NoAnswer     cancelled, or in flight too briefly to count                 ends                   –
//
// A region that confirms becomes the partition's override; if it is the primary, the record goes. So a blip of the only write
// region, which no other region takes over, moves nothing. Candidates are tried within the operation ([Search]), and one that
// does not confirm leaves no trace.
//
// # Candidates
//
//	first               the override, else the primary; preferences, exclusions and the breaker do not apply
//	then                the readable regions in the service's order, the primary among them, excluded ones last
//	after 10 timeouts   the service's order from the region behind the one that timed out, which comes last itself;
//	                    excluded ones just before it
//
// Each once a round. A round in which some candidate answered 403/3 and none took the write is an election: it is repeated after
// 1 and 2 seconds, if that round starts within 5 seconds of the first 403/3 and before the caller's deadline. When all
// refuse, the record goes.
//
// # Timeouts
//
// A write that timed out may have been carried out: it is not repeated, but counted, per partition and region. At the 10th
// within 60 s the next writes start at the next candidate, and the count starts anew. Any answer that is no timeout
// clears the count. The new start is not yet an override: that takes a confirmation, and reads go on as before. It ends with
// a confirmation, with an answer of the region that timed out, or 5 minutes after the last timeout there. A record
// remembers the last 11 timeouts of its partition; that is also the most that Timeouts can ask for.
//
// # Concurrent writes
//
// Each attempt takes a [Token] when it begins; tokens are ordered like the beginnings. Of several confirmations the one
// whose attempt began last stands, in whatever order they come in: writers converge on one override. An older attempt's
// late failure, confirmation or exhaustion undoes nothing. A record that goes leaves its token behind in a small table
// (four places a shard, the last one to come stays), so that what is late cannot bring it back. What cannot be
// known is this: while nothing at all is recorded, the primary's confirmations are not looked at, for the healthy path
// writes nothing shared; a slow confirmation of a move that was already undone then sets an override, and the next write
// corrects it at the cost of one round trip.
//
// # The hub
//
// A read that gets 404/1002 asks the partition's write region under the hub header, and then the candidates. The hub found is
// remembered in the partition's record, but apart from the override: a read never moves a write, and rules K, O and U of package
// regions see the override alone. A write's confirmation overrules it.
//
// # Sources
//
// Candidates are those of the Java SDK; to record on confirmation, and to clear at every edge of the flag, are the
// Rust driver's ways; the 10 timeouts in 60 s are Java's and Python's. On purpose different from all: the count is per region and
// a success clears it, a region trips at the 10th, an ambiguous write is never repeated, excluded regions come last, and
// elections are waited for.
package ppaf
