// Package breaker is the per-partition circuit breaker (PPCB): it learns from the outcome of every attempt that a partition
// is unwell in a region, takes that region out of the partition's applicable regions, and lets it back by one probe
// at a time. It decides; sending, probing and telling are its caller's.
//
// # The machine
//
// There is one record for each (partition, region, reads or writes) that is unwell, and none for what is healthy. Reads
// and writes of a region share nothing: not the counters, not the state, not the probe.
//
//	state                event                                            becomes
//	Healthy              failure, slow win                                HealthyWithFailures
//	HealthyWithFailures  the 10th failure in a row (writes: the 5th)      Unavailable  ConsecutiveFailures
//	                     90 % of >= 100 requests of a window failed       Unavailable  FailureRate
//	                     the 5th slow win in a row                        Unavailable  SlowWins
//	                     success                                          the runs end; Healthy once the window is over
//	                     5 minutes without a failure, window over         Healthy
//	Unavailable          any success, failure or slow win                 unchanged
//	                     the probe succeeds                               HealthyTentative  ProbeSucceeded
//	                     the probe fails                                  Unavailable, twice as long  ProbeFailed
//	                     the probe is abandoned                           unchanged, the next request may probe
//	                     no probe for 20 minutes after it was due         Healthy  Lapsed
//	HealthyTentative     the 5th failure in a row (writes: the 2nd),
//	                     the failure rate, the 2nd slow win in a row      Unavailable, as long as last time
//	                     the 10th success (writes: the 5th) in all        Healthy  Recovered
//	                     5 minutes without a failure                      Healthy  Lapsed
//
// A success ends the run of failures and the run of slow wins. The rate window is a minute that begins with a failure
// (what is healthy must have no record) and counts successes and failures; the request that fills it may be a success. A slow
// win is a hedge that won against the region: its own answer came too late to be seen, so it is neither of the two.
//
// Unavailable lasts 30 s at first and doubles with each failed probe up to 20 minutes, plus 0 to 25 % of that: the jitter
// keeps clients, and partitions of a client, from probing in step. Then the probe is due. A late answer of a request that was sent
// before the region opened changes nothing, whatever it says. That a record lapses when nobody asks for its partition is
// how the parent of a split goes: no request will ever name it again.
//
// # Every region opened
//
// The breaker never leaves a request without a region, but it is not the place that sees to it: Route says which
// regions are opened, all of them if need be. The planner (package regions) falls back to the primary when nothing else is
// left and appends the oldest opened region (rule M). Nothing is dropped from here then: dropping the
// records of an exhausted partition, as some do, forgets what is known and sends live traffic to every sick region again.
// The probes go on meanwhile, one for each region, and the first region that answers comes back.
//
// # Time
//
// Time is an argument. It is kept as the distance from the first time the store was given, by the monotonic clock if the
// times carry one (those of time.Now do), so that setting the wall clock goes unnoticed. A time that lies before
// a recorded one counts by its distance, like a later one: a request that took its time a moment earlier finds everything
// as it is, and after a jump backwards longer than a run's life the run has lapsed (it cannot trip), and after one longer
// than an opening the probe is due. No region is kept out for more than twice its opening by any jump.
//
// # Sources
//
// The states are the Java SDK's, the rate rule and the doubling the Python SDK's, the hedge wins the Rust driver's. On purpose
// different from all three: a region opens at the threshold and not after it; a success clears the run; a late success
// clears nothing; a probe is exactly one request.
package breaker
