package gateway

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// replicas is the replication between the regions. There is one store; what a region has not seen yet is left out of its
// answers. A session token is "{range}:-1#{lsn}" and, for each region that has written, "#{region}={number of its writes}":
// a region that has seen fewer of them answers 404/1002. The write region of a range, on a single-write account, has always
// seen everything: the service does not move a range before it has caught up.
type replicas struct {
	mu  sync.Mutex               // held while a request is executed; not needed to read the history under the gateway's lock
	lag map[string]time.Duration // by folded region; nil: there is no lag. The gateway's lock guards it
}

// replicated is one write in the history of a range.
type replicated struct {
	origin string // folded
	at     time.Time
}

// SetLag changes how late a region sees what was written elsewhere. The first call begins the history of the writes: what was
// written before is everywhere.
func (g *Gateway) SetLag(region string, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.replicas.lag == nil {
		g.replicas.lag = map[string]time.Duration{}
	}
	g.replicas.lag[fold(region)] = d
}

// lags tells whether there is replication lag at all.
func (g *Gateway) lags() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.replicas.lag != nil
}

// behind fills in what the serving region sees, and is the answer to a read whose session token is ahead of it; nil otherwise.
func (g *Gateway) behind(c *call) *Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !isData(c.Operation) {
		return nil
	}
	lag, all, now := g.replicas.lag[fold(c.hub)], g.seesAll(c), time.Now()
	c.Origin = fold(c.hub)
	c.Sees = func(origin string, at time.Time) bool {
		return all || origin == "" || origin == c.Origin || now.Sub(at) >= lag
	}
	t := g.tables[c.rid]
	if c.Write || t == nil || c.rng == "" {
		return nil
	}
	if r := t.byID(c.rng); r != nil && r.ahead(c.Header.Get(headerSession), c.seen(r)) {
		return failure(404, 1002, "The read session is not available for the input session token.", c.activity())
	}
	return nil
}

// seesAll tells whether the region that serves the request is the write region of its range.
func (g *Gateway) seesAll(c *call) bool { return !g.multi && fold(c.hub) == fold(g.writeRegion(c)) }

// seen counts the writes of a range that the serving region sees, by origin.
func (c *call) seen(r *keyRange) map[string]int {
	n := map[string]int{}
	for _, w := range r.writes {
		if c.Sees(w.origin, w.at) {
			n[w.origin]++
		}
	}
	return n
}

// ahead tells whether a session token knows of writes to the range, or to the ranges it came from, that are not among those seen.
func (r *keyRange) ahead(token string, seen map[string]int) bool {
	for part := range strings.SplitSeq(token, ",") {
		id, vector, _ := strings.Cut(strings.TrimSpace(part), ":")
		if id != r.id && !slices.Contains(r.parents, id) {
			continue
		}
		for field := range strings.SplitSeq(vector, "#") {
			origin, count, ok := strings.Cut(field, "=")
			if n, err := strconv.Atoi(count); ok && err == nil && n > seen[origin] {
				return true
			}
		}
	}
	return false
}

// note adds an executed write to the history of its range. The gateway's lock is held.
func (s *replicas) note(c *call, r *keyRange) {
	if s.lag != nil {
		r.writes = append(r.writes, replicated{c.Origin, time.Now()})
	}
}

// token is what the answer's session token says of each region's writes. The gateway's lock is held.
func (s *replicas) token(c *call, r *keyRange) string {
	if s.lag == nil || c.Sees == nil {
		return ""
	}
	var b strings.Builder
	seen := c.seen(r)
	for _, origin := range slices.Sorted(maps.Keys(seen)) {
		b.WriteString("#" + origin + "=" + strconv.Itoa(seen[origin]))
	}
	return b.String()
}

// seenBy is the newest version of an item that the region serving the request has seen; nil if there is none.
func (it *item) seenBy(r *Request) *item {
	for it != nil && r.Sees != nil && !r.Sees(it.origin, it.at) {
		it = it.before
	}
	return it
}
