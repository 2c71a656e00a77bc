package gateway

import (
	"context"
	"strconv"
	"time"
)

// outcome is how an exchange ends: with an answer, with a broken connection, or because the client went away.
type outcome struct {
	answer *Answer
	broken Kind  // Refuse, Reset, Close or StreamReset, when answer and err are nil
	err    error // why the client's context ended
}

// visit is one request in flight.
type visit struct {
	*Entry
	host string
	gone chan struct{} // closed when the endpoint goes down
	shut bool
}

// drop resets the request. The gateway's lock is held.
func (v *visit) drop() {
	if !v.shut {
		v.shut = true
		close(v.gone)
	}
}

// wait lets d pass; d < 0 waits for the end of the request. It reports whether the request goes on, and how it ended if not.
func (v *visit) wait(ctx context.Context, d time.Duration) (outcome, bool) {
	if ctx.Err() != nil {
		return outcome{err: context.Cause(ctx)}, false
	}
	var timer <-chan time.Time
	switch {
	case d == 0:
		select {
		case <-v.gone:
			return outcome{broken: Reset}, false
		default:
			return outcome{}, true
		}
	case d > 0:
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
		return outcome{}, true
	case <-ctx.Done():
		return outcome{err: context.Cause(ctx)}, false
	case <-v.gone:
		return outcome{broken: Reset}, false
	}
}

// exchange serves one request that came to an endpoint, and logs it. only restricts the kinds of rules that can act, as in
// [faults.match].
func (g *Gateway) exchange(ctx context.Context, c *call, only func(Kind) bool) outcome {
	g.locate(ctx, c)
	v := &visit{host: c.host, gone: make(chan struct{})}
	h := g.faults.match(c, only)
	fault := ""
	if h.Rule != nil {
		fault = h.Kind.String()
	} else if h.before > 0 {
		fault = "delay"
	}
	g.mu.Lock()
	c.hub = c.region
	if c.region == Global {
		c.hub = g.hub
	}
	g.visits[v] = struct{}{}
	if g.down[c.host] {
		v.drop()
	}
	g.mu.Unlock()
	v.Entry = g.journal.add(c, fault)
	out := g.perform(ctx, c, v, h)
	g.mu.Lock()
	delete(g.visits, v)
	g.mu.Unlock()
	g.journal.done(v.Entry, out)
	return out
}

// perform carries out a request with what the rules do to it.
func (g *Gateway) perform(ctx context.Context, c *call, v *visit, h hit) outcome {
	if out, on := g.hold(ctx, c, v, h); !on {
		return out
	}
	var a *Answer
	if h.kind() == Status && h.Rule != nil {
		a = g.finish(c, nil, h.answer(c))
	} else if a = g.serve(ctx, c, v); a == nil {
		return outcome{err: context.Cause(ctx)}
	}
	switch h.kind() {
	case Slow:
		if out, on := v.wait(ctx, h.Delay); !on {
			return out
		}
	case Lost:
		return outcome{broken: Reset}
	case LostStream:
		return outcome{broken: StreamReset}
	}
	return outcome{answer: a}
}

// hold is what happens to a request before it is executed: delays, the ways to break before execution, and the latency of the
// region, which only an answered request has. It reports whether the request goes on, and how it ended if not.
func (g *Gateway) hold(ctx context.Context, c *call, v *visit, h hit) (outcome, bool) {
	if out, on := v.wait(ctx, h.before); !on {
		return out, false
	}
	switch k := h.kind(); k {
	case Refuse, Reset, Close, StreamReset:
		return outcome{broken: k}, false
	case Hang:
		return v.wait(ctx, -1)
	}
	return v.wait(ctx, g.latencyOf(c.region))
}

// latencyOf is what [Options.Latency] says of an endpoint.
func (g *Gateway) latencyOf(region string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.latency[fold(region)]
}

// serve answers a request by the rules of the service, or lets the upstream execute it; nil if the client went away first.
func (g *Gateway) serve(ctx context.Context, c *call, v *visit) *Answer {
	if a := g.refusal(c); a != nil {
		return g.finish(c, nil, a)
	}
	if c.Operation == "pkranges" && c.rid != "" {
		return g.finish(c, nil, g.rangeFeed(c))
	}
	if g.lags() {
		g.replicas.mu.Lock() // a write and what it adds to the range's history are one step
		defer g.replicas.mu.Unlock()
		if c.rangeH == "" {
			g.locate(ctx, c) // its range may have been split since it arrived
		}
		if a := g.behind(c); a != nil {
			return g.finish(c, nil, a)
		}
	}
	a, err := g.upstream.Do(ctx, &c.Request)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		a = failure(502, 0, "upstream: "+err.Error(), c.activity())
	case c.Operation == "account":
		a = g.accountAnswer(c, a)
	}
	g.journal.update(func() { v.Executed = a.Status < 300 || a.Status == 304 })
	return g.finish(c, g.touch(c, a), a)
}

