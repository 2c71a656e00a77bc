package policy

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// apply puts the effects of a verdict where the next requests see them.
func (w *walk) apply(a answer) {
	account, write, v := w.endpoint.account, w.kind.write(), a.verdict
	trial := a.region == w.trial
	// A trial that hangs or breaks off would be followed by the next request's.
	failed := trial && (w.lost.Load() || (v.signal == failure && a.outcome.fault != answered))
	switch {
	case v.mark, failed:
		account.mark(w.span, a, write)
	case trial && v.signal == success:
		account.clear(w.span, a.region, write)
	}
	if trial && (v.mark || failed || v.signal == success) {
		w.trial = regions.None
	}
	if v.forgetRanges {
		account.forgetRanges(w.info.ContainerLink)
	}
	switch {
	case v.action == findPrimary && !w.failover.on: // refreshes, and waits for it
	case v.refresh:
		w.refresh(a, refreshInterval)
	case v.mark, w.kind == singleWriteWrite && v.signal == failure:
		w.refresh(a, suspicionInterval)
	}
}

// forgetRanges drops what is known of a container's ranges and reads them anew.
func (a *account) forgetRanges(link string) {
	a.partitions.forget(link)
	a.loader.tasks.outdated(link)
	a.loader.want(link, time.Now())
}

// release gives back the places of a trial and of a probe that came to no
// verdict, and tells the breaker what is still to tell.
func (w *walk) release() {
	if w.circuit.waiting != nil {
		w.record()
	}
	if w.circuit.probed != regions.None {
		w.endProbe(breaker.Abandoned, time.Now())
	}
	if w.trial != regions.None {
		w.endpoint.account.release(w.trial, w.kind.write())
		w.trial = regions.None
	}
}
