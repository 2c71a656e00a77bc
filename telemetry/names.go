package telemetry

import "go.opentelemetry.io/otel/attribute"

// Scope is the name of the instrumentation scope: the module's path.
const Scope = "github.com/azcosmos-ha/azcosmos-ha"

// prefix begins the name of everything that no semantic convention has.
const prefix = "cosmos.ha."

// Attributes that no semantic convention has. Those that metrics carry have few
// values; partition and detail are for spans and log lines only.
const (
	AttrRegion            = attribute.Key(prefix + "region")               // string: the region an attempt was sent to, or a decision is about
	AttrReason            = attribute.Key(prefix + "reason")               // string: why an attempt was made, one of the Reason values
	AttrLost              = attribute.Key(prefix + "lost")                 // bool: another leg answered first and ended this attempt
	AttrCharge            = attribute.Key(prefix + "request_charge")       // double: request units of one attempt
	AttrExtraCharge       = attribute.Key(prefix + "extra_request_charge") // double: request units of answers that the caller did not get
	AttrApplicableRegions = attribute.Key(prefix + "applicable_regions")   // string[]: the regions that may be asked, in order
	AttrRule              = attribute.Key(prefix + "rule")                 // string: the rule that made that list
	AttrExcludedRegions   = attribute.Key(prefix + "excluded_regions")     // string[]: those in force for the request
	AttrOpenedRegions     = attribute.Key(prefix + "opened_regions")       // string[]: opened by the breaker for the partition, oldest first
	AttrOverride          = attribute.Key(prefix + "override")             // string: the region that failover has found to take the partition's writes
	AttrFallback          = attribute.Key(prefix + "fallback")             // bool: exclusions and opened regions left only the fallback
	AttrAnswered          = attribute.Key(prefix + "answered_region")      // string: the region whose answer the caller got
	AttrHedge             = attribute.Key(prefix + "hedge")                // string: how the race ended, a hedge.State
	AttrHedgeWithheld     = attribute.Key(prefix + "hedge_withheld")       // string: why a hedge was not sent, a hedge.Reason
	AttrAccess            = attribute.Key(prefix + "access")               // string: read or write
	AttrPart              = attribute.Key("cosmos.ha.part")                // string: the part of the middleware whose records they are: breaker, failover
	AttrFrom              = attribute.Key(prefix + "from")                 // string: a state or a region, as it was
	AttrTo                = attribute.Key(prefix + "to")                   // string: a state or a region, as it is
	AttrCause             = attribute.Key(prefix + "cause")                // string: of a decision
	AttrResult            = attribute.Key(prefix + "result")               // string: how a probe or a refresh ended
	AttrChange            = attribute.Key(prefix + "change")               // string: what a decision did: set, moved, dropped, marked, cleared
	AttrFailures          = attribute.Key(prefix + "failures")             // int: failures that led to a decision
	AttrOpenFor           = attribute.Key(prefix + "open_for")             // double: seconds until the next probe
	AttrPartition         = attribute.Key(prefix + "partition")            // string: a range, or a hash of the logical partition key
	AttrDetail            = attribute.Key(prefix + "detail")               // string: for people
)

// Reason says why an attempt was made.
type Reason string

// The reasons for an attempt.
const (
	Initial    Reason = "initial"     // the first applicable region
	NextRegion Reason = "next_region" // the region before it had no answer for the caller
	Session    Reason = "session"     // another region had not seen the session yet (404/1002)
	Hedge      Reason = "hedge"       // the attempts before it are slow
	Probe      Reason = "probe"       // a copy of a read, to see whether an opened region is well again
	Failover   Reason = "failover"    // the write region moved, refused or could not be reached
)

// Kind says what was decided. A span event is called by its kind after the
// prefix "cosmos.ha.".
type Kind string

// The kinds of decisions.
const (
	KindRetry         Kind = "retry"              // an attempt went elsewhere than the first one
	KindFallback      Kind = "fallback"           // exclusions and opened regions left only the fallback
	KindHedgeStarted  Kind = "hedge.started"      // a hedge is on its way
	KindHedgeWon      Kind = "hedge.won"          // and gave the answer
	KindHedgeWithheld Kind = "hedge.withheld"     // and was not sent, though it was due
	KindBreaker       Kind = "breaker.transition" // a region was opened, is tried again or is closed, for one partition
	KindProbe         Kind = "breaker.probe"      // a probe of an opened region has ended
	KindOverride      Kind = "failover.change"    // the write region of one partition changed
	KindHealth        Kind = "region.health"      // a region's endpoint is put behind the others, or back
	KindTopology      Kind = "topology.change"    // the account has other regions, or another write region
	KindRefresh       Kind = "topology.refresh"   // a topology refresh of our own has ended
	KindRanges        Kind = "ranges.refresh"     // a reading of a container's partition key ranges has ended
	KindUnknownRegion Kind = "region.unknown"     // a preferred or excluded region that the account does not have
	KindPreferred     Kind = "region.overruled"   // the client's preferred regions differ from the Middleware's, which win
)

