package regions

// Rule says which rule of the package comment made a list.
type Rule uint8

// The rules. The names without M are those of a list that rule M did not extend.
const (
	RuleFilter    Rule = iota // base less excluded and opened regions
	RuleFilterM               // the same, of one region, extended by an opened one
	RuleFallback              // nothing was left: the primary
	RuleFallbackM             // the same, extended by an opened region
	RuleK                     // everything excluded: the override for a read, else the primary
	RuleO                     // nothing was left, no preference: override, primary
	RuleOM                    // the same, extended by an opened region
	RuleU                     // no preference, nothing wrong: override, primary
	RuleW                     // a write that only one region can take
	RuleMetadata              // metadata read: excluded regions last
)

var ruleNames = [...]string{
	RuleFilter: "filter", RuleFilterM: "filter+M", RuleFallback: "fallback", RuleFallbackM: "fallback+M",
	RuleK: "K", RuleO: "O", RuleOM: "O+M", RuleU: "U", RuleW: "W", RuleMetadata: "metadata",
}

// String returns the rule's name as in the package comment, "filter+M" for example; "unknown" for other values.
func (r Rule) String() string {
	if int(r) >= len(ruleNames) {
		return "unknown"
	}
	return ruleNames[r]
}

// extended returns the rule after M has added a region.
func (r Rule) extended() Rule {
	switch r {
	case RuleFilter:
		return RuleFilterM
	case RuleFallback:
		return RuleFallbackM
	case RuleO:
		return RuleOM
	}
	return r
}
