package policy

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// askWriteRegion follows a 404/1002 on a single-write account: only the
// partition's write region surely has seen the session, so it is asked once, as
// the hub, even if excluded. A region that is not the hub answers 403/3; then
// the other candidates are asked, under the same header. A read that was in the
// write region already has found a replica behind: it looks for another hub only
// where partitions fail over one by one.
func (w *walk) askWriteRegion(from regions.Index) (regions.Index, bool) {
	if w.asHub || w.attempts >= w.limit {
		return regions.None, false
	}
	hub := w.hub()
	if from == hub && (w.answers > 1 || !w.endpoint.account.ppaf.On()) {
		return regions.None, false
	}
	w.reason, w.asHub = telemetry.Session, true
	w.request.Raw().Header.Set(request.HeaderHubRegionOnly, "true")
	w.list = regions.MakeList(hub)
	candidates := w.candidates(time.Now())
	for r := range candidates.All() {
		w.list.Append(r)
	}
	if from != hub && w.visited.Has(hub) {
		return hub, true // once more, but now as the hub
	}
	return w.nextRegion()
}

// hub is the write region of the request's partition, as far as it is known.
func (w *walk) hub() regions.Index {
	store, primary := w.endpoint.account.ppaf, w.view.Topology().Primary()
	if !w.circuit.document || store.Empty() || !store.On() {
		return primary
	}
	if hub := store.Hub(ppaf.Key(w.partition())); hub != regions.None {
		return hub
	}
	return primary
}
