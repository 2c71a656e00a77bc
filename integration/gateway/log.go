package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Entry is one request in the log. Entries stand in the order of arrival; one that is still in flight has Done false.
type Entry struct {
	Seq      int // from 1
	At       time.Time
	Duration time.Duration
	Region   string // the region whose endpoint was asked, or [Global]
	Hub      string // the region that served it: the hub for the global endpoint, else the same as Region
	Host     string
	Proto    string // "memory", "HTTP/1.1", "HTTP/2.0"
	Method   string
	Path     string // escaped

	Operation string // as in [Rule.Operations]
	Write     bool
	Range     string      // id of the partition key range, "" if none or many
	Key       string      // partition key header as sent
	Header    http.Header // a copy of the request's

	Status, SubStatus int    // of the answer, 0 if there was none
	Fault             string // the kind of the rule that acted, or "down"; "" without one
	Cancelled         bool   // the client went away before the answer
	Executed          bool   // the upstream has carried out the request and not refused it
	Done              bool
}

// journal is the log and the count of what is in flight.
type journal struct {
	mu       sync.Mutex // guards all below
	limit    int
	seq      int
	entries  []*Entry
	now, max int
}

// Log is a copy of the log.
func (g *Gateway) Log() []Entry {
	j := &g.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]Entry, len(j.entries))
	for i, e := range j.entries {
		list[i] = *e
	}
	return list
}

// ResetLog empties the log and starts the largest number in flight anew. Sequence numbers go on.
func (g *Gateway) ResetLog() {
	j := &g.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries, j.max = nil, j.now
}

// InFlight is how many requests are being served, and the largest number since the start or the last [Gateway.ResetLog].
// Account reads count too.
func (g *Gateway) InFlight() (now, most int) {
	g.journal.mu.Lock()
	defer g.journal.mu.Unlock()
	return g.journal.now, g.journal.max
}

// Regions are the regions of the entries that keep accepts, in the order of arrival; nil accepts operations on items.
// Refused connections are among them.
func (g *Gateway) Regions(keep func(Entry) bool) []string {
	if keep == nil {
		keep = func(e Entry) bool { return isData(e.Operation) }
	}
	var list []string
	for _, e := range g.Log() {
		if keep(e) {
			list = append(list, e.Region)
		}
	}
	return list
}

// AccountReads are the endpoints that were asked for the account, in the order of arrival.
func (g *Gateway) AccountReads() []string {
	return g.Regions(func(e Entry) bool { return e.Operation == "account" })
}

// Sequence is the whole log in short, one line a request: "West US read 503/0", "global account 200/0", "West US read refuse".
func (g *Gateway) Sequence() []string {
	var list []string
	for _, e := range g.Log() {
		list = append(list, e.Region+" "+e.Operation+" "+e.outcome())
	}
	return list
}

// outcome is the end of a line of [Gateway.Sequence].
func (e *Entry) outcome() string {
	switch {
	case !e.Done:
		return "in flight"
	case e.Status != 0:
		return strconv.Itoa(e.Status) + "/" + strconv.Itoa(e.SubStatus)
	case e.Fault != "":
		return e.Fault
	default:
		return "cancelled"
	}
}

// add logs an arrival.
func (j *journal) add(c *call, fault string) *Entry {
	e := &Entry{
		At: time.Now(), Region: c.region, Hub: c.hub, Host: c.host, Proto: c.proto, Method: c.Method, Path: c.Path,
		Operation: c.Operation, Write: c.Write, Range: c.rng, Key: c.key, Fault: fault,
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	j.now++
	j.max = max(j.max, j.now)
	if j.limit < 0 {
		return e
	}
	e.Header = c.Header.Clone()
	if j.limit > 0 && len(j.entries) >= j.limit {
		j.entries = slices.Delete(j.entries, 0, len(j.entries)-j.limit+1)
	}
	j.entries = append(j.entries, e)
	return e
}

// update changes an entry under the lock that readers of the log take.
func (j *journal) update(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
}

// done closes an entry.
func (j *journal) done(e *Entry, out outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.now--
	e.Duration, e.Done = time.Since(e.At), true
	e.Cancelled = out.err != nil
	if out.answer != nil {
		e.Status = out.answer.Status
		e.SubStatus, _ = strconv.Atoi(out.answer.Header.Get("x-ms-substatus"))
	}
}
