package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// hedgeLeg is one hedge: one attempt, pinned to its region.
type hedgeLeg struct {
	race    *race
	number  int
	region  regions.Index
	request privateRequest
}

// run sends the hedge on a goroutine of its own and tells the race how it ended.
func (l hedgeLeg) run(ctx context.Context) {
	w := l.race.walk
	defer w.endpoint.budget.Release()
	a := l.send(ctx)
	w.endpoint.account.noteHedge(w, a)
	l.race.ended(l.number, a)
}

// send makes the attempt. A transport that panics costs the hedge only: on
// this goroutine nobody else could recover it.
func (l hedgeLeg) send(ctx context.Context) (a answer) {
	w := l.race.walk
	a.region, a.start = l.region, time.Now()
	defer func() {
		if r := recover(); r != nil {
			a.response, a.err = nil, fmt.Errorf("azcosmos-ha: panic in a hedge: %v", r)
		}
		a.judge(ctx, w.kind, false)
	}()
	told := w.told(l.region, telemetry.Hedge, time.Time{})
	attempt, span := w.span.StartAttempt(ctx, told)
	defer func() { span.End(resultOf(a.response, a.err)) }()
	a.response, a.err = l.request.send(attempt, w.endpoint.private, told.Host)
	return a
}

// noteHedge puts the effects of a hedge where the next requests see them. It
// runs beside the walk and reads of it only what does not change.
func (a *account) noteHedge(w *walk, h answer) {
	write := w.kind.write()
	if h.verdict.mark {
		a.mark(h.region, write, time.Now())
	}
	if h.verdict.refresh {
		a.refresh(time.Now(), refreshInterval)
	}
	event := eventOf(h.verdict.signal)
	if !w.circuit.on || event == breaker.Abandoned || (event == breaker.Success && a.breaker.Empty()) {
		return
	}
	id, _ := a.partitions.resolve(w.info)
	a.partitions.name(id, w.info.ContainerLink)
	t, changed := a.breaker.Record(breaker.Key(id), breaker.Region(h.region), write, event, h.ended())
	if changed {
		a.tellTransition(t)
	}
}
