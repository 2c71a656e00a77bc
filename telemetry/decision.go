package telemetry

import (
	"fmt"
	"strings"
	"time"
)

// Decision is one thing that was decided, or happened, other than the ordinary
// plan. Which fields a kind fills is in the package comment; the others are
// zero. It never holds a key, an id of an item, or a token.
type Decision struct {
	Kind      Kind          `json:"kind"`
	At        time.Time     `json:"at"`        // zero: now
	Account   string        `json:"account"`   // host of the client endpoint
	Operation string        `json:"operation"` // db.operation.name
	Container string        `json:"container"` // its link, "" when it is not known
	Partition string        `json:"partition"` // its range, or a hash of the logical partition key
	Region    string        `json:"region"`
	Write     bool          `json:"write"`    // about writes; else about reads
	From      string        `json:"from"`     // a state, or a region
	To        string        `json:"to"`       // a state, or a region
	Change    string        `json:"change"`   // of few values: set, moved, dropped, cleared, slow; marked, cleared
	Cause     string        `json:"cause"`    // of few values
	Failures  int           `json:"failures"` // that led to it
	OpenFor   time.Duration `json:"openFor"`  // until the next probe, nanoseconds
	Detail    string        `json:"detail"`   // for people
}

// access says what the decision concerns.
func (d Decision) access() string {
	if d.Write {
		return accessWrite
	}
	return accessRead
}

// Failed reports a decision that tells of a failure.
func (d Decision) failed() bool {
	switch d.Kind {
	case KindRefresh, KindRanges:
		return d.Cause != ""
	case KindUnknownRegion, KindPreferred:
		return true
	default:
		return false
	}
}

// String is the decision as a sentence, without the time.
func (d Decision) String() string {
	switch d.Kind {
	case KindRetry:
		return fmt.Sprintf("%s: %s from %s, went on to %s (%s)", d.Operation, d.Cause, d.From, d.To, d.Change)
	case KindFallback:
		return fmt.Sprintf("%s: nothing but the fallback %s is left (%s)", d.Operation, d.Region, d.Cause)
	case KindHedgeStarted:
		return fmt.Sprintf("%s: hedge sent to %s", d.Operation, d.Region)
	case KindHedgeWon:
		return fmt.Sprintf("%s: the hedge to %s answered before %s", d.Operation, d.Region, d.From)
	case KindHedgeWithheld:
		return fmt.Sprintf("%s: hedge not sent (%s)", d.Operation, d.Cause)
	case KindBreaker:
		return fmt.Sprintf("%ss in %s: %s → %s (%s)", d.access(), d.Region, d.From, d.To, d.Cause)
	case KindProbe:
		return fmt.Sprintf("probe of %ss in %s: %s", d.access(), d.Region, d.Cause)
	case KindOverride:
		return fmt.Sprintf("writes of a partition: %s → %s, override %s (%s)", orDefault(d.From), orDefault(d.To), d.Change, d.Cause)
	case KindHealth:
		return fmt.Sprintf("endpoint of %s for %ss: %s", d.Region, d.access(), strings.TrimSuffix(d.Change+", "+d.Cause, ", "))
	default:
		return d.ofAccount()
	}
}

// ofAccount is the sentence of what concerns a whole account.
func (d Decision) ofAccount() string {
	switch d.Kind {
	case KindTopology:
		return "topology: " + d.Detail
	case KindRefresh:
		return outcome("topology refresh", d)
	case KindRanges:
		return outcome("reading of partition key ranges", d)
	case KindUnknownRegion:
		return fmt.Sprintf("the account has no region %q; it is ignored", d.Region)
	case KindPreferred:
		return "preferred regions of the client are overruled: " + d.Detail
	default:
		return string(d.Kind)
	}
}

func outcome(what string, d Decision) string {
	if d.Cause == "" {
		return what + " succeeded"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s failed (%s): %s", what, d.Cause, d.Detail), ": ")
}

func orDefault(region string) string {
	if region == "" {
		return "the account's write region"
	}
	return region
}
