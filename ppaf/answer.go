package ppaf

import "github.com/azcosmos-ha/azcosmos-ha/regions"

// Answer is what one attempt of a write says about the write region of its partition. The package comment has the table.
type Answer uint8

// The answers.
const (
	NoAnswer    Answer = iota // nothing: cancelled
	Confirmed                 // the region takes the partition's writes, or would have if the request were good
	Refused                   // 403/3: not the partition's write region
	Unavailable               // surely not carried out, for another reason than Refused
	NotSent                   // surely not sent
	TimedOut                  // perhaps carried out
	Other                     // an answer that neither confirms nor refuses
)

var answerNames = [...]string{"no_answer", "confirmed", "refused", "unavailable", "not_sent", "timed_out", "other"}

// String returns a short name: no_answer, confirmed, refused, unavailable, not_sent, timed_out, other.
func (a Answer) String() string {
	if int(a) < len(answerNames) {
		return answerNames[a]
	}
	return answerNames[NoAnswer]
}

// next reports whether another candidate may be asked: the write surely was not carried out.
func (a Answer) next() bool { return a == Refused || a == Unavailable || a == NotSent }

// Cause is why an override changed.
type Cause uint8

// The causes.
const (
	// ByConfirmation: a region took a write: an override was set, moved, or (the primary did) dropped.
	ByConfirmation Cause = iota + 1
	// ByTimeouts: the 10th timeout within 60 s. No override changes; the next writes start behind the region From.
	ByTimeouts
	// ByExhaustion: every candidate refused, so the override was dropped.
	ByExhaustion
	// ByTopology: the override has become the account's primary, or its region has left the account.
	ByTopology
	// ByFlag: failover was switched on or off.
	ByFlag
	// ByAccount: the account became multi-write, was left with one readable region, or the reverse of these.
	ByAccount
)

var causeNames = [...]string{"none", "confirmation", "timeouts", "exhaustion", "topology", "flag", "account"}

// String returns a short name: confirmation, timeouts, exhaustion, topology, flag, account.
func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return causeNames[0]
}

// Change is a change of one partition's override, for telemetry. The override was set if From is None, dropped if To is, else
// moved; see [Change.Kind].
type Change struct {
	Key      Key
	From, To regions.Index
	Cause    Cause
}

// Kind returns set, moved, dropped or cleared (all overrides at once); slow for ByTimeouts, which changes no override.
func (c Change) Kind() string {
	switch {
	case c.Cause == ByTimeouts:
		return "slow"
	case c.Cause == ByFlag, c.Cause == ByAccount:
		return "cleared"
	case c.From == regions.None:
		return "set"
	case c.To == regions.None:
		return "dropped"
	default:
		return "moved"
	}
}
