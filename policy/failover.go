package policy

import (
	"net/http"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// failover is the way of one write through the candidates of its partition, on
// an account whose partitions fail over one by one.
type failover struct {
	on     bool         // the write may be taken by another region than the primary
	search *ppaf.Search // nil before the first round
	token  ppaf.Token   // of the attempt in flight
}

// failsOver reports whether the write region of the request's partition can
// move: a document write on a single-write account that has failover on, with
// a partition key that is understood.
func (w *walk) failsOver() bool {
	if w.kind != singleWriteWrite || !w.circuit.document || !w.endpoint.account.ppaf.On() || w.info.PartitionKey == "" {
		return false
	}
	var components [4]request.Component
	_, err := request.ParsePartitionKey(w.info.PartitionKey, components[:0])
	return err == nil
}

// override is where the partition's writes are, None while that is the primary
// or nobody knows better.
func (w *walk) override() regions.Index {
	store := w.endpoint.account.ppaf
	if w.kind == multiWriteRead || w.kind == multiWriteWrite || !w.circuit.document || store.Empty() || !store.On() {
		return regions.None
	}
	return store.Override(ppaf.Key(w.partition()))
}

// candidates are the regions that may take the partition's writes, in order.
func (w *walk) candidates(now time.Time) regions.List {
	t, store := w.view.Topology(), w.endpoint.account.ppaf
	start := ppaf.Start{Override: regions.None, Slow: regions.None}
	if !store.Empty() {
		start = store.Start(ppaf.Key(w.partition()), now)
	}
	return start.Candidates(t.Primary(), t.Readable(), w.excluded)
}

// startRound begins a round of candidates and returns its first.
func (w *walk) startRound(now time.Time) regions.Index {
	list := w.candidates(now)
	first := list.First()
	began := w.endpoint.account.ppaf.Begin(first)
	if w.failover.search != nil {
		w.failover.search.Round(list, began)
		return first
	}
	search := ppaf.NewSearch(list, began, w.lastRound())
	w.failover.search = &search
	return first
}

// lastRound is when no further round may start any more: at the caller's
// deadline, and, if failover was switched on while the write was looking for
// the primary, when the time for that is over.
func (w *walk) lastRound() time.Time {
	until, bounded := w.request.Raw().Context().Deadline()
	if since := w.election.since; !since.IsZero() {
		if over := since.Add(electionBudget + 1); !bounded || over.Before(until) {
			return over
		}
	}
	return until
}

// failOver takes the answer of one candidate and returns the next one. A round
// that ends in an election of the service is repeated after a pause.
func (w *walk) failOver(a answer) (regions.Index, bool) {
	account := w.endpoint.account
	if a.verdict.action == findPrimary {
		w.election.refused(a.ended())
		w.attempts--
	}
	step := w.failover.search.Next(a.region, failoverAnswer(a.outcome), a.ended())
	if step.Exhausted {
		c, changed := account.ppaf.Exhausted(ppaf.Key(w.partition()), w.failover.search.Began())
		if changed {
			account.tellFailover(w.span, c)
		}
	}
	w.reason = telemetry.Failover
	switch step.Action {
	case ppaf.Ask:
		return step.Region, w.attempts < w.limit
	case ppaf.Again:
		return w.awaitElection(step.Wait)
	}
	if step.Exhausted && a.outcome.sub == subAccountNotFound {
		// The account has left every region that we know of.
		return w.seekPrimary(w.view.Topology().Primary())
	}
	return regions.None, false
}

// awaitElection pauses and begins another round, which the number of attempts
// does not bound.
func (w *walk) awaitElection(pause time.Duration) (regions.Index, bool) {
	if !sleep(w.request.Raw().Context(), pause) {
		return regions.None, false
	}
	w.attempts = 0
	return w.planAgain(), true
}

// noteFailover tells what an attempt of a write said about the write region of
// its partition. The primary that takes a write while nothing is recorded, the
// healthy case, costs two loads.
func (w *walk) noteFailover(a answer) {
	account := w.endpoint.account
	said := failoverAnswer(a.outcome)
	if said == ppaf.Confirmed && account.ppaf.Empty() && a.region == w.view.Topology().Primary() {
		return
	}
	w.partition()
	w.learnRange(a.response)
	c, changed := account.ppaf.Observe(ppaf.Key(w.partition()), a.region, w.failover.token, said, a.ended())
	if changed || said == ppaf.TimedOut {
		account.partitions.name(w.circuit.id, w.info.ContainerLink) // under a lock of the account: not for what changes nothing
	}
	if changed {
		account.tellFailover(w.span, c)
	}
}

// noteHub remembers the hub that a read under the hub header has found.
func (w *walk) noteHub(a answer) {
	account := w.endpoint.account
	refused := a.outcome.status == http.StatusForbidden && a.outcome.sub == subWriteForbidden
	if a.response == nil || refused || a.verdict.signal != success || !account.ppaf.On() {
		return
	}
	w.partition()
	w.learnRange(a.response) // a record by the key alone would be found by nobody, and stay
	key := ppaf.Key(w.partition())
	if !w.circuit.document || w.circuit.known < partition.ByLogicalKey {
		return // metadata, or all partitions of a container: there is no one hub
	}
	account.partitions.name(w.circuit.id, w.info.ContainerLink)
	account.ppaf.RememberHub(key, a.region, w.failover.token)
}
