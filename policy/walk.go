package policy

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// walk is one pass of a request through its applicable regions. It runs on the
// caller's goroutine and is used by it alone.
type walk struct {
	*operation
	request *azpolicy.Request
	body    *body

	view     *regions.View
	kind     kind
	list     regions.List // the applicable regions, in the order to ask them
	excluded regions.Set
	never    regions.Set   // those of them that are there as a last resort only: excluded, or opened
	usual    regions.Index // the first of them, before the page before this one had a say
	claims   hedge.Claims  // regions that the walk or its hedges have asked
	visited  regions.Set   // regions that the walk has asked
	began    time.Time
	rule     regions.Rule  // that made the list
	trial    regions.Index // the unwell region that this request is let through to

	lost      atomic.Bool // a hedge has won: what still comes says nothing
	attempts  int         // sent so far, those of findPrimary not counted
	limit     int         // how many may be sent
	repeated  bool
	asHub     bool // under the hub header
	shared    bool // hedges have seen it
	inRace    bool // hedges run beside it: view and kind stay as they are
	replanned bool
	election  election
	circuit   circuit
	failover  failover

	first, last answer
	refusals    int // answers after the first that were 403/3, or the first region's once more
	answers     int
	reason      telemetry.Reason // of the next attempt
}

// answer is what one attempt gave: one of response and err is nil.
type answer struct {
	region   regions.Index
	start    time.Time
	end      time.Time // see ended
	response *http.Response
	err      error
	outcome  outcome
	verdict  verdict
}

// walks keeps those that nothing else has seen, blank: most are small work, and
// their memory would be the dearest part of it.
var walks = sync.Pool{New: func() any { return newWalk() }}

func newWalk() *walk { return &walk{trial: regions.None, circuit: circuit{probed: regions.None}} }

// free gives the walk back, unless hedges have seen it: they may outlive it.
func (w *walk) free() {
	w.release()
	if !w.shared {
		*w = walk{trial: regions.None, circuit: circuit{probed: regions.None}}
		walks.Put(w)
	}
}

// begin makes the walk of a pass of its operation, and plans it.
func (w *walk) begin(req *azpolicy.Request, b *body, v *regions.View) {
	w.request, w.body, w.trial, w.reason = req, b, regions.None, telemetry.Initial
	w.circuit.document, w.circuit.probed = w.info.Resource == request.ResDocument, regions.None
	w.began = time.Now()
	w.plan(v, w.began)
	w.limit = w.endpoint.options.Retry.MaxAttempts
	if w.limit == 0 {
		readable := v.Topology().Readable()
		w.limit = readable.Len() + 1
	}
}

// plan computes the applicable regions by the rules of package regions, and
// puts those whose endpoint is unwell behind the others.
func (w *walk) plan(v *regions.View, now time.Time) {
	w.release()
	w.view, w.kind = v, kindOf(w.info, v.Topology())
	w.circuit.on, w.failover.on = w.breakable(), w.failsOver()
	w.excluded = v.ExcludedFor(w.request.Raw().Context())
	opened := w.opened(w.excluded, now)
	p := v.Plan(regions.Route{
		Write:       w.info.Write(),
		Metadata:    w.info.Metadata(),
		Excluded:    w.excluded,
		Unavailable: opened,
		Override:    w.override(),
	})
	w.list, w.never = p.Regions, w.excluded|opened.Set()
	if w.list.Len() > 1 {
		w.list, w.trial = w.endpoint.account.order(p.Regions, w.kind.write(), now)
	}
	w.leadWithPage(now)
	w.rule = p.Rule
	w.tellPlan(p, opened)
	if w.endpoint.account.loader.bound() {
		w.wantRanges(now)
	}
}

// run asks one region after the other until there is an answer for the caller.
func (w *walk) run() (*http.Response, error) {
	return w.follow(w.attempt(w.firstRegion(w.began)))
}

