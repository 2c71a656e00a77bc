package regions

import "fmt"

// Query is one question to [Applicable], by region names. The zero value is a read of a client with the global
// endpoint and no preferences, excluding nothing, with nothing opened and no override. Names the account lacks are
// ignored.
type Query struct {
	Write  bool // otherwise a read
	Hedged bool // one leg of a hedge
	// Regional is the region whose own endpoint the client was given, "" for the account's global one.
	Regional string
	// Preferred and Excluded are the preferred and excluded regions in force for the request.
	Preferred, Excluded []string
	// Unavailable is the regions the breaker has opened for the partition, oldest first.
	Unavailable []string
	// Override is the partition's write region as found by failover, "" for none.
	Override string
}

// Applicable returns the names of the regions a request may go to, in order, as the service spells them; nil when the
// account has no usable region. It is the way of a request through [NewTopology], [NewView] and [View.Plan], by name:
// documentation that runs. Endpoints may be left out of the account.
func Applicable(a Account, q Query) []string {
	p, t := plan(a, q)
	var out []string
	for r := range p.Regions.All() {
		out = append(out, t.Name(r))
	}
	return out
}

// plan is Applicable before the names.
func plan(a Account, q Query) (Plan, *Topology) {
	a.Readable, a.Writable = withEndpoints(a.Readable), withEndpoints(a.Writable)
	t, err := NewTopology(a, nil)
	if err != nil {
		return Plan{}, nil
	}
	v := NewView(t, NewNames(q.Preferred...), NewNames(q.Excluded...), t.Host(t.Lookup(q.Regional)))
	r := Route{Write: q.Write, Hedged: q.Hedged, Excluded: v.ClientExcluded(), Override: t.Lookup(q.Override)}
	for _, name := range q.Unavailable {
		r.Unavailable.Append(t.Lookup(name))
	}
	return v.Plan(r), t
}

// withEndpoints fills in made-up endpoints where none are given: the rules do not look at them.
func withEndpoints(list []Region) []Region {
	out := make([]Region, len(list))
	for i, r := range list {
		if r.Endpoint == "" {
			r.Endpoint = fmt.Sprintf("https://x%x.invalid", Normalize(r.Name))
		}
		out[i] = r
	}
	return out
}
