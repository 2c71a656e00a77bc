package gateway

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind says what a [Rule] does to a request.
type Kind int

// The kinds of faults. "Executed" ones change the store before they fail.
const (
	Status      Kind = iota // answer with Status, SubStatus, Header and Body; with Status 0 only the Delay acts
	Refuse                  // the connection is refused: surely not sent
	Reset                   // the connection is reset (RST) before execution
	Close                   // the connection is closed (FIN) before execution
	StreamReset             // the HTTP/2 stream is reset (RST_STREAM); over HTTP/1.1 the connection is closed
	Hang                    // no answer until the request's context ends or the endpoint goes down
	Lost                    // executed, then the connection is reset
	LostStream              // executed, then the stream is reset
	Slow                    // executed, then Delay, then the answer
)

// String is the name of the kind in the log.
func (k Kind) String() string {
	names := [...]string{"status", "refuse", "reset", "close", "streamreset", "hang", "lost", "loststream", "slow"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Rule is a fault: which requests, and what happens to them. Conditions left empty hold for every request.
type Rule struct {
	// Region is the endpoint the request came to: a region, or [Global] for the global endpoint.
	Region string
	// Operations are names (read, create, upsert, replace, patch, delete, batch, query, changefeed, readfeed, pkranges, account,
	// container/read, database/create, ...) or classes: write and readop (items), data (both), meta (all but items and
	// account). Empty: data.
	Operations []string
	// Container is the container's id, Range a partition key range id, Key the value of the partition key header, Path a part
	// of the escaped path.
	Container, Range, Key, Path string

	// Kind is what happens.
	Kind Kind
	// Status, SubStatus, Header and Body are the answer of kind [Status]. An empty Body becomes an error in the service's form.
	Status, SubStatus int
	Header            map[string]string
	Body              string
	// Delay passes before everything else, or for [Slow] after the execution.
	Delay time.Duration

	// Skip lets the first matching requests pass; at most Hits are hit then. Hits 0: no limit.
	Skip, Hits int
	// Probability is the chance that a matching request is hit; 0 is always. It is decided before Skip and Hits count.
	Probability float64
}

// Fault is a rule in force.
type Fault struct {
	rule  Rule
	owner *faults
	seen  int
	hits  int
}

// Remove ends the fault. A request that it has hit already is not affected. Removing twice is harmless.
func (f *Fault) Remove() {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	f.owner.list = slices.DeleteFunc(f.owner.list, func(o *Fault) bool { return o == f })
}

// Hits is how many requests the fault has hit.
func (f *Fault) Hits() int {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	return f.hits
}

// faults holds the rules in the order of their injection.
type faults struct {
	mu     sync.Mutex // guards all below, and the counters of the faults
	list   []*Fault
	random *rand.Rand
}

// Inject puts a rule in force until [Fault.Remove].
func (g *Gateway) Inject(r Rule) *Fault {
	f := &Fault{rule: r, owner: &g.faults}
	g.faults.mu.Lock()
	defer g.faults.mu.Unlock()
	g.faults.list = append(g.faults.list, f)
	return f
}

// RemoveAll ends every fault.
func (g *Gateway) RemoveAll() {
	g.faults.mu.Lock()
	defer g.faults.mu.Unlock()
	g.faults.list = nil
}

// hit is what the rules do to one request. The zero value is no fault.
type hit struct {
	*Rule
	before time.Duration // the sum of the delays that pass first
}

// kind is that of the rule, or Status, which does nothing without a rule.
func (h hit) kind() Kind {
	if h.Rule == nil {
		return Status
	}
	return h.Kind
}

// match finds the first rule that hits the request; rules that only delay add up on the way. only, when not nil, restricts the
// kinds: a client of a listener asks for what never reaches the server.
func (f *faults) match(c *call, only func(Kind) bool) hit {
	f.mu.Lock()
	defer f.mu.Unlock()
	var h hit
	for _, fault := range f.list {
		if only != nil && !only(fault.rule.Kind) || !fault.fires(c, f.random) {
			continue
		}
		r := &fault.rule
		if r.Kind != Slow {
			h.before += r.Delay
		}
		if r.Kind != Status || r.Status != 0 {
			h.Rule = r
			return h
		}
	}
	return h
}

// fires counts a request against the rule. The owner's lock is held.
func (f *Fault) fires(c *call, random *rand.Rand) bool {
	if !f.rule.matches(c) || f.rule.Hits > 0 && f.hits >= f.rule.Hits {
		return false
	}
	if p := f.rule.Probability; p > 0 && random.Float64() >= p {
		return false
	}
	f.seen++
	if f.seen <= f.rule.Skip {
		return false
	}
	f.hits++
	return true
}

// matches compares the request with the rule's conditions.
func (r *Rule) matches(c *call) bool {
	return (r.Region == "" || fold(r.Region) == fold(c.region)) &&
		(r.Container == "" || r.Container == c.Container) &&
		(r.Range == "" || r.Range == c.rng) &&
		(r.Key == "" || canonical(r.Key) == c.Key) &&
		strings.Contains(c.Path, r.Path) && r.operation(c.Operation)
}

// operation tells whether the rule is about an operation.
func (r *Rule) operation(name string) bool {
	if len(r.Operations) == 0 {
		return isData(name)
	}
	return slices.ContainsFunc(r.Operations, func(word string) bool { return inClass(name, word) })
}

// answer is the response of a rule of kind Status.
func (r *Rule) answer(c *call) *Answer {
	a := failure(r.Status, r.SubStatus, "Message: injected by a rule", c.activity())
	if r.Body != "" || r.Status < 300 || r.Status == http.StatusNotModified {
		a.Body = []byte(r.Body)
	}
	for name, value := range r.Header {
		a.set(name, value)
	}
	return a
}
