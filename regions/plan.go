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
func (v *View) Plan(r Route) (p Plan) {
	primary, override := v.t.Primary(), v.override(&r)
	switch {
	case r.Write && (r.Metadata || !v.t.multiWrite):
		p.Rule = RuleW
		p.Regions.Append(orElse(override, primary))
	case r.Metadata:
		p.Rule = RuleMetadata
		p.Regions.fillBehind(&v.reads.base, r.Excluded)
	case r.Write:
		v.writes.plan(&p, &r, None, primary)
	default:
		v.reads.plan(&p, &r, override, primary)
	}
	return p
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

// plan applies the rules that start from the base list to p, an empty plan; override is only ever one for reads.
func (s *side) plan(p *Plan, r *Route, override, primary Index) {
	excluded := r.Excluded & s.acct
	opened := r.Unavailable.set & s.acct
	if excluded|opened == 0 {
		s.planWell(p, override, primary)
		return
	}
	p.Regions.fill(&s.base, excluded|opened)
	if p.Regions.n == 0 {
		p.Fallback = true
		p.set(RuleFallback, primary)
	}
	if s.base.n <= 1 || p.Regions.n >= 2 || r.Hedged {
		return
	}
	if p.Fallback {
		removed := s.base.set & opened &^ excluded // what only the breaker took
		if excluded != 0 && removed == 0 {
			p.set(RuleK, orElse(override, primary))
			return
		}
		if s.free && override != None {
			p.set(RuleO, override, primary)
		}
	}
	p.extend(&r.Unavailable, opened&^excluded)
}

// planWell is plan with nothing excluded and nothing opened.
func (s *side) planWell(p *Plan, override, primary Index) {
	if s.free && override != None && s.base.n > 1 {
		p.set(RuleU, override, primary)
		return
	}
	p.Regions = s.base
}

// set makes the plan a list of one or two regions.
func (p *Plan) set(rule Rule, regions ...Index) {
	p.Rule, p.Regions = rule, List{}
	for _, r := range regions {
		p.Regions.Append(r)
	}
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
