// Package simulation runs whole worlds: accounts behind the in-memory gateway,
// real azcosmos clients with the middleware, callers, and everything that can go
// wrong with a region, in virtual time (testing/synctest). A world comes from a
// seed; after it has run, named invariants judge what happened.
//
//	go test ./integration/simulation                                  some hundred worlds
//	go test ./integration/simulation -run TestWorlds -worlds 1000000 -seed 7 -timeout 0
//	go test ./integration/simulation -run TestWorlds -seed 1083 -worlds 1
//	go run ./integration/simulation/mutate                            plants faults and sees that they are found
//
// # A world
//
// The values of [World]: 1 to 6 regions, single or multi-write, partition
// failover or not, 1 to 64 ranges, latencies, replication lag; the client's
// options; 1 to 64 callers with their calls, deadlines, sessions and exclusions;
// and events: faults of every kind that the gateway knows, of regions, operations
// and partitions, several at once, flapping and grey (slow, or with a
// probability), regions that go down, write regions of ranges that move or are
// elected, splits, regions that come and go, account failover, changed flags.
//
// About half of the calls are silent: nobody records them, which is what lets a
// healthy request about items go the straight way (package policy). What they did is in the
// gateway's log all the same; only what telemetry says of them is not judged, but for
// that it says nothing.
//
// A run has four parts. First the items are made and one read is sent. Then the
// callers call while the events happen. Then everything heals, and each
// partition is read and written until all regions are let back. Then an hour
// passes without a call, and a few calls follow.
//
// # What a seed reproduces
//
// With one caller every request, to the nanosecond: the breaker then has no
// jitter, and no two things happen at the same moment but by chance. With many
// callers the world, the calls and the schedule of faults; their order within a
// moment is the scheduler's. The log of a run that failed is kept.
//
// A failure shrinks to a small world, as a script. Put into testdata/worlds it is
// a test.
//
// # What is not here
//
// The clock cannot be set inside a bubble. That steps of the clock do no harm is
// shown where times are arguments: by the tests of breaker, ppaf, regions and
// hedge. Real sockets are for integration/chaos. ReadManyItems and change feeds
// are called by one caller at a time: azcosmos holds a lock while it reads a
// container for them, which stops the time of a bubble. A cold client finds its
// endpoint refused, not hanging: azcosmos reads the account for the first time
// on a context that cannot be cancelled.
package simulation
