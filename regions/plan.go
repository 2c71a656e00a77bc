package regions

// Route is what a plan depends on besides the [View]: one request, and what is known about its partition.
// The zero value is a read that excludes nothing; mind that its Override is region 0, not [None].
type Route struct {
	Write    bool // otherwise a read
	Hedged   bool // one leg of a hedge: the list is not extended
	Metadata bool // a request about databases, containers, ranges: not for one partition
	// Excluded is the request's excluded regions, [View.ExcludedFor].
	Excluded Set
	// Unavailable is the regions the breaker has opened for the partition, the one opened longest ago first.
	Unavailable List
	// Override is the partition's write region as found by failover; it must be [None] when there is none.
	Override Index
}

// Plan is the applicable regions of one request, in the order in which they are to be asked.
type Plan struct {
	Regions List // never empty when the account has regions
	Rule    Rule // the rule that made the list
	// Fallback: exclusions and opened regions left nothing, so the list begins with the fallback.
	Fallback bool
}

// Plan returns the applicable regions of a request: the rules of the package comment, of which this is the only
// implementation. It does not allocate, and never returns an empty list when the account has regions.
func (v *View) Plan(r Route) Plan {
	override := v.override(&r)
	switch {
	case r.Write && (r.Metadata || !v.t.multiWrite):
		return Plan{Regions: MakeList(orElse(override, v.t.Primary())), Rule: RuleW}
	case r.Metadata:
		return Plan{Regions: v.reads.base.behind(r.Excluded), Rule: RuleMetadata}
	case r.Write:
		return v.writes.plan(&r, None, v.t.Primary())
	}
	return v.reads.plan(&r, override, v.t.Primary())
}

// override returns the override that counts: metadata and multi-write accounts have none, and one to the primary or
// to a region that is not readable is none.
func (v *View) override(r *Route) Index {
	o := r.Override
	if r.Metadata || v.t.multiWrite || o == v.t.Primary() || !v.reads.acct.Has(o) {
		return None
	}
	return o
}

// plan applies the rules that start from the base list; override is only ever one for reads.
func (s *side) plan(r *Route, override, primary Index) Plan {
	excluded := r.Excluded & s.acct
	opened := r.Unavailable.Set() & s.acct
	if excluded|opened == 0 {
		if s.free && override != None && s.base.Len() > 1 {
			return Plan{Regions: MakeList(override, primary), Rule: RuleU}
		}
		return Plan{Regions: s.base, Rule: RuleFilter}
	}
	p := Plan{Regions: s.base.without(excluded | opened), Rule: RuleFilter}
	if p.Regions.Len() == 0 {
		p = Plan{Regions: MakeList(primary), Rule: RuleFallback, Fallback: true}
	}
	if s.base.Len() <= 1 || p.Regions.Len() >= 2 || r.Hedged {
		return p
	}
	removed := s.base.Set() & opened &^ excluded // what only the breaker took
	switch {
	case p.Fallback && !excluded.Empty() && removed.Empty():
		p.Regions, p.Rule = MakeList(orElse(override, primary)), RuleK
		return p
	case p.Fallback && s.free && override != None:
		p.Regions, p.Rule = MakeList(override, primary), RuleO
	}
	p.extend(&r.Unavailable, opened&^excluded)
	return p
}

// extend is rule M: it appends the oldest opened region that may be asked and is not in the list yet.
func (p *Plan) extend(oldestFirst *List, may Set) {
	for _, r := range oldestFirst.at[:oldestFirst.n] {
		if may.Has(r) && p.Regions.Append(r) {
			p.Rule = p.Rule.extended()
			return
		}
	}
}

// orElse returns r, or the other region if r is none.
func orElse(r, other Index) Index {
	if r == None {
		return other
	}
	return r
}
