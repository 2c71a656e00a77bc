package regions

import (
	"context"
	"slices"
)

// View is one client's view of one topology: its preferences, exclusions and kind of endpoint, worked out once so that
// [View.Plan] has little left to do. It is immutable and safe for concurrent use; a change of topology or exclusions
// makes a new one.
type View struct {
	t                   *Topology
	preferred, excluded Names
	endpointHost        string
	regional            Index
	reads, writes       side
	clientExcluded      Set
	unknown             []string
}

// side is what reads and writes have apart.
type side struct {
	acct Set  // the account's regions for this direction
	base List // the effective preferred regions; never empty
	free bool // no preference and a global endpoint: rules U and O may apply
}

// NewView works out a client's view. preferred and excluded are the client's lists, either may be empty. endpointHost
// is the host of the client's endpoint: if it is a region's own the client is regional, else it is global.
// A nil topology is taken as one without regions.
func NewView(t *Topology, preferred, excluded Names, endpointHost string) *View {
	if t == nil {
		t = &Topology{}
	}
	v := &View{
		t:              t,
		preferred:      preferred,
		excluded:       excluded,
		endpointHost:   endpointHost,
		regional:       t.ByHost(endpointHost),
		clientExcluded: t.SetOf(excluded),
		unknown:        t.Unknown(NewNames(slices.Concat(preferred, excluded)...)),
	}
	v.reads = v.newSide(t.Readable())
	v.writes = v.newSide(t.Writable())
	if !t.MultiWrite() {
		v.writes.base, v.writes.free = MakeList(t.Primary()), false // rule W
	}
	return v
}

// newSide works out the effective preferred regions among acct.
func (v *View) newSide(acct List) side {
	s := side{acct: acct.Set()}
	for _, name := range v.preferred {
		if r := v.t.Lookup(name); s.acct.Has(r) {
			s.base.Append(r)
		}
	}
	if s.base.Len() > 0 {
		return s
	}
	switch {
	case v.regional == None:
		s.base, s.free = acct, true
	case v.t.MultiWrite() && s.acct.Has(v.regional):
		s.base.Append(v.regional)
	default: // what the SDKs have always done with a regional endpoint; also: nothing left
		s.base.Append(v.t.Primary())
	}
	return s
}

// Topology returns the topology the view was made for; never nil.
func (v *View) Topology() *Topology { return v.t }

// Regional returns the region whose own endpoint the client was given; [None] for a global endpoint.
func (v *View) Regional() Index { return v.regional }

// ReadBase returns the effective preferred regions for reads, before exclusions; empty only without a topology.
func (v *View) ReadBase() List { return v.reads.base }

// WriteBase returns the effective preferred regions for writes: on a single-write account the primary alone.
func (v *View) WriteBase() List { return v.writes.base }

// Preferred returns the client's preferred regions as given. The list must not be modified.
func (v *View) Preferred() Names { return v.preferred }

// ClientExcluded returns the client's excluded regions that the account has.
func (v *View) ClientExcluded() Set { return v.clientExcluded }

// ExcludedFor returns the excluded regions of one request: those of its context if it has a list, an empty one
// included, else the client's. It does not allocate.
func (v *View) ExcludedFor(ctx context.Context) Set {
	names, ok := Excluded(ctx)
	if !ok {
		return v.clientExcluded
	}
	return v.t.SetOf(names)
}

// Unknown returns the preferred and excluded names, as given, that the account lacks: to be told once.
func (v *View) Unknown() []string { return slices.Clone(v.unknown) }

// WithTopology returns the same client's view of another topology.
func (v *View) WithTopology(t *Topology) *View {
	return NewView(t, v.preferred, v.excluded, v.endpointHost)
}

// WithExcluded returns the view with other excluded regions of the client.
func (v *View) WithExcluded(excluded Names) *View {
	return NewView(v.t, v.preferred, excluded, v.endpointHost)
}