// follow goes on from the first answer.
func (w *walk) follow(a answer) (*http.Response, error) {
	for {
		w.apply(a)
		w.count(a)
		w.remember(a)
		region, more := w.step(a)
		if !more {
			return w.finish()
		}
		a = w.attempt(region)
	}
}

// firstRegion is the region to ask first.
func (w *walk) firstRegion(now time.Time) regions.Index {
	first := w.list.First()
	if w.failover.on {
		first = w.startRound(now)
	}
	w.claims.Claim(first)
	return first
}

// planAgain plans the walk by what the account is now, which may be of another
// kind than before, and returns the region to ask first.
func (w *walk) planAgain() regions.Index {
	now := time.Now()
	w.plan(w.endpoint.view(), now)
	return w.firstRegion(now)
}

// remember keeps what the answer to the caller depends on.
func (w *walk) remember(a answer) {
	refused := a.outcome.status == http.StatusForbidden && a.outcome.sub == subWriteForbidden
	switch {
	case w.answers == 0:
		w.first = a
	case refused:
		w.refusals++
	case a.region == w.first.region:
		w.first = a // asked again: that is what it says now
		w.refusals++
	}
	w.last = a
	w.answers++
}

// step decides where the walk goes after an answer.
func (w *walk) step(a answer) (regions.Index, bool) {
	if w.request.Raw().Context().Err() != nil {
		return regions.None, false
	}
	if w.failover.on {
		return w.failOver(a)
	}
	switch a.verdict.action {
	case next:
		return w.goOn(a)
	case askWriteRegion:
		return w.askWriteRegion(a.region)
	case repeatHere:
		if w.repeated {
			return w.seekPrimary(a.region)
		}
		w.repeated, w.reason = true, telemetry.Failover
		return a.region, w.attempts < w.limit
	case seekPrimary:
		return w.seekPrimary(a.region)
	case findPrimary:
		return w.findPrimary(a.region)
	default:
		return regions.None, false
	}
}

// goOn goes to the next region. When there is none, and the answer said that
// the account has left the region, what we know of the account is wrong: the
// topology is awaited, once, and the request planned anew.
func (w *walk) goOn(a answer) (regions.Index, bool) {
	w.reason = telemetry.NextRegion
	if w.asHub || (a.outcome.status == http.StatusNotFound && a.outcome.sub == subSessionNotAvailable) {
		w.reason = telemetry.Session
	}
	r, ok := w.nextRegion()
	if ok || !a.verdict.refresh || w.inRace || w.replanned || w.attempts >= w.limit {
		return r, ok
	}
	w.replanned = true
	ctx := w.request.Raw().Context()
	if f := w.endpoint.account.inFlight(); f != nil {
		f.waitFresh(ctx)
	}
	if ctx.Err() != nil {
		return regions.None, false
	}
	w.plan(w.endpoint.view(), time.Now())
	if w.failover.on {
		return w.firstRegion(time.Now()), true
	}
	return w.nextRegion()
}

// nextRegion is the first applicable region that was not asked yet.
func (w *walk) nextRegion() (regions.Index, bool) {
	if w.attempts >= w.limit {
		return regions.None, false
	}
	return w.claims.Next(w.list, w.list.Set())
}

// answer is the one for the caller: the last one, or the first region's when
// every further region only refused (403/3).
func (w *walk) answer() answer {
	if w.answers > 1 && w.refusals == w.answers-1 {
		return w.first
	}
	return w.last
}

// finish returns the answer for the caller.
func (w *walk) finish() (*http.Response, error) {
	a := w.answer()
	w.tellAnswer(a.region)
	w.rememberPage(a)
	if a.err != nil && w.request.Raw().Context().Err() != nil {
		return nil, a.err
	}
	return deliverAnswer(a)
}

// deliverAnswer returns an answer as it is when nobody repeats it, and as a
// terminal error when azcosmos or azcore would.
func deliverAnswer(a answer) (*http.Response, error) {
	if a.response != nil && (a.verdict.action == deliverRaw || a.verdict.signal == success) {
		return a.response, nil
	}
	return nil, &terminalError{response: a.response, cause: a.err}
}
