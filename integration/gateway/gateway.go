package gateway

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Global names the global endpoint where a region is expected: in [Rule], [Entry], [Options.Latency], [Gateway.Down].
const Global = "global"

// domain is where the names of all endpoints live; .test never resolves outside of a test.
const domain = ".documents.azure.test"

// Options describes the account. The zero value is a single-write account with three regions and one range per container.
type Options struct {
	// Account is the account's name and the first part of every host name. Default: "acct".
	Account string
	// Regions are the readable regions in the service's order; the first one is the write region.
	// Default: North Central US, West US, Central US.
	Regions []string
	// MultiWrite makes every region writable.
	MultiWrite bool
	// PartitionFailover is the account flag enablePerPartitionFailoverBehavior; nil leaves it out of the account.
	PartitionFailover *bool
	// HedgingDisabled is the account flag disableCrossRegionalHedging; nil leaves it out of the account.
	HedgingDisabled *bool
	// Ranges is how many partition key ranges a container has when it is created: ids "0", "1", ..., of equal size in the
	// space of effective partition keys. Default, and for negative values: 1.
	Ranges int
	// Latency is added before each answered request, by region, or by [Global]. A region that is not named has none.
	Latency map[string]time.Duration
	// Lag is how late a region sees what was written elsewhere, by region; see [Gateway.SetLag]. Nil: all regions see
	// everything at once.
	Lag map[string]time.Duration
	// Seed makes [Rule.Probability] repeatable.
	Seed uint64
	// LogLimit is how many entries the log keeps, the newest ones. 0 keeps all, a negative value none.
	LogLimit int
	// Upstream executes what the gateway lets through. Default: [NewStore].
	Upstream Upstream
}

// Gateway is one account. All methods are safe for concurrent use.
type Gateway struct {
	account  string
	ranges   int
	upstream Upstream
	journal  journal
	faults   faults

	mu       sync.Mutex // guards all below
	regions  []string   // readable, in the service's order
	hub      string     // the first writable region
	multi    bool
	failover *bool
	noHedge  *bool
	hosts    map[string]string // host name to region or Global; a region that left stays
	latency  map[string]time.Duration
	down     map[string]bool
	visits   map[*visit]struct{} // requests in flight
	tables   map[string]*table   // ranges by container rid
	moved    map[place]string    // write region of a range; electing while there is none
	open     []*Listening

	replicas replicas
}

// New makes a gateway. It starts nothing: see [Gateway.RoundTripper] and [Gateway.Listen].
func New(o Options) *Gateway {
	if o.Account == "" {
		o.Account = "acct"
	}
	if len(o.Regions) == 0 {
		o.Regions = []string{"North Central US", "West US", "Central US"}
	}
	if o.Upstream == nil {
		o.Upstream = NewStore()
	}
	g := &Gateway{
		account: o.Account, ranges: max(o.Ranges, 1), upstream: o.Upstream,
		multi: o.MultiWrite, failover: o.PartitionFailover, noHedge: o.HedgingDisabled,
		hosts: map[string]string{}, latency: map[string]time.Duration{}, down: map[string]bool{},
		visits: map[*visit]struct{}{}, tables: map[string]*table{}, moved: map[place]string{},
	}
	g.journal.limit = o.LogLimit
	g.faults.random = rand.New(rand.NewPCG(o.Seed, 1))
	g.hosts[g.host(Global)] = Global
	for region, d := range o.Latency {
		g.latency[fold(region)] = d
	}
	for region, d := range o.Lag {
		g.SetLag(region, d)
	}
	g.SetRegions(o.Regions...)
	return g
}

// fold is the form in which region names are compared: as azcosmos writes them into host names.
func fold(region string) string { return blanks.Replace(strings.ToLower(region)) }

// blanks is made once: a replacer costs more than a whole request.
var blanks = strings.NewReplacer(" ", "", "-", "", "_", "")

// host is the name of an endpoint, without a port.
func (g *Gateway) host(region string) string {
	if isGlobal(region) {
		return g.account + domain
	}
	return g.account + "-" + fold(region) + domain
}

// isGlobal tells whether a name means the global endpoint; "" does where a region is expected.
func isGlobal(region string) bool { return region == "" || fold(region) == Global }

// Endpoint is the global endpoint in the service's form.
func (g *Gateway) Endpoint() string { return address("https", g.host(Global)) }

// RegionEndpoint is the endpoint of one region in the service's form; it does not have to be a region of the account.
func (g *Gateway) RegionEndpoint(region string) string { return address("https", g.host(region)) }

// address is an endpoint in the form of the account: always with a port and a slash.
func address(scheme, host string) string {
	if scheme == "http" {
		return "http://" + host + ":80/"
	}
	return "https://" + host + ":443/"
}

// Upstream is what executes the requests.
func (g *Gateway) Upstream() Upstream { return g.upstream }

// SetRegions replaces the readable regions. A region that is new gets an endpoint (on open listeners too); one that is gone
// answers 403/1008 from now on. If the write region is gone, the first region takes its place. No regions: no change.
func (g *Gateway) SetRegions(regions ...string) {
	if len(regions) == 0 {
		return
	}
	g.mu.Lock()
	g.regions = slices.Clone(regions)
	for _, r := range regions {
		g.hosts[g.host(r)] = r
	}
	if !contains(regions, g.hub) {
		g.hub = regions[0]
	}
	open := slices.Clone(g.open)
	g.mu.Unlock()
	for _, l := range open {
		l.extend()
	}
}

// SetWriteRegion moves the account's write region: it becomes the first writable one. Unknown regions change nothing.
func (g *Gateway) SetWriteRegion(region string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := index(g.regions, region); i >= 0 {
		g.hub = g.regions[i]
	}
}

// SetMultiWrite switches the account between one and many write regions.
func (g *Gateway) SetMultiWrite(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.multi = on
}

// SetFlags replaces the two account flags; nil leaves a flag out of the account.
func (g *Gateway) SetFlags(partitionFailover, hedgingDisabled *bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failover, g.noHedge = partitionFailover, hedgingDisabled
}

// SetLatency changes what [Options.Latency] says about one region, or about [Global].
func (g *Gateway) SetLatency(region string, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latency[fold(region)] = d
}

// Down takes an endpoint away: its connections are refused, and requests in flight are reset. "" and [Global] name the global
// endpoint.
func (g *Gateway) Down(region string) {
	host := g.host(region)
	g.mu.Lock()
	g.down[host] = true
	for v := range g.visits {
		if v.host == host {
			v.drop()
		}
	}
	open := slices.Clone(g.open)
	g.mu.Unlock()
	for _, l := range open {
		l.down(host)
	}
}

// Up brings back what [Gateway.Down] took away.
func (g *Gateway) Up(region string) {
	host := g.host(region)
	g.mu.Lock()
	delete(g.down, host)
	open := slices.Clone(g.open)
	g.mu.Unlock()
	for _, l := range open {
		l.up(host)
	}
}

// isDown tells whether [Gateway.Down] holds for a host.
func (g *Gateway) isDown(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.down[host]
}

// regionOf resolves a host name; ok is false for a name that nothing answers to.
func (g *Gateway) regionOf(host string) (region string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	region, ok = g.hosts[strings.ToLower(host)]
	return region, ok
}

// index finds a region by its folded name, -1 if it is not there.
func index(regions []string, region string) int {
	return slices.IndexFunc(regions, func(r string) bool { return fold(r) == fold(region) })
}

// contains tells whether a region is among others, by folded names.
func contains(regions []string, region string) bool { return index(regions, region) >= 0 }
