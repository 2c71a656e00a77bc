// Command drill shows what the middleware is for: it takes a region away from an account under load, and counts who loses
// what.
//
//	go -C integration/drill run .
//
// The same load, request by request, goes through azcosmos with the middleware ("azcosmos-ha") and through plain azcosmos
// beside it ("plain"), each against an account of its own, so that the regions contacted can be told apart. Nothing has to be
// installed: the accounts are gateways of package integration/gateway with a store in process, over loopback listeners.
//
// # Phases
//
// healthy, then one phase for each of -faults, then recovered. The fault of a phase begins when its load has begun and ends
// when its last request has ended; then every region is back, and the write region is the first one again. Both sides get new
// clients before each fault (unless -fresh=false), made while all is healthy: a client that remembers the last fault would not
// meet the next one. The recovered phase goes on with the clients of the last fault; what they remember of it outlasts a short
// phase: the middleware returns to a region some 30 s after its breaker opened, or its endpoint refused (-phase 25s shows it).
//
// A fault is written kind@region; the region is optional and by default the first preferred one, which is the one that both
// sides use.
//
//	refuse  connections are refused, open ones reset
//	503     every answer is 503
//	hang    requests are taken and never answered
//	slow    every answer comes late, by -slow
//	reset   every request is taken and its connection reset
//	stream  every request is taken and its HTTP/2 stream reset (over http1 its connection is closed)
//
// It concerns everything that the region serves. When it is the write region the global endpoint, which is an alias of it,
// shares its fate. On a single-write account the service then moves the write region to the next one, -failover-after the
// fault began, and the global endpoint with it; the region that was lost stays lost.
//
// # What is counted
//
// Each request has a caller's deadline (-timeout), on both sides. The middleware also bounds each attempt (-attempt-timeout),
// an option that plain azcosmos does not have: without it, or hedging, a region that hangs costs the caller's whole deadline.
// Requests are sent at a fixed rate whatever becomes of those before them, so a slow side is not spared any, and times are
// those until the caller had an answer, failures included. A request belongs to the phase in which it began.
//
//	requests  sent by the application
//	failed    came back to the application with an error, for whatever reason
//	lost      failed, though a healthy region could have served it
//	unknown   failed writes that may have been carried out
//	regions   requests that reached for a region: attempts, refused ones among them
//
// A healthy region could have served a failed request if, from its beginning to its end, some region stood that had no fault
// and takes such requests: for a read, and for a write on a multi-write account, any of the preferred regions, or of the
// account's when none is preferred; for a write on a single-write account the write region of the time. So a write that
// began before the service moved the write region away from a lost one could not have been served by anybody: it is failed,
// and no more.
//
// A failed write is unknown, and not lost, when an attempt at it was sent and had no answer, or the answer 408 or 5xx (but
// for 503, 501 and 505, which mean that nothing was done). It may have been carried out, and whoever repeats it may carry it
// out twice; so neither side should, and the application must look. Reads are never unknown. What repeats writes nevertheless
// is told below the table, from the store's own account.
//
// The exit status is 0 only if the side with the middleware lost no request and carried out no write twice, 1 if it did, or
// the drill could not be run to its end, or its traces, metrics or picture did not get where they should; 2 for flags and
// variables that cannot be used.
//
// # The picture
//
// -report FILE writes a picture of the run as one HTML page, which needs no script and nothing else: latency over time, who
// answered, where attempts went, what was done to the account and what the middleware decided, ours above plain azcosmos, and
// the table. Without the flag none is written. What is drawn of decisions is what [policy.Middleware.State] remembers, the
// last 200 for each client.
//
// # Traces and metrics
//
// -otlp URL sends the traces and metrics of our side to a collector, over OTLP/HTTP, azcosmos's own spans among them:
//
//	go -C integration/drill run . -otlp http://127.0.0.1:4318
//
// Without the flag the standard variables decide: OTEL_EXPORTER_OTLP_ENDPOINT, those of TRACES and METRICS, their headers,
// certificates, timeouts and compression; OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER, which may be none;
// OTEL_SDK_DISABLED, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME (else azcosmos-ha-drill). Without any, nothing is sent.
// What is left is sent at the end, for 10 s at
// most. Batches that are not taken are told in a line; that a collector takes no metrics at all, as Jaeger, is a note.
//
// # Accounts and emulators
//
// -endpoint and -key name an account or emulator instead of the store in process. One that has a single region, as every
// emulator has, is put behind the gateways, which make -regions of it. One that has several is used as it is: there is a
// load, but no faults, and all of its regions count as healthy. The drill makes a database of its own there and deletes it
// afterwards.
//
// # Defaults
//
// A single-write account whose second region is preferred, as for an application that runs there: its reads lose their
// region, its writes go on in the first. -multi-write lets the writes lose their region too: those that hung are unknown
// then. -preferred with the write region first shows an account failover. The deadline of 3 s ends requests that plain
// azcosmos would have saved after 4 s, when it gives up on a region that refuses: -timeout 5s shows that.
package main
