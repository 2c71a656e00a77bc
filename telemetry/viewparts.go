package telemetry

import (
	"fmt"
	"strings"
	"time"
)

func viewOf(a AccountState, s State) accountView {
	v := accountView{Endpoint: clean(a.Endpoint), Facts: facts(a, s)}
	for _, r := range a.Regions {
		v.Regions = append(v.Regions, region(a, r, s.At))
	}
	for _, p := range a.Unwell {
		v.Unwell = append(v.Unwell, partition(p, s.At))
	}
	for _, o := range a.Overrides {
		v.Overrides = append(v.Overrides, override(o))
	}
	v.UnwellNote = listed(len(a.Unwell), a.UnwellCount, ", the oldest first")
	v.OverridesNote = listed(len(a.Overrides), a.OverrideCount, "")
	return v
}

func listed(shown, all int, order string) string {
	if shown < all {
		return fmt.Sprintf("(%d of %d%s)", shown, all, order)
	}
	return fmt.Sprintf("(%d%s)", all, order)
}

func facts(a AccountState, s State) (list []fact) {
	add := func(warn bool, format string, values ...any) {
		list = append(list, fact{fmt.Sprintf(format, values...), warn})
	}
	if a.MultiWrite {
		add(false, "multi-write")
	} else {
		add(false, "single-write")
	}
	add(false, "partition failover: %s", flag(a.PartitionFailover, "on", "off"))
	add(a.HedgingDisabled != nil && *a.HedgingDisabled, "hedging: %s", flag(a.HedgingDisabled, "forbidden by the account", "allowed"))
	add(false, "topology changed %s", ago(a.Since, s.At))
	add(s.At.Sub(a.Confirmed) > staleTopology, "confirmed %s", ago(a.Confirmed, s.At))
	if len(s.Excluded) > 0 {
		add(true, "excluded: %s", clean(strings.Join(s.Excluded, ", ")))
	}
	return list
}

func flag(f *bool, on, off string) string {
	switch {
	case f == nil:
		return "never told"
	case *f:
		return on
	default:
		return off
	}
}

func region(a AccountState, r RegionState, now time.Time) regionView {
	v := regionView{Name: clean(r.Name), Health: "well", Open: r.Open, Reads: share(r.Reads), Writes: share(r.Writes)}
	switch {
	case r.Primary:
		v.Role = "write region"
	case !r.Readable:
		v.Role = "writes only"
	}
	var unwell []string
	grade := bad
	if r.UnwellReads != nil {
		unwell = append(unwell, "reads: "+ago(*r.UnwellReads, now))
		v.Next = trial(r.TrialReads, now)
	}
	if r.UnwellWrites != nil {
		unwell = append(unwell, "writes: "+ago(*r.UnwellWrites, now))
		switch {
		case a.MultiWrite:
			v.Next = trial(r.TrialWrites, now)
		case r.UnwellReads == nil:
			grade = refusal(r)
		}
	}
	switch {
	case len(unwell) > 0:
		v.Grade, v.Health = grade, "refused, "+strings.Join(unwell, ", ")
	case r.Open > 0 || v.Reads.Bad || v.Writes.Bad:
		v.Grade, v.Health = warn, "fails for some"
	}
	return v
}

func share(s Share) shareView {
	return shareView{
		Any: s.Attempts > 0, Bad: s.Failed > 0 && s.Failed*20 >= s.Attempts,
		Part: percent(s.Part), Attempts: s.Attempts, Failed: s.Failed,
	}
}

func partition(p PartitionState, now time.Time) partitionView {
	v := partitionView{
		State: clean(p.State), Region: clean(p.Region), Access: "reads", Container: clean(p.Container),
		Partition: clean(p.Partition), Cause: clean(p.Cause), Age: span(now.Sub(p.Unwell)), Since: "since " + clock(p.Unwell),
	}
	if p.Write {
		v.Access = "writes"
	}
	switch {
	case p.NextProbe != nil:
		v.Grade, v.Next = bad, probe(*p.NextProbe, p.Probing, now)
	case p.State == "HealthyTentative":
		v.Grade, v.Next = warn, "Asked again; fewer failures open it than before."
	default:
		v.Next = "Still asked; a success ends the count."
	}
	if v.Cause == "" && p.Failures > 0 {
		v.Cause = count(p.Failures, "failure") + " in a row"
	}
	return v
}

func override(o OverrideState) overrideView {
	v := overrideView{Region: clean(o.Region), Container: clean(o.Container), Partition: clean(o.Partition)}
	if v.Region == "" {
		v.Region = "the account's write region"
	}
	var besides []string
	if o.Slow != "" {
		besides = append(besides, "avoids "+clean(o.Slow)+", which timed out")
	}
	if o.Hub != "" {
		besides = append(besides, "reads found the hub in "+clean(o.Hub))
	}
	if o.Timeouts > 0 {
		besides = append(besides, count(o.Timeouts, "timeout")+" remembered")
	}
	v.Besides = strings.Join(besides, "; ")
	return v
}

func decided(d DecisionState) decisionView {
	v := decisionView{At: clock(d.At), Kind: clean(string(d.Kind)), Text: clean(d.Text)}
	where := []string{clean(d.Container), clean(d.Partition)}
	v.Where = strings.Trim(strings.Join(where, " "), " ")
	if d.Count > 1 {
		v.Times = fmt.Sprintf("× %d", d.Count)
		if d.At.Sub(d.Since) >= time.Second {
			v.Times += " since " + clock(d.Since)
		}
	}
	switch {
	case d.failed(), d.Kind == KindBreaker && d.To == "Unavailable", d.Kind == KindHealth && d.Change == "marked":
		v.Grade = bad
	case d.Kind == KindOverride, d.Kind == KindFallback, d.Kind == KindHedgeWithheld, d.Kind == KindTopology:
		v.Grade = warn
	}
	return v
}
