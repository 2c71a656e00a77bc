package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/given"
)

const (
	// maxCalls and maxContacts bound what a record keeps.
	maxCalls    = 1000
	maxContacts = 200
)

// Operation is the record of what was done for a context, see [Record]. It may
// be read at any time, also while requests are in flight, and is safe for
// concurrent use.
type Operation struct {
	mutex   sync.Mutex // guards what follows
	calls   []*Call
	dropped int
}

// Call is one routed request: a point operation, or a page of a query, of a
// change feed, or of read-many. It never holds a key, an id of an item or a token.
type Call struct {
	Name                string // db.operation.name, such as read_item
	Database, Container string // ids, "" when it has none
	Write, Metadata     bool
	Start               time.Time
	Duration            time.Duration // 0 while it is in flight
	Done                bool

	Plan          Plan
	Contacts      []Contact  // in the order of sending; hedges and retries are here, shadow probes are not
	MoreContacts  int        // beyond the first 200
	Hedge         string     // how the race ended, a hedge.State; "" if there was none
	HedgeWithheld string     // why a hedge was not sent, a hedge.Reason; "" if none was withheld
	Decisions     []Decision // other than the ordinary plan, the first 200

	Answered      string // the region whose answer the caller got
	Status        int    // that the caller got; 0: none
	SubStatus     int
	Error         string  // without a status: one of the Error constants
	RequestCharge float64 // of the answer that the caller got
	ExtraCharge   float64 // of other answers, as far as they had come when this one was returned
}

// Contact is one request to one region.
type Contact struct {
	Region        string
	Reason        Reason
	Start         time.Time
	Duration      time.Duration
	Done          bool
	Status        int // 0: no answer
	SubStatus     int
	Error         string // without a status: one of the Error constants; ErrorLost: another leg was first
	RequestCharge float64
}

type recordKey struct{}

// Record returns a context whose requests are recorded, and the record. All
// requests under the context are appended, concurrent ones too, up to a
// thousand; make one for each operation that you want to know about. A record
// inside another takes its place.
func Record(ctx context.Context) (context.Context, *Operation) {
	given.Put(given.Record)
	o := &Operation{}
	return context.WithValue(ctx, recordKey{}, o), o
}

// Asked reports whether the requests of a context are recorded by [Record].
func Asked(ctx context.Context) bool { return recordOf(ctx) != nil }

// recordOf is the record that a context asks for, nil if none.
func recordOf(ctx context.Context) *Operation {
	if !given.Has(given.Record) {
		return nil
	}
	o, _ := ctx.Value(recordKey{}).(*Operation)
	return o
}

// Calls returns the requests in the order in which they began: copies, which
// change no more.
func (o *Operation) Calls() []Call {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	list := make([]Call, 0, len(o.calls))
	for _, c := range o.calls {
		copied := *c
		copied.Contacts = slices.Clone(c.Contacts)
		copied.Decisions = slices.Clone(c.Decisions)
		list = append(list, copied)
	}
	return list
}

// Dropped returns how many requests came after the first thousand.
func (o *Operation) Dropped() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.dropped
}

// Contacted returns the regions asked, in order; the same one twice in a row is
// there once.
func (o *Operation) Contacted() (regions []string) {
	for _, c := range o.Calls() {
		for _, contact := range c.Contacts {
			regions = append(regions, contact.Region)
		}
	}
	return slices.Compact(regions)
}

// Hedged reports whether any hedge was sent.
func (o *Operation) Hedged() bool {
	return slices.ContainsFunc(o.Calls(), func(c Call) bool {
		return slices.ContainsFunc(c.Contacts, func(c Contact) bool { return c.Reason == Hedge })
	})
}

// RequestCharge returns the request units of the answers that the caller got,
// and of all answers.
func (o *Operation) RequestCharge() (answers, total float64) {
	for _, c := range o.Calls() {
		answers += c.RequestCharge
		for _, contact := range c.Contacts {
			total += contact.RequestCharge
		}
	}
	return answers, total
}

// String is the story in one line per request:
// "read_item items (filter): North Central US initial 503, West US next_region 200".
func (o *Operation) String() string {
	var b strings.Builder
	for i, c := range o.Calls() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s (%s):", c.Name, c.Container, c.Plan.Rule)
		for j, contact := range c.Contacts {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %s %s %s", contact.Region, contact.Reason, contact.outcome())
		}
	}
	return b.String()
}

func (c Contact) outcome() string {
	switch {
	case !c.Done:
		return "in flight"
	case c.Status == 0:
		return c.Error
	case c.SubStatus != 0:
		return fmt.Sprintf("%d/%d", c.Status, c.SubStatus)
	default:
		return statusText(c.Status)
	}
}
