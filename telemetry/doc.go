// Package telemetry tells what the middleware decided and did: through the
// OpenTelemetry API, an slog.Logger, a record for code ([Record]) and a state
// page ([Handler]). It decides nothing.
//
// Shared names are those of the semantic conventions v1.43.0 for Azure Cosmos DB
// (status: development); azcosmos 1.5.0 itself still writes older ones, on
// spans of its own. What no convention has begins with "cosmos.ha." and may
// change with a minor release. All names are in names.go.
//
// # Spans
//
// One span per routed operation, named "{operation} {container}", and one child
// per attempt and hedge, named "attempt {region}". A shadow probe outlives its
// operation: it has a root of its own, "probe {region}", with a link. A read of
// metadata has spans only when it had to leave its first region: azcosmos reads
// metadata in the background too, where a span would be a root that belongs to
// nobody.
//
//	span       attribute                                     meaning
//	operation  db.system.name, db.operation.name,            as the conventions ask; when it starts
//	           db.namespace, db.collection.name,
//	           server.address, server.port
//	operation  cosmos.ha.applicable_regions, cosmos.ha.rule  the regions that may be asked, in order, and the rule of package regions behind it
//	operation  cosmos.ha.excluded_regions, .opened_regions,  what the rule had to go by, if any
//	           .override, .fallback
//	operation  azure.cosmosdb.operation.contacted_regions    in order; the same one twice in a row is there once
//	operation  cosmos.ha.answered_region                     whose answer the caller got
//	operation  azure.cosmosdb.operation.request_charge       of that answer
//	operation  cosmos.ha.extra_request_charge                of other answers, as far as they had come
//	operation  cosmos.ha.hedge, cosmos.ha.hedge_withheld     how the race ended; why a hedge was not sent
//	attempt    cosmos.ha.region, cosmos.ha.reason            initial, next_region, session, failover, hedge, probe
//	attempt    cosmos.ha.request_charge, server.address
//	attempt    cosmos.ha.lost                                another leg was first; no error of the region
//	both       db.response.status_code, error.type,          error.type without an answer: not_sent, no_answer, timeout, cancelled
//	           azure.cosmosdb.response.sub_status_code
//
// Every decision is an event of the span of the operation that it was taken in,
// called "cosmos.ha." and its kind. What is decided while no operation's span
// is recording is told by the other means.
//
//	event                 attributes (cosmos.ha.)                    metric  log  last decisions
//	retry                 from, to, cause, change (the reason)       –       –    yes
//	fallback              region, cause (the rule)                   yes     –    yes
//	hedge.started         region                                     yes     –    yes
//	hedge.won             region, from                               yes     –    yes
//	hedge.withheld        cause (budget)                             yes     –    yes
//	breaker.transition    region, access, from, to, cause, failures, yes     yes  yes
//	                      open_for, partition
//	breaker.probe         region, access, cause (how it ended)       yes     –    yes
//	failover.change       from, to, change, cause, partition         yes     yes  yes
//	region.health         region, access, change, cause              yes     yes  yes
//	topology.change       from, to, detail                           yes     yes  yes
//	topology.refresh      change (asked), cause; its end is told     yes     if it failed
//	                      without a span: cause, detail
//	ranges.refresh        cause, detail                              yes     if it failed
//	region.unknown        region                                     –       yes  yes
//	region.overruled      detail                                     –       yes  yes
//
// A hedge that is withheld because of the deadline, the account, or for want of
// a region is an attribute and a metric only; hedging that nobody asked for is
// an attribute only.
//
// # Metrics
//
//	name                                              kind       unit            attributes
//	db.client.operation.duration                      histogram  s               db.system.name, db.operation.name, db.namespace, db.collection.name, result
//	azure.cosmosdb.client.operation.request_charge    histogram  {request_unit}  the same; of the answer that the caller got
//	cosmos.ha.operation.contacted_regions             histogram  {region}        db.operation.name
//	cosmos.ha.extra_request_charge                    counter    {request_unit}  db.operation.name; what no caller got anything for
//	cosmos.ha.attempts                                counter    {attempt}       region, db.operation.name, reason, result
//	cosmos.ha.attempt.duration                        histogram  s               region, db.operation.name
//	cosmos.ha.fallbacks                               counter    {operation}     region, db.operation.name
//	cosmos.ha.hedge.started, cosmos.ha.hedge.won      counter    {hedge}         region, db.operation.name
//	cosmos.ha.hedge.withheld                          counter    {hedge}         db.operation.name, cause
//	cosmos.ha.hedge.outcomes                          counter    {operation}     result: how operations ended that had sent a hedge
//	cosmos.ha.hedge.in_flight, cosmos.ha.hedge.limit  gauge      {hedge}
//	cosmos.ha.breaker.open_partitions                 gauge      {partition}     region, access
//	cosmos.ha.breaker.transitions                     counter    {transition}    region, access, to, cause
//	cosmos.ha.breaker.probes                          counter    {probe}         region, access, result
//	cosmos.ha.failover.overrides                      gauge      {partition}     region
//	cosmos.ha.records.refused                         gauge      {record}        cosmos.ha.part (breaker, failover)
//	cosmos.ha.failover.changes                        counter    {change}        region (the new one), result (set, moved, ...), cause
//	cosmos.ha.region.health_changes                   counter    {change}        region, access, result (marked, cleared)
//	cosmos.ha.topology.changes                        counter    {change}
//	cosmos.ha.topology.refreshes                      counter    {refresh}       result
//	cosmos.ha.ranges.refreshes                        counter    {refresh}       result
//
// region, reason, cause, access, to and result stand for cosmos.ha.region and
// so on; the result of an attempt or operation is db.response.status_code,
// azure.cosmosdb.response.sub_status_code and error.type. A gauge is an
// observable up-down counter. Statuses and sub-statuses that the service does
// not give are "other", or left out; after 2,000 attribute sets of attempts,
// 2,000 of operations and 1,000 of decisions all that is new is "other".
//
// # Privacy
//
// Partition key values, item ids, tokens and headers are never recorded, and
// neither are the texts of requests' errors, which hold URLs. Ranges, or hashes
// of logical partition keys that mean nothing outside of the process, are on
// spans, in the log and on the page, never on metrics.
//
// # Cost
//
// Nothing is recorded, and nothing allocated, while the providers are the API's
// no-op ones, or OpenTelemetry's global ones before an SDK is installed. Without
// a meter that costs nothing for a request whose parent span is not sampled
// either. An SDK that is installed later, in place of the global ones, is found
// by the next operation, but for healthy requests about items, which look for one
// once in a second. A measurement with the OpenTelemetry SDK does not allocate. What
// State shows of traffic is counted by request without a lock, in memory that
// processors do not share.
package telemetry
