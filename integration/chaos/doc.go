// Package chaos runs the worlds of package simulation over real sockets and in
// real time: loopback listeners of the multi-region gateway, HTTP/1.1 and TLS
// with HTTP/2, in front of its in-process store and of a real emulator, with
// callers that go on while regions fail.
//
//	go test ./integration/chaos                                    about a second for each of the four
//	go test -race -count=1 ./integration/chaos -chaos.duration 30s
//	go test -race -count=1 ./integration/chaos -chaos.duration 10m -timeout 20m
//	go test ./integration/chaos -run TestChaos/store/http2 -chaos.seed 7
//
// # A round
//
// Each of the four plays rounds until its share of the duration is over. A round
// is a world of its own, from the seed: an account with its listeners, a client
// with the middleware, and a schedule of faults. Callers call while the schedule
// runs: connections are refused, reset and closed, HTTP/2 streams reset, requests
// hang, are slow, answered 503 and other errors, or carried out and then lost; one
// partition is sick; faults flap; regions go down and come back; write regions of
// ranges move or are elected, ranges are split (those of the store), the account's
// write region moves, regions come and go. Then everything heals, every partition is read and
// written until the middleware has let go of what it held, everything is closed,
// and the round is judged.
//
// A seed and a duration make the same worlds and schedules; what meets what is
// chance, as it is in life. What is kept of a failing round is its script, with the
// times at which things really happened, the violations and the gateway's log.
//
// # What is judged
//
// The code that calls, makes events happen and judges is the simulation's, by
// [simulation.Stage]; so are the invariants, but for those that hold only of exact
// times. Only the generator is new: the worlds of the simulation last minutes, and
// they cannot be made shorter, since what a busy machine adds to a request does not
// shrink with them. That is [Slack], 2 s, and the longest stall of the machine that
// was measured: by so much may a request end after its deadline, so much time must be
// left for a request that has to succeed. Options of the middleware are short for the
// same reason: the breaker opens for a tenth of a second, so that all is let back in
// the end. Under a name that nobody uses any more, of a range that was split or of a key
// whose range was not known yet, the breaker keeps what has no effect for half a minute:
// that it holds nothing at all is judged in the last round of each of the four
// when its share is two minutes or more.
//
// In the end, past the middleware, the items are read: they must be what the last
// write that took effect has written. Which writes took effect is told by the store, or
// by a witness in front of the emulator.
//
// Marks of endpoints stay for five minutes in any case: they are not judged. An
// account becomes neither multi-write nor single-write here, ReadMany and change
// feeds are left out, because azcosmos holds a lock while it reads a container for them,
// whatever the deadlines of those who wait.
//
// # Leaks
//
// After a first, short round, and after the last one, when everything is closed,
// goroutines, open file descriptors (where there is /proc/self/fd) and the heap
// after a collection are counted: they must be back at their level, see [Margin].
package chaos
