package policy

import (
	"net/http"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
)

// kind is what a request is to its account. It decides, with the outcome of an
// attempt, whether another region may be asked.
type kind uint8

const (
	singleWriteRead  kind = iota // a read on an account with one write region
	multiWriteRead               // a read on a multi-write account
	multiWriteWrite              // a write on a multi-write account: any writable region takes it
	singleWriteWrite             // a write on a single-write account: only the write region takes it
)

func (k kind) write() bool { return k == multiWriteWrite || k == singleWriteWrite }

// fault tells the ways in which an attempt can end without an answer.
type fault uint8

const (
	answered  fault = iota
	notSent         // surely not sent: DNS, refused, unreachable, TLS, dial
	maybeSent       // perhaps sent: reset, EOF, HTTP/2 stream or GOAWAY error, attempt timeout
	deadline        // the caller's deadline passed while the attempt was in flight
	cancelled       // the caller cancelled, or a hedge lost
)

// outcome is how one attempt ended, as values: the judge never sees a response.
type outcome struct {
	fault  fault
	status int  // with answered
	sub    int  // the Cosmos DB sub-status, 0 when there is none
	brief  bool // the attempt was in flight for less than deadlineCounts
}

// deadlineCounts is how long an attempt must have been in flight for the
// caller's deadline to count against its region.
const deadlineCounts = 100 * time.Millisecond

// action is what the walk does after an attempt.
type action uint8

const (
	// deliver returns the answer to the caller; nobody may repeat it.
	deliver action = iota
	// deliverRaw returns the answer to azcosmos and azcore, which know how to go on.
	deliverRaw
	// next asks the next applicable region at once.
	next
	// askWriteRegion asks the partition's write region once, as the hub.
	askWriteRegion
	// repeatHere asks the same region once more.
	repeatHere
	// seekPrimary asks the account's write region, if that has become another one.
	seekPrimary
	// findPrimary refreshes the topology and asks the primary.
	findPrimary
)

// signal is what an attempt says about the health of the partition in its region.
type signal uint8

const (
	noSignal signal = iota
	success
	failure
)

// verdict is what follows from one attempt: the action of the walk and the
// effects on what others see.
type verdict struct {
	action       action
	signal       signal
	mark         bool // the region's endpoint is unwell: move it behind the others
	refresh      bool // the topology we hold is wrong: ask for a new one
	forgetRanges bool // the container's partition key ranges have changed
}

// Sub-statuses of Cosmos DB that decide a row of the table.
const (
	subWriteForbidden      = 3     // 403: not the write region
	subAccountNotFound     = 1008  // 403: the account is not in this region
	subSessionNotAvailable = 1002  // 404: this replica has not seen the session yet
	subNameCacheStale      = 1000  // 410: the container was recreated
	subRangeGone           = 1002  // 410: the range was split or merged
	subCompletingSplit     = 1007  // 410: a split is being completed
	subCompletingMigration = 1008  // 410: a migration is being completed
	subSystemUnavailable   = 3092  // 429: the partition has no resources, not the caller's fault
	subLatencyNotMet       = 21013 // 408: the caller's own latency bound, told by the gateway
)

// judge is the table of this package, row by row. repeatWrites is the
// caller's leave to carry a write out twice.
func judge(k kind, o outcome, repeatWrites bool) verdict {
	if o.fault != answered {
		return judgeFault(k, o, repeatWrites)
	}
	switch o.status {
	case http.StatusForbidden:
		return judgeForbidden(k, o.sub)
	case http.StatusNotFound:
		return judgeNotFound(k, o.sub)
	case http.StatusRequestTimeout:
		return judgeTimeout(k, o.sub, repeatWrites)
	case http.StatusGone:
		return judgeGone(k, o.sub)
	case http.StatusTooManyRequests:
		return judgeThrottled(k, o.sub)
	case statusRetryWith:
		return verdict{action: deliverRaw}
	default:
		return judgeOther(k, o.status, repeatWrites)
	}
}

// judgeOther judges the statuses whose sub-status says nothing.
func judgeOther(k kind, status int, repeatWrites bool) verdict {
	switch {
	case status == http.StatusServiceUnavailable:
		return verdict{action: notCarriedOut(k), signal: failure}
	case status < http.StatusInternalServerError,
		status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return verdict{action: deliver, signal: success}
	default:
		return verdict{action: perhapsCarriedOut(k, repeatWrites), signal: failure}
	}
}