// The classes of attempts and operations without an answer: values of
// error.type. With an answer from 400 on it is the status code.
const (
	ErrorNotSent   = "not_sent"  // the region could not be reached: surely not sent
	ErrorLostReply = "no_answer" // perhaps sent; the connection broke, or the attempt timed out
	ErrorTimeout   = "timeout"   // the caller's deadline passed
	ErrorCancelled = "cancelled" // the caller cancelled
	ErrorLost      = "lost"      // another leg answered first; no fault of the region
)

// The two values of cosmos.ha.access, and what stands for values beyond the
// bounds of a metric's cardinality.
const (
	accessRead  = "read"
	accessWrite = "write"
	other       = "other"
)

// Metric is the name of an instrument, and what it says.
type Metric struct {
	Name, Unit, Description string
}

// The metrics. The first two are of the semantic conventions; the others may
// change with a minor release, as no convention exists.
var (
	metricDuration    = Metric{"db.client.operation.duration", "s", "Duration of database client operations."}
	metricCharge      = Metric{"azure.cosmosdb.client.operation.request_charge", "{request_unit}", "Request units of the answer that the caller got. What hedges, probes and failed attempts cost beside it is cosmos.ha.extra_request_charge."}
	metricContacted   = Metric{prefix + "operation.contacted_regions", "{region}", "Number of regions contacted by one operation."}
	metricExtraCharge = Metric{prefix + "extra_request_charge", "{request_unit}", "Request units of answers that no caller got: completed losers of hedges, failed attempts, probes."}
	metricAttempts    = Metric{prefix + "attempts", "{attempt}", "Requests sent to regions, by reason and result."}
	metricAttemptTime = Metric{prefix + "attempt.duration", "s", "Duration of requests to one region; lost and cancelled ones are left out."}
	metricFallbacks   = Metric{prefix + "fallbacks", "{operation}", "Operations for which exclusions and opened regions left only the fallback."}
	metricStarted     = Metric{prefix + "hedge.started", "{hedge}", "Hedges sent, by the region they went to."}
	metricWon         = Metric{prefix + "hedge.won", "{hedge}", "Hedges whose answer the caller got, by their region."}
	metricWithheld    = Metric{prefix + "hedge.withheld", "{hedge}", "Hedges not sent, by reason."}
	metricOutcomes    = Metric{prefix + "hedge.outcomes", "{operation}", "How hedged operations ended."}
	metricInFlight    = Metric{prefix + "hedge.in_flight", "{hedge}", "Hedges in flight: the used part of the budget."}
	metricLimit       = Metric{prefix + "hedge.limit", "{hedge}", "Hedges that may be in flight: the budget."}
	metricOpen        = Metric{prefix + "breaker.open_partitions", "{partition}", "Partitions for which the circuit breaker has opened a region."}
	metricTransitions = Metric{prefix + "breaker.transitions", "{transition}", "State changes of the circuit breaker."}
	metricProbes      = Metric{prefix + "breaker.probes", "{probe}", "Probes of opened regions, by result."}
	metricOverrides   = Metric{prefix + "failover.overrides", "{partition}", "Partitions whose writes go to another region than the account's write region."}
	metricRefused     = Metric{prefix + "records.refused", "{record}", "Records of unwell partitions for which there was no place any more, since the start: what they would have told is not acted on."}
	metricMoves       = Metric{prefix + "failover.changes", "{change}", "Changes of partitions' write regions."}
	metricHealth      = Metric{prefix + "region.health_changes", "{change}", "Regions put behind the others, or back, because of their endpoint."}
	metricTopologies  = Metric{prefix + "topology.changes", "{change}", "Topologies that differed from the one before, the first included."}
	metricRefreshes   = Metric{prefix + "topology.refreshes", "{refresh}", "Topology refreshes of our own, by result."}
	metricRangeReads  = Metric{prefix + "ranges.refreshes", "{refresh}", "Readings of containers' partition key ranges, by result."}
	everyMetric       = []Metric{metricDuration, metricCharge, metricContacted, metricExtraCharge, metricAttempts, metricAttemptTime, metricFallbacks, metricStarted, metricWon, metricWithheld, metricOutcomes, metricInFlight, metricLimit, metricOpen, metricTransitions, metricProbes, metricOverrides, metricRefused, metricMoves, metricHealth, metricTopologies, metricRefreshes, metricRangeReads}
	secondsBuckets    = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}
	chargeBuckets     = []float64{1, 5, 10, 25, 50, 100, 250, 500, 1000}
	contactedBuckets  = []float64{1, 2, 3, 4, 6, 8}
)

// Metrics returns the names of all metrics, for whoever checks a dashboard.
func Metrics() []Metric { return append([]Metric(nil), everyMetric...) }
