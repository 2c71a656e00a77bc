package policy

import (
	"context"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// probeTimeout bounds a shadow probe (package breaker).
const probeTimeout = 5 * time.Second

// probePause is how long a probe keeps its place after an answer without a verdict.
const probePause = time.Second

// shadowProbe is a copy of a read on its way to a region that the breaker has
// opened. Nobody waits for it, and its answer informs the breaker only.
type shadowProbe struct {
	endpoint *endpoint
	request  privateRequest
	kind     kind
	key      breaker.Key
	region   regions.Index
	token    breaker.Token
	told     telemetry.Attempt
}

// startShadow sends the probe on a goroutine of its own, which ends with the
// probe, its time, or Close.
func (w *walk) startShadow(r regions.Index, token breaker.Token) {
	p := shadowProbe{
		endpoint: w.endpoint,
		request:  newPrivateRequest(w.request.Raw(), w.body),
		kind:     w.kind,
		key:      w.partition(),
		region:   r,
		token:    token,
		told:     w.told(r, telemetry.Probe, time.Time{}),
	}
	// The caller's context holds the headers it wants to send; its end is not
	// the probe's.
	go p.run(context.WithoutCancel(w.request.Raw().Context()), w.start())
}

// run sends the probe and tells the breaker. A transport that panics, or a
// Middleware that is closed, gives the place back without a verdict.
func (p shadowProbe) run(ctx context.Context, operation telemetry.OperationStart) {
	event := breaker.Abandoned
	defer func() {
		_ = recover() // nobody else could, and the process is not the probe's to end
		account := p.endpoint.account
		t, changed := account.breaker.EndProbe(p.key, breaker.Region(p.region), false, p.token, event, time.Now())
		account.tellProbe(nil, p.key, p.region, false, event)
		if changed {
			account.tellTransition(t)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	defer context.AfterFunc(p.endpoint.background, cancel)()

	ctx, span := p.endpoint.observer.StartProbe(ctx, operation, p.told)
	response, err := p.request.send(ctx, p.endpoint.private, p.told.Host)
	span.End(resultOf(response, err))
	if p.endpoint.background.Err() == nil {
		// The probe's own time is no caller's deadline: no answer is a failure.
		event = eventOf(judge(p.kind, observe(context.Background(), response, err), false).signal)
	}
	if event == breaker.Abandoned && response != nil {
		// The region answers, but says nothing of its health: a 429, say. Every
		// read would send the next probe; that is no way to treat a busy region.
		sleep(p.endpoint.background, probePause)
	}
}