// statusRetryWith is 449, the service's "conflicting writes, try again".
const statusRetryWith = 449

func judgeFault(k kind, o outcome, repeatWrites bool) verdict {
	switch o.fault {
	case notSent:
		if k == singleWriteWrite {
			return verdict{action: repeatHere, signal: failure, mark: true}
		}
		return verdict{action: next, signal: failure, mark: true}
	case maybeSent:
		return verdict{action: perhapsCarriedOut(k, repeatWrites), signal: failure}
	case deadline:
		if o.brief {
			return verdict{action: deliver}
		}
		return verdict{action: deliver, signal: failure}
	default:
		return verdict{action: deliver}
	}
}

func judgeForbidden(k kind, sub int) verdict {
	switch {
	case sub == subWriteForbidden && !k.write():
		// Only a read under the hub header gets this: "not the hub".
		return verdict{action: next}
	case sub == subWriteForbidden && k == multiWriteWrite:
		return verdict{action: next, signal: failure, mark: true}
	case sub == subWriteForbidden:
		return verdict{action: findPrimary, mark: true, refresh: true}
	case sub == subAccountNotFound && k == singleWriteWrite:
		return verdict{action: findPrimary, signal: failure, mark: true, refresh: true}
	case sub == subAccountNotFound:
		return verdict{action: next, signal: failure, mark: true, refresh: true}
	default:
		return verdict{action: deliver, signal: success}
	}
}

func judgeNotFound(k kind, sub int) verdict {
	if sub == subSessionNotAvailable {
		return verdict{action: sessionAction(k)}
	}
	return verdict{action: deliver, signal: success}
}

func judgeThrottled(k kind, sub int) verdict {
	if sub == subSystemUnavailable {
		return verdict{action: notCarriedOut(k), signal: failure}
	}
	return verdict{action: deliverRaw}
}

func judgeTimeout(k kind, sub int, repeatWrites bool) verdict {
	if sub == subLatencyNotMet {
		return verdict{action: deliver}
	}
	return verdict{action: perhapsCarriedOut(k, repeatWrites), signal: failure}
}

func judgeGone(k kind, sub int) verdict {
	switch sub {
	case subNameCacheStale, subRangeGone, subCompletingSplit, subCompletingMigration:
		return verdict{action: deliverRaw, forgetRanges: true}
	default:
		return verdict{action: notCarriedOut(k), signal: failure}
	}
}

// failoverAnswer is the last column of the table: what an attempt of a write
// says about the write region of its partition.
func failoverAnswer(o outcome) ppaf.Answer {
	switch v := judge(singleWriteWrite, o, false); {
	case o.fault != answered:
		return failoverFault(o)
	case o.status == http.StatusForbidden && o.sub == subWriteForbidden:
		return ppaf.Refused
	case v.signal == success:
		return ppaf.Confirmed
	case o.status == http.StatusForbidden, o.status == http.StatusServiceUnavailable,
		o.status == http.StatusGone && v.signal == failure, o.status == http.StatusTooManyRequests && v.signal == failure:
		return ppaf.Unavailable
	case o.status == http.StatusRequestTimeout && v.signal == failure,
		o.status == http.StatusBadGateway, o.status == http.StatusGatewayTimeout:
		return ppaf.TimedOut
	default:
		return ppaf.Other
	}
}

func failoverFault(o outcome) ppaf.Answer {
	switch {
	case o.fault == notSent:
		return ppaf.NotSent
	case o.fault == maybeSent, o.fault == deadline && !o.brief:
		return ppaf.TimedOut
	default:
		return ppaf.NoAnswer
	}
}

// sessionAction is what a 404/1002 asks for: some other region may have seen
// the session; on a single-write account only the write region surely has.
func sessionAction(k kind) action {
	switch k {
	case singleWriteRead:
		return askWriteRegion
	case singleWriteWrite:
		return deliver
	default:
		return next
	}
}

// notCarriedOut: the region surely did nothing, so any other may be asked. For
// a write on a single-write account that is the region which the account may
// have failed over to since; the design has it return here, but a write region
// that stays lost never answers the 403/3 that would tell.
func notCarriedOut(k kind) action {
	if k == singleWriteWrite {
		return seekPrimary
	}
	return next
}

// perhapsCarriedOut: a read may be asked again, a write only with the caller's leave.
func perhapsCarriedOut(k kind, repeatWrites bool) action {
	if !k.write() || (k == multiWriteWrite && repeatWrites) {
		return next
	}
	return deliver
}
