package policy

import (
	"net/http"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// circuit is what the circuit breaker knows and learns of one walk.
type circuit struct {
	document bool            // the request is about items
	on       bool            // the breaker has a say in this request
	own      bool            // a probe is the request itself, not its shadow
	id       partition.ID    // of the request's partition; zero: not asked for yet
	known    partition.Known // how it is known
	alone    bool            // by its logical key, though its range is known

	// What was counted before the range of a logical key was learned: it waits
	// for the range, so that all keys of a sick range share their count.
	waiting []counted

	probed regions.Index // the region that this request probes; None: no probe
	token  breaker.Token
	key    breaker.Key // that the token was given for: the partition may become better known meanwhile
}

// counted is an event that waits to be recorded.
type counted struct {
	region regions.Index
	event  breaker.Event
	at     time.Time
}

// breakable reports whether the breaker has a say: reads of documents where
// there is another region to read from, and writes where another region takes
// them. A write on a single-write account has no other place to go.
func (w *walk) breakable() bool {
	if !w.circuit.document || w.endpoint.options.Breaker.Disabled {
		return false
	}
	t := w.view.Topology()
	acct := t.Readable()
	if w.kind.write() {
		acct = t.Writable()
	}
	return acct.Len() > 1 && w.kind != singleWriteWrite
}

// partition names the partition of the request, once.
func (w *walk) partition() breaker.Key {
	if w.circuit.id == (partition.ID{}) {
		w.circuit.id, w.circuit.known = w.endpoint.account.partitions.resolve(w.info)
		w.stayAlone()
	}
	return breaker.Key(w.circuit.id)
}

// stayAlone keeps to an identity that the partition had while less was known of
// it, as long as a region is opened for that: what is learned later, the range
// of a key or a container's range map, must not let requests back to that region.
func (w *walk) stayAlone() {
	c, account := &w.circuit, w.endpoint.account
	if !c.on || account.breaker.Empty() || c.known < partition.ByEPK {
		return
	}
	now := time.Now()
	for _, id := range account.partitions.earlier(w.info) {
		if id != c.id && account.breaker.Route(breaker.Key(id), w.kind.write(), now).Count > 0 {
			c.id, c.known, c.alone = id, partition.ByLogicalKey, true
			return
		}
	}
}

// opened is the regions that the breaker has opened for the partition, oldest
// first. A probe that is due is begun: of a read in its shadow, of a write by
// the write itself, which then finds the region in its usual place. A read is
// its own probe, too, where there is no transport to send a shadow by.
func (w *walk) opened(excluded regions.Set, now time.Time) (list regions.List) {
	account := w.endpoint.account
	if account.breaker.Empty() {
		return list
	}
	// Also where the breaker has no say: the account may have become one where it never has.
	account.breaker.Lapse(now, account.tellTransition)
	if !w.circuit.on {
		return list
	}
	route := account.breaker.Route(w.partition(), w.kind.write(), now)
	probed := regions.None
	w.circuit.own = w.kind.write() || !w.endpoint.sends
	if w.circuit.own && route.Due != 0 {
		probed = w.beginOwnProbe(route, excluded, now)
	}
	for _, r := range route.Opened[:route.Count] {
		region := regions.Index(r)
		if !w.circuit.own && route.Due&(1<<r) != 0 && !excluded.Has(region) {
			w.beginShadow(region, now)
		}
		if region != probed {
			list.Append(region)
		}
	}
	return list
}

// beginOwnProbe makes this request the probe of the region that it then goes
// to first. A region that stands behind one that is well is not probed: the
// request would never come to it, and would keep the place from another.
func (w *walk) beginOwnProbe(route breaker.Route, excluded regions.Set, now time.Time) regions.Index {
	usual := w.view.ReadBase()
	if w.kind.write() {
		usual = w.view.WriteBase()
	}
	usual.Append(w.view.Topology().Primary())
	for r := range usual.All() {
		switch bit := uint64(1) << r; {
		case excluded.Has(r):
		case route.Mask&bit == 0:
			return regions.None
		case route.Due&bit != 0 && w.claimProbe(r, now):
			return r
		}
	}
	return regions.None
}

// beginShadow sends a copy of this read to a region whose probe is due, unless it
// has sent one elsewhere, or a leg is in flight, to whose headers others may be
// writing. After Close nothing is sent beside the requests.
func (w *walk) beginShadow(r regions.Index, now time.Time) {
	if !w.inRace && w.circuit.probed == regions.None && w.endpoint.background.Err() == nil && w.claimProbe(r, now) {
		w.startShadow(r, w.circuit.token)
	}
}

// claimProbe takes the place of the one probe of a region.
func (w *walk) claimProbe(r regions.Index, now time.Time) bool {
	if w.view.Topology().Host(r) == "" {
		return false
	}
	c := &w.circuit
	token, ok := w.endpoint.account.breaker.ClaimProbe(w.partition(), breaker.Region(r), w.kind.write(), now)
	if ok {
		c.probed, c.token, c.key = r, token, w.partition()
	}
	return ok
}

// count tells the breaker, or failover, how an attempt went. What is healthy
// costs one load.
func (w *walk) count(a answer) {
	switch {
	case w.failover.on:
		w.noteFailover(a)
		return
	case w.asHub && w.kind == singleWriteRead:
		w.noteHub(a)
	}
	b := w.endpoint.account.breaker
	event := eventOf(a.verdict.signal)
	if !w.circuit.on || event == breaker.Abandoned || (event == breaker.Success && b.Empty() && w.circuit.waiting == nil) {
		return
	}
	w.partition()
	w.learnRange(a.response)
	if a.region == w.circuit.probed && w.circuit.own {
		w.endProbe(event, a.ended())
		return
	}
	w.circuit.waiting = append(w.circuit.waiting, counted{a.region, event, a.ended()})
	if w.circuit.known != partition.ByLogicalKey {
		w.record()
	}
}

func eventOf(s signal) breaker.Event {
	switch s {
	case success:
		return breaker.Success
	case failure:
		return breaker.Failure
	default:
		return breaker.Abandoned
	}
}

// record tells the breaker all that waits.
func (w *walk) record() {
	account := w.endpoint.account
	for _, c := range w.circuit.waiting {
		account.partitions.name(w.circuit.id, w.info.ContainerLink)
		t, changed := account.breaker.Record(w.partition(), breaker.Region(c.region), w.kind.write(), c.event, c.at)
		if changed {
			w.tellTransition(t)
		}
	}
	w.circuit.waiting = nil
}

// endProbe ends the probe that this request is, if it is one.
func (w *walk) endProbe(event breaker.Event, now time.Time) {
	account, c := w.endpoint.account, &w.circuit
	if c.probed == regions.None || !c.own {
		return
	}
	write := w.kind.write()
	t, changed := account.breaker.EndProbe(c.key, breaker.Region(c.probed), write, c.token, event, now)
	account.tellProbe(w.span, c.key, c.probed, write, event)
	if changed {
		w.tellTransition(t)
	}
	c.probed = regions.None
}

// learnRange takes the range id from an answer: it names the range of a
// logical key, and shows when a range map is out of date.
func (w *walk) learnRange(response *http.Response) {
	if response == nil {
		return
	}
	rangeID := request.Get(response.Header, request.HeaderPartitionKeyRangeID)
	if rangeID == "" || w.info.PartitionKey == "" {
		return
	}
	account := w.endpoint.account
	moved, id := account.partitions.seen(w.info, rangeID)
	switch {
	case moved && account.loader.bound():
		account.loader.tasks.outdated(w.info.ContainerLink)
		account.loader.want(w.info.ContainerLink, time.Now())
	case moved && account.partitions.mapOf(w.info.ContainerLink) != nil:
		account.partitions.forget(w.info.ContainerLink) // nobody reads a new one
	}
	if w.circuit.known == partition.ByLogicalKey && !w.circuit.alone && id != (partition.ID{}) {
		w.circuit.id, w.circuit.known = id, partition.ByRangeID
	}
}

// wantRanges asks for the ranges of a container that is used for the first time.
func (w *walk) wantRanges(now time.Time) {
	account := w.endpoint.account
	if w.circuit.document && account.partitions.mapOf(w.info.ContainerLink) == nil {
		account.loader.want(w.info.ContainerLink, now)
	}
}