// refusal is the answer to what the service does not let through; nil otherwise.
func (g *Gateway) refusal(c *call) *Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !contains(g.regions, c.hub):
		return failure(403, 1008, "Database Account "+g.account+" does not exist in this region", c.activity())
	case !g.mayWrite(c):
		return failure(403, 3, "The requested operation cannot be performed at this region", c.activity())
	case c.gone:
		return failure(410, 1002, "The requested resource is no longer available at the server: partition key range "+
			c.rangeH+" is gone", c.activity())
	}
	return nil
}

// mayWrite tells whether the region may serve the request: writes, and reads that ask for the hub. g.mu is held.
func (g *Gateway) mayWrite(c *call) bool {
	data := isData(c.Operation)
	switch {
	case c.Write && !data:
		return c.hub == g.hub
	case g.multi || !data:
		return true
	case c.Write || truth(c.Header, headerHub):
		return fold(c.hub) == fold(g.writeRegion(c))
	}
	return true
}

// touch counts an executed write against its range, and returns the range's lsn for the answer.
func (g *Gateway) touch(c *call, a *Answer) *keyRange {
	if c.rng == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tables[c.rid]
	if t == nil {
		return nil
	}
	r := t.byID(c.rng)
	if r == nil { // split while the request was executed
		return nil
	}
	if c.Write && a.Status < 300 && a.Status != 207 {
		r.lsn++
		g.replicas.note(c, r)
	}
	c.token = g.replicas.token(c, r)
	seen := *r
	return &seen
}

// finish gives an answer the headers that every answer of the service has.
func (g *Gateway) finish(c *call, r *keyRange, a *Answer) *Answer {
	a.setDefault("content-type", "application/json")
	a.setDefault(headerActivity, c.activity())
	a.setDefault("x-ms-gatewayversion", "version=2.14.0")
	a.setDefault("x-ms-schemaversion", "1.19")
	a.setDefault("x-ms-request-charge", "1")
	if isData(c.Operation) && c.rng != "" {
		a.setDefault(headerRange, c.rng)
	}
	if r != nil {
		lsn := strconv.FormatInt(r.lsn, 10)
		a.setDefault("lsn", lsn)
		a.setDefault(headerSession, r.id+":-1#"+lsn+c.token)
	}
	a.set("content-length", strconv.Itoa(len(a.Body)))
	return a
}

// rangeFeed is the feed of partition key ranges: with an etag what is newer, or 304.
func (g *Gateway) rangeFeed(c *call) *Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tables[c.rid]
	if t == nil {
		return failure(404, 0, "container is gone", c.activity())
	}
	etag := strconv.Quote(strconv.Itoa(t.version))
	since, _ := strconv.Unquote(c.Header.Get("If-None-Match"))
	from, _ := strconv.Atoi(since)
	list := []map[string]any{}
	for _, r := range t.current() {
		if r.version > from || c.Header.Get("A-IM") == "" {
			list = append(list, r.document(c.rid))
		}
	}
	a := &Answer{Status: 200, Body: encode(map[string]any{"_rid": c.rid, "PartitionKeyRanges": list, "_count": len(list)})}
	if from >= t.version {
		a = &Answer{Status: 304}
	}
	a.set("etag", etag)
	a.set("x-ms-item-count", strconv.Itoa(len(list)))
	return a
}

// document is a range as an element of the feed.
func (r *keyRange) document(rid string) map[string]any {
	parents := r.parents
	if parents == nil {
		parents = []string{}
	}
	return map[string]any{
		"id": r.id, "_rid": rid + "r" + r.id, "_etag": strconv.Quote(strconv.Itoa(r.version)), "_ts": 1700000000,
		"minInclusive": r.span.Min, "maxExclusive": r.span.Max, "parents": parents, "status": "online",
		"ridPrefix": 0, "throughputFraction": float64(r.high-r.low) / (1 << 32), "lsn": r.lsn, "_self": "",
	}
}
