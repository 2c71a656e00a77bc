package gateway

import "encoding/json"

// location is one entry of the account's lists of regions.
type location struct {
	Name     string `json:"name"`
	Endpoint string `json:"databaseAccountEndpoint"`
}

// accountAnswer is the account as the endpoint of c states it. The upstream's account is the base, so that its refusals (a
// wrong key) and its other fields pass through.
func (g *Gateway) accountAnswer(c *call, base *Answer) *Answer {
	if base.Status != 200 {
		return base
	}
	fields := map[string]any{}
	if json.Unmarshal(base.Body, &fields) != nil {
		return failure(502, 0, "the upstream's account is not JSON", c.activity())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.account
	if c.region != Global {
		id += "-" + fold(c.region)
	}
	fields["id"] = id
	fields["readableLocations"] = g.locations(c.scheme, g.regions)
	fields["writableLocations"] = g.locations(c.scheme, g.writable())
	fields["enableMultipleWriteLocations"] = g.multi
	setFlag(fields, "enablePerPartitionFailoverBehavior", g.failover)
	setFlag(fields, "disableCrossRegionalHedging", g.noHedge)
	if _, ok := fields["userConsistencyPolicy"]; !ok {
		fields["userConsistencyPolicy"] = map[string]string{"defaultConsistencyLevel": "Session"}
	}
	return &Answer{Status: 200, Body: encode(fields)} // like the service: no etag
}

// writable is the service's list of write regions. g.mu is held.
func (g *Gateway) writable() []string {
	list := []string{g.hub}
	for _, r := range g.regions {
		if g.multi && r != g.hub {
			list = append(list, r)
		}
	}
	return list
}

// locations names regions with their endpoints, in the scheme the client uses. g.mu is held.
func (g *Gateway) locations(scheme string, regions []string) []location {
	list := make([]location, 0, len(regions))
	for _, r := range regions {
		list = append(list, location{Name: r, Endpoint: address(scheme, g.host(r))})
	}
	return list
}

// setFlag keeps absent and false apart: clients take an absent flag for no change.
func setFlag(fields map[string]any, name string, flag *bool) {
	if flag == nil {
		delete(fields, name)
		return
	}
	fields[name] = *flag
}
