package telemetry

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The grades that the page colours by.
const (
	well = ""
	warn = "warn"
	bad  = "bad"
)

// staleTopology is how long an account may go without telling its topology:
// azcosmos asks every five minutes, when there are requests.
const staleTopology = 10 * time.Minute

// view is a State in words. Every string in it is clean.
type view struct {
	Title, Verdict, Grade, At string
	Refresh                   int // seconds; 0: not at all
	Style                     template.CSS
	Findings                  []finding
	Accounts                  []accountView
	Hedging                   []number
	Decisions                 []decisionView
}

// finding is something that is unwell, in one line.
type finding struct{ Grade, What, Why, Next string }

type number struct{ Grade, Name, Value string }

type fact struct {
	Text string
	Warn bool
}

type accountView struct {
	Endpoint                  string
	Facts                     []fact
	Regions                   []regionView
	Unwell                    []partitionView
	Overrides                 []overrideView
	UnwellNote, OverridesNote string
}

type regionView struct {
	Grade, Name, Role, Health, Next string
	Open                            int
	Reads, Writes                   shareView
}

type shareView struct {
	Any, Bad         bool
	Part             int // per cent
	Attempts, Failed uint64
}

type partitionView struct {
	Grade, State, Region, Access, Container, Partition, Cause, Age, Since, Next string
}

type overrideView struct{ Region, Container, Partition, Besides string }

type decisionView struct{ Grade, At, Kind, Text, Where, Times string }

func newView(s State) view {
	v := view{At: clock(s.At) + " UTC", Style: template.CSS(pageCSS)} //nolint:gosec // the page's own style, by whose hash the policy knows it
	for _, a := range s.Accounts {
		v.Findings = append(v.Findings, findings(a, s.At)...)
		v.Accounts = append(v.Accounts, viewOf(a, s))
	}
	v.hedging(s.Hedging)
	for _, d := range s.Decisions {
		v.Decisions = append(v.Decisions, decided(d))
	}
	v.judge(s)
	return v
}

// judge says in one sentence how things are.
func (v *view) judge(s State) {
	worst := well
	for _, f := range v.Findings {
		if f.Grade == bad || worst == well {
			worst = f.Grade
		}
	}
	v.Grade = worst
	switch {
	case len(s.Accounts) == 0:
		v.Grade, v.Verdict = warn, "No account is known yet"
	case worst == well:
		v.Verdict = "All is well"
	case len(v.Findings) == 1:
		v.Verdict = "One thing is unwell"
	default:
		v.Verdict = fmt.Sprintf("%d things are unwell", len(v.Findings))
	}
	v.Title = "azcosmos-ha: " + v.Verdict
}

// findings is what is unwell in an account, what concerns most first.
func findings(a AccountState, now time.Time) (list []finding) {
	for _, r := range a.Regions {
		list = append(list, marks(a, r, now)...)
	}
	for _, r := range a.Regions {
		if r.Open > 0 {
			f := finding{Grade: bad, What: fmt.Sprintf("%s is left out for %s", clean(r.Name), count(r.Open, "partition"))}
			f.Why, f.Next = openingOf(a, r, now)
			list = append(list, f)
		}
	}
	if a.OverrideCount > 0 {
		list = append(list, finding{
			warn, count(a.OverrideCount, "partition") + " moved by failover",
			"their writes follow the service, see below where to.", "",
		})
	}
	if age := now.Sub(a.Confirmed); !a.Confirmed.IsZero() && age > staleTopology {
		list = append(list, finding{
			warn, "The topology of " + clean(a.Endpoint) + " is old",
			"the account last told it " + span(age) + " ago.", "It is read again with the next requests.",
		})
	}
	return list
}

