package telemetry

import "go.opentelemetry.io/otel/attribute"

// Scope is the name of the instrumentation scope: the module's path.
const Scope = "github.com/azcosmos-ha/azcosmos-ha"

// Attributes that no semantic convention has.
const (
	AttrApplicableRegions = attribute.Key("cosmos.ha.applicable_regions") // string[]: the regions that may be asked, in order
	AttrRule              = attribute.Key("cosmos.ha.rule")               // string: the rule that made that list
	AttrRegion            = attribute.Key("cosmos.ha.region")             // string: the region an attempt was sent to
	AttrHedge             = attribute.Key("cosmos.ha.hedge")              // string: how the race ended, a hedge.State
	AttrHedgeWithheld     = attribute.Key("cosmos.ha.hedge_withheld")     // string: why a hedge was not sent, a hedge.Reason
	AttrReason            = attribute.Key("cosmos.ha.reason")             // string: one of the Reason values
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
