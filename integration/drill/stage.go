package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// stage is the account that one side works on: a gateway that can be broken, or a real account.
type stage struct {
	endpoint string
	tap      *tap
	gateway  *gateway.Gateway // nil for a real account
	store    *gateway.Store   // nil unless in process
	close    func()
}

// cast is what all stages have in common.
type cast struct {
	settings
	upstream *gateway.HTTPUpstream // nil: a store in process for each
	direct   map[string]string     // of a real account, region names by host; nil: gateways
	export   *export               // nil: nothing is exported
}

// prepare finds out what is to be used, and completes the settings with what a real account says about itself.
func prepare(ctx context.Context, s settings) (*cast, error) {
	c := &cast{settings: s}
	if s.endpoint == "" {
		return c, nil
	}
	if c.client == nil {
		c.client = newClient(s.endpoint)
	}
	account, err := readAccount(ctx, c.client, s.endpoint, s.key)
	if err != nil {
		return nil, fmt.Errorf("-endpoint %q: %w", s.endpoint, err)
	}
	if len(account.Readable) < 2 {
		adapters := gateway.Adapters{Key: s.key, Client: c.client}
		if c.upstream, err = gateway.NewHTTPUpstream(s.endpoint, adapters); err != nil {
			return nil, fmt.Errorf("-endpoint %q: %w", s.endpoint, err)
		}
		return c, spell("preferred", c.preferred, c.regions)
	}
	c.direct = map[string]string{}
	c.regions, c.faults, c.multiWrite = nil, nil, account.MultiWrite
	for _, r := range account.Readable {
		c.regions = append(c.regions, r.Name)
		c.direct[hostOf(r.Endpoint)] = r.Name
	}
	if host := hostOf(s.endpoint); c.direct[host] == "" {
		c.direct[host] = gateway.Global
	}
	if !c.chosen {
		c.preferred = c.regions
	}
	return c, spell("preferred", c.preferred, c.regions)
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return strings.ToLower(u.Hostname())
}

// usable are the regions that the clients may use for what any region can take.
func (c *cast) usable() []string {
	if len(c.preferred) == 0 {
		return c.regions
	}
	return c.preferred
}

// stage sets one up. Close it.
func (c *cast) stage() (*stage, error) {
	if c.direct != nil {
		return &stage{endpoint: c.endpoint, tap: &tap{next: c.client, names: c.direct}, close: func() {}}, nil
	}
	// The tap counts; a log would only grow.
	o := gateway.Options{Regions: c.regions, MultiWrite: c.multiWrite, Seed: c.seed, LogLimit: -1}
	st := &stage{}
	if c.upstream != nil {
		o.Upstream = c.upstream
	} else {
		st.store = gateway.NewStore()
		o.Upstream = st.store
	}
	st.gateway = gateway.New(o)
	listening, err := st.gateway.Listen(c.protocol)
	if err != nil {
		return nil, err
	}
	st.close = func() { listening.Close() }
	st.endpoint = listening.Endpoint()
	st.tap = &tap{next: listening.Client(), names: map[string]string{hostOf(st.endpoint): gateway.Global}}
	for _, r := range c.regions {
		st.tap.names[hostOf(listening.RegionEndpoint(r))] = r
	}
	return st, nil
}

// strike begins a fault, at the region's endpoint and, when it is the write region, at the global one.
func (st *stage) strike(f fault, s settings) {
	for _, endpoint := range []string{f.region, gateway.Global} {
		switch {
		case endpoint == gateway.Global && f.region != s.regions[0]:
		case f.kind == "refuse":
			st.gateway.Down(endpoint)
		default:
			st.gateway.Inject(f.rule(endpoint, s))
		}
	}
}

// failover is what the service does for a lost write region: another one takes its place, and the global endpoint is its.
func (st *stage) failover(f fault, to string, s settings) {
	st.gateway.SetWriteRegion(to)
	st.gateway.RemoveAll()
	if f.kind != "refuse" {
		st.gateway.Inject(f.rule(f.region, s))
	}
	st.gateway.Up(gateway.Global)
}

// heal brings everything back, the write region too.
func (st *stage) heal(s settings) {
	st.gateway.SetWriteRegion(s.regions[0])
	st.gateway.RemoveAll()
	for _, r := range s.regions {
		st.gateway.Up(r)
	}
	st.gateway.Up(gateway.Global)
}

// twice is how many writes were carried out twice; ok is false when nobody can tell.
func (st *stage) twice() (n int, ok bool) {
	if st.store == nil {
		return 0, false
	}
	return len(st.store.Repeated()), true
}
