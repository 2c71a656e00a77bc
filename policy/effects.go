package policy

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// apply puts the effects of a verdict where the next requests see them.
func (w *walk) apply(a answer) {
	w.judgeRegion(a)
	if a.verdict.forgetRanges {
		w.endpoint.account.forgetRanges(w.info.ContainerLink)
	}
	switch v := a.verdict; {
	case v.action == findPrimary && !w.failover.on: // refreshes, and waits for it
	case v.refresh:
		w.refresh(a, refreshInterval)
	case v.mark, w.kind == singleWriteWrite && v.signal == failure:
		w.refresh(a, suspicionInterval)
	}
}

// judgeRegion marks the region of an answer as unwell, or clears its mark after
// a trial that went well. A trial that hangs or breaks off is marked as well:
// the next request would only try the same.
func (w *walk) judgeRegion(a answer) {
	account, write, v := w.endpoint.account, w.kind.write(), a.verdict
	if a.region != w.trial {
		if v.mark {
			account.mark(w.span, a, write)
		}
		return
	}
	unanswered := v.signal == failure && a.outcome.fault != answered
	switch {
	case v.mark, unanswered, w.lost.Load():
		account.mark(w.span, a, write)
	case v.signal == success:
		account.clear(w.span, a.region, write)
	default:
		return // release gives the place back
	}
	w.trial = regions.None
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
