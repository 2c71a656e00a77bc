// Command bench sets the middleware beside the alternatives, in one run, and writes what it finds as Markdown tables.
//
//	go -C integration/bench run . -o report.md    # 5 to 10 minutes on 2 cores
//	go -C integration/bench run . -quick          # under a minute; status 1 if a promise is broken
//	go -C integration/bench run . -readme ../../README.md
//
// The last one writes the tables of a README anew too, see readme.go.
//
// It is a module of its own, so that what it compares with is no dependency of anybody else.
//
// # Contenders
//
//	plain azcosmos                    azcosmos with PreferredRegions, and nothing else
//	azcosmos-ha                       the same with Middleware.Apply and Bind and the defaults, but for the threshold of hedging
//	azcosmos-ha, hedging off          only where costs are measured
//	failsafe-go                       retry, hedge and breaker of failsafe-go around every call of one azcosmos client
//	failsafe-go, a client per region  the same with a client and a breaker for each region
//	hedgedhttp                        hedgedhttp as the transport of azcosmos
//
// All of them have the same transport underneath, the same preferred regions, the same threshold of hedging, and in the
// scenarios the same deadline for each call. Where a contender has more than one way to be set up, it is set up as a careful
// user would:
//
//   - failsafe-go: reads are repeated twice after 408, 5xx and transport errors, 50 ms to 1 s apart with a jitter of a quarter,
//     and hedged once; writes are repeated only when they were surely not carried out (503, 403, a connection not made) and never
//     hedged. The breaker opens for 30 s after 10 failures in a row, as ours does. It cannot be asked to go elsewhere: a client of
//     azcosmos chooses its region itself, so that repeats and hedges go where the first attempt went.
//   - failsafe-go, a client per region: what can be made of it with more work. The clients prefer one region each, attempts and
//     hedges of a call go from one to the next, and a client whose breaker is open is passed over.
//   - hedgedhttp: two requests at most, and GET only. It would hedge writes too, and its copies of a query share one body.
//
// In virtual time hedgedhttp is represented by its schedule (hedgedhttp.go says why, a test compares the two).
//
// # Tables
//
//	healthy   ns, bytes and allocations of an operation: ReadItem, UpsertItem, a page of a query
//	scale     cost against the number of partitions, of regions and of breaker records; what single decisions cost
//	cores     throughput on 1 and 2 cores
//	virtual   ten scenarios, in virtual time
//	loopback  the same over real sockets
//
// -parts names some of them. Costs are taken over a transport in memory that answers at once, in one process: the contenders
// work in turn, forth and back in an order that changes, round after round, and what counts is the median over the rounds of the
// ratio to plain azcosmos within a round, of the CPU time of the process. A turn is one operation: then a pair of turns is over
// before the machine has changed its mind, and plain azcosmos set beside itself is within one percent of 1, where turns of a
// hundred left it within five. What a rival's goroutines do after its turn would fall on others: rivals have longer turns, with
// nobody but plain azcosmos. What timing takes is taken off. So neither neighbours on the machine nor its clock decide.
//
// The collector does not run in these turns, where it would strike by chance, but between rounds. Its cost is part of the price
// and grows with the bytes: what it costs for each byte is measured in the same run, with the collector as it is by default, and
// the ratio with it stands beside the one without. Some requests are in flight meanwhile, as in an application. Ratios and
// allocations are worth quoting; nanoseconds belong to the machine.
//
// # Scenarios
//
// scenario.go has them. A request is lost when it failed though a healthy region could have served it from its beginning on:
// every scenario leaves one that takes any read, and that takes the writes once the service has moved. The load comes at a fixed
// rate whatever becomes of it, so a slow contender is spared nothing.
//
// # Promises
//
// The last table says what the middleware promises and whether it was kept. Cost: at most 2 % of a ReadItem without hedging and
// 5 % with it, the collector counted or not, at most 8 and 20 allocations; shares of single decisions as in the tables.
// Scenarios: no request lost, and the first success after one extra round trip at most: the first region's and the next one's,
// the threshold in place of the first one's where it hangs, and one more for the account where a write region has to be found.
// Where the write region is lost, the account may have been read just before it moved, and is not read again within a second:
// that second comes on top. Over loopback a machine may be late by 400 ms. In a quick run costs that look broken are measured
// again, three times at most.
package main
