package policy

import (
	"net/http"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// leadWithPage puts the region that gave the page before this one first, while
// it is applicable and well: a continuation means most to the region that gave
// it. A region that is unwell, opened or excluded does not lead.
func (w *walk) leadWithPage(now time.Time) {
	w.usual = w.list.First()
	if !w.info.Continuation || !w.paged() || w.list.Len() < 2 {
		return
	}
	from, known := w.endpoint.account.pages.Lookup(w.pageKey(w.continuation()))
	if !known {
		return
	}
	never := w.never
	if h := w.endpoint.account.health.Load(); h != nil {
		never |= h.Marked(false, now)
	}
	w.list = hedge.Lead(w.list, from, never)
}

// rememberPage keeps which region gave a page that has a next one. The region
// that is asked first anyway, now and when all is well, needs no remembering: a
// healthy query writes nothing.
func (w *walk) rememberPage(a answer) {
	if !w.paged() || a.response == nil || a.verdict.signal != success {
		return
	}
	more := w.nextPage(a.response)
	if more == "" {
		return
	}
	pages, key := w.endpoint.account.pages, w.pageKey(more)
	if base := w.view.ReadBase(); a.region == w.usual && a.region == base.First() {
		if from, known := pages.Lookup(key); !known || from == a.region {
			return
		}
	}
	pages.Remember(key, a.region)
}

// paged reports whether the request is for a page of items: of a query, of
// read-many, or of a change feed.
func (w *walk) paged() bool {
	return w.circuit.document && (w.info.Operation == request.OpQuery || w.info.Operation == request.OpReadFeed)
}

// continuation is where the request continues, "" if it does not.
func (w *walk) continuation() string {
	header := w.request.Raw().Header
	if more := request.Get(header, request.HeaderContinuation); more != "" || !w.info.ChangeFeed {
		return more
	}
	return request.Get(header, request.HeaderIfNoneMatch)
}

// nextPage is what the request for the next page will continue from, "" if
// there is none. A change feed has always a next page.
func (w *walk) nextPage(response *http.Response) string {
	if more := request.Get(response.Header, request.HeaderContinuation); more != "" || !w.info.ChangeFeed {
		return more
	}
	return request.Get(response.Header, request.HeaderETag)
}

// pageKey is the key of the page that follows a continuation.
func (w *walk) pageKey(continuation string) uint64 {
	scope := w.info.RangeID
	if scope == "" {
		scope = w.info.PartitionKey
	}
	return w.endpoint.account.pages.Key(w.info.ContainerLink, scope, continuation)
}