// marks is what is known of a region's endpoint.
func marks(a AccountState, r RegionState, now time.Time) (list []finding) {
	const refused = "its endpoint refused, or could not be reached, "
	if r.UnwellReads != nil {
		list = append(list, finding{
			bad, clean(r.Name) + " comes last for reads", refused + ago(*r.UnwellReads, now) + ".", trial(r.TrialReads, now),
		})
	}
	switch {
	case r.UnwellWrites == nil:
	case a.MultiWrite:
		list = append(list, finding{
			bad, clean(r.Name) + " comes last for writes", refused + ago(*r.UnwellWrites, now) + ".", trial(r.TrialWrites, now),
		})
	default:
		list = append(list, finding{
			refusal(r), clean(r.Name) + " did not take a write",
			"it refused one (403), or could not be reached, " + ago(*r.UnwellWrites, now) +
				". That moves nothing else: writes go to the account's write region, or where failover has found a partition's.",
			forgotten,
		})
	}
	return list
}

// forgotten is when the mark of a region goes that has no other for its writes:
// nothing tries it, and nothing waits for it.
const forgotten = "It is forgotten after five minutes."

// refusal grades a region of a single-write account that did not take a write:
// only the write region should have.
func refusal(r RegionState) string {
	if r.Primary {
		return bad
	}
	return warn
}

// openingOf says since when and why a region is opened, and what comes next, of
// the partitions that are listed.
func openingOf(a AccountState, r RegionState, now time.Time) (why, next string) {
	var oldest, soonest time.Time
	cause, probing := "", false
	for _, p := range a.Unwell {
		if p.Region != r.Name || p.NextProbe == nil {
			continue
		}
		if oldest.IsZero() || p.Unwell.Before(oldest) {
			oldest, cause = p.Unwell, p.Cause
		}
		if soonest.IsZero() || p.NextProbe.Before(soonest) {
			soonest = *p.NextProbe
		}
		probing = probing || p.Probing
	}
	if oldest.IsZero() {
		return "", ""
	}
	why = "the oldest for " + span(now.Sub(oldest))
	if cause != "" {
		why += " (" + clean(cause) + ")"
	}
	return why + ".", probe(soonest, probing, now)
}

func trial(at *time.Time, now time.Time) string {
	if at == nil || !at.After(now) {
		return "The next request tries it."
	}
	return "Tried again " + in(*at, now) + "."
}

func probe(at time.Time, probing bool, now time.Time) string {
	switch {
	case probing:
		return "A probe is in flight."
	case at.After(now):
		return "Next probe " + in(at, now) + "."
	default:
		return "The next request probes it."
	}
}

func (v *view) hedging(h HedgingState) {
	grade := func(is bool) string {
		if is {
			return warn
		}
		return well
	}
	slow := h.Raced >= 20 && h.WinRate > 0.5
	v.Hedging = []number{
		{grade(h.Limit > 0 && h.InFlight >= h.Limit), "in flight, of the budget", fmt.Sprintf("%d / %d", h.InFlight, h.Limit)},
		{well, "sent in 5 minutes", strconv.FormatUint(h.Sent, 10)},
		{grade(slow), "operations won by a hedge", fmt.Sprintf("%d %%", percent(h.WinRate))},
		{grade(h.Withheld > 0), "withheld: budget used up", strconv.FormatUint(h.Withheld, 10)},
	}
	if slow {
		v.Findings = append(v.Findings, finding{
			warn, fmt.Sprintf("Hedges win %d %% of their races", percent(h.WinRate)),
			"a region that is asked first is slow.", "",
		})
	}
	if h.Withheld > 0 {
		v.Findings = append(v.Findings, finding{
			warn, count(int(min(h.Withheld, math.MaxInt32)), "hedge") + " withheld",
			"the budget of hedges in flight was used up in the last five minutes.", "",
		})
	}
}

// clean takes out of a text what would let it pass for something else: control
// characters, and those that turn the direction of writing.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// span is a duration for people, with one or two units.
func span(d time.Duration) string {
	switch d = max(d, 0).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	}
}

func ago(t, now time.Time) string { return span(now.Sub(t)) + " ago" }

func in(t, now time.Time) string { return "in " + span(t.Sub(now)) + ", at " + clock(t) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(part float64) int { return int(math.Round(100 * min(max(part, 0), 1))) }
