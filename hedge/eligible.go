package hedge

import "github.com/azcosmos-ha/azcosmos-ha/regions"

// Query is what [Eligible] needs to know of one request besides its options. The zero value is eligible for nothing.
type Query struct {
	// Document: the request is about items, one or a page of them. Databases, containers, ranges, throughput, the account and
	// requests that nobody knows are not hedged.
	Document bool
	// Write: the request changes something, or may; otherwise it is a read of any kind.
	Write bool
	// MultiWrite: every writable region of the account takes writes.
	MultiWrite bool
	// AccountDisabled is the account's disableCrossRegionalHedging; absent is false.
	AccountDisabled bool
	// Candidates is how many regions a hedge may go to: the size of [Candidates].
	Candidates int
}

// Reason says why a request, or one hedge of it, is not sent. The zero value is no reason.
type Reason uint8

// The reasons, in the order in which they are looked for. The last two concern one hedge, the others the whole request.
const (
	ReasonNone      Reason = iota
	ReasonOff              // switched off by the options of the client or the request
	ReasonAccount          // switched off by the account
	ReasonMetadata         // not about documents
	ReasonWrite            // a write that nobody asked to hedge, or on a single-write account
	ReasonOneRegion        // there is no second region to go to
	ReasonDeadline         // the deadline is over before the threshold is
	ReasonBudget           // MaxInFlight hedges are in flight
	ReasonNoRegion         // every candidate has been asked
	reasonCount
)

var reasonNames = [reasonCount]string{
	"", "off", "account", "metadata", "write", "one_region", "deadline", "budget", "no_region",
}

// String returns the reason as telemetry spells it, such as "one_region"; "" for no reason, or a value that is none.
func (r Reason) String() string {
	if r < reasonCount {
		return reasonNames[r]
	}
	return ""
}

// Eligible reports whether a request may be hedged; if not, the first reason that applies. The deadline is not looked
// at: see [Threshold], or [Plan], which does both.
func Eligible(o Options, q Query) (bool, Reason) {
	switch {
	case o.Disabled:
		return false, ReasonOff
	case q.AccountDisabled:
		return false, ReasonAccount
	case !q.Document:
		return false, ReasonMetadata
	case q.Write && (!o.Writes || !q.MultiWrite):
		return false, ReasonWrite
	case q.Candidates < 1:
		return false, ReasonOneRegion
	default:
		return true, ReasonNone
	}
}

// Candidates returns the regions that hedges may go to: the applicable ones without the first, which the walk asks, and
// without those in never: the excluded ones and those the breaker has opened for the partition. Such a region can be
// applicable as a last resort (rules M, O and K of package regions), but a hedge is no last resort. Their order is the
// list's: [Claims.Next] takes both.
func Candidates(applicable regions.List, never regions.Set) regions.Set {
	return applicable.Set().Without(applicable.First()) &^ never
}
