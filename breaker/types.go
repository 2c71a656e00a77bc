package breaker

import "time"

// Key names a partition of a container. Its numbers are whatever its maker says they are, as long as two partitions, two
// containers or two accounts never share a Key. Without knowledge of ranges, Range may stand for a logical partition key.
type Key struct {
	Container uint64
	Range     uint64
}

// Region is a region's index in the account's topology, 0 to 63. What is said about any other index is ignored.
type Region = uint8

// MaxRegions is how many regions there can be.
const MaxRegions = 64

// State is the health of a region for the reads, or the writes, of one partition.
type State uint8

// The states of the package comment's table. The zero value is Healthy.
const (
	Healthy             State = iota // no record
	HealthyWithFailures              // something has failed, not enough to act on
	Unavailable                      // opened: taken out of the applicable regions
	HealthyTentative                 // in use again after a good probe, at half the thresholds
)

// String returns the name of the constant, "State(unknown)" for a value that is none.
func (s State) String() string {
	return name("State", uint8(s), "Healthy", "HealthyWithFailures", "Unavailable", "HealthyTentative")
}

// Event is what became of one attempt or probe.
type Event uint8

// The events. The zero value is none of them and changes nothing.
const (
	_         Event = iota
	Success         // the region answered, and a split or a merge does not explain the answer
	Failure         // the region failed the attempt
	SlowWin         // a hedge to another region won before this one answered
	Abandoned       // only of a probe: it ended without saying anything about the region
)

// String returns the name of the constant.
func (e Event) String() string {
	return name("Event", uint8(e), "None", "Success", "Failure", "SlowWin", "Abandoned")
}

// Cause is why a region changed its state.
type Cause uint8

// The causes. The zero value means that nothing worth telling happened.
const (
	NoCause             Cause = iota
	ConsecutiveFailures       // opened by a run of failures
	FailureRate               // opened by the share of failures in a rate window
	SlowWins                  // opened by hedges that won against it
	ProbeFailed               // opened again
	ProbeSucceeded            // let back, tentatively
	Recovered                 // healthy after enough successes
	Lapsed                    // forgotten, as nothing was heard of it for long enough
)

// String returns the cause in words, as telemetry shows it: "consecutive failures".
func (c Cause) String() string {
	return name("Cause", uint8(c), "none", "consecutive failures", "failure rate", "slow wins",
		"probe failed", "probe succeeded", "recovered", "lapsed")
}

func name(kind string, i uint8, names ...string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return kind + "(unknown)"
}

// Change is what an event did to a Record.
type Change struct {
	From, To State
	Cause    Cause // NoCause: nothing that routes differently; Healthy and HealthyWithFailures come and go without one
	Failures int   // the failures, or slow wins, that led to it; 0 when none did
}

// Transition is a Change of one region of one partition: an effect for telemetry, nothing is left to do about it.
type Transition struct {
	Key      Key
	Region   Region
	Write    bool // the region's writes; else its reads
	From, To State
	Cause    Cause
	Failures int           // the failures, or slow wins, that led to it; 0 when none did
	Since    time.Time     // when To began
	OpenFor  time.Duration // how long until the probe is due, jitter included; 0 unless To is Unavailable
}

// Token names one probe. A probe ends with the token it was claimed with, so that a late one ends no other. Zero is no probe.
type Token uint32
