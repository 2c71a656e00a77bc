package policy_test

import (
	"slices"
	"strings"
	"time"
)

// twinLeg is how a region answers one request: after a while, with an answer
// that is final, or that lets the walk go on, or that ends it.
type twinLeg struct {
	after time.Duration // never: no answer
	final bool
	next  bool // not final: the walk goes on
	write bool // not final: the walk asks the write region
	says  string
}

const never = time.Duration(1<<63 - 1)

// twinRace is package hedge told once more, as dumbly as possible: it
// steps from one instant to the next and looks at everything.
type twinRace struct {
	list       []string // the applicable regions, in order
	leg        map[string]twinLeg
	home       string // the write region
	threshold  time.Duration
	step       time.Duration
	hedges     int // how many there may be
	until      time.Duration
	asked      []string
	walkRegion string // "": the walk is over
	walkEnds   time.Duration
	walkSays   string
	flying     map[string]time.Duration // hedges: when they end
	places     int                      // taken
}

// run returns the answer, the regions asked in order, and the time it took.
func (t *twinRace) run() (says, regions string, took time.Duration) {
	t.flying = map[string]time.Duration{}
	t.places = 0
	t.asked = nil
	t.walk(t.list[0], 0)
	for {
		now := t.until
		if t.walkRegion != "" {
			now = min(now, t.walkEnds)
		}
		for _, ends := range t.flying {
			now = min(now, ends)
		}
		if t.places < t.hedges {
			now = min(now, t.threshold+time.Duration(t.places)*t.step)
		}
		if now == t.until {
			return "deadline", strings.Join(t.asked, " "), now
		}
		if says, over := t.at(now); over {
			return says, strings.Join(t.asked, " "), now
		}
	}
}

// at lets happen what is due.
func (t *twinRace) at(now time.Duration) (string, bool) {
	if t.walkRegion != "" && t.walkEnds == now {
		leg := t.leg[t.walkRegion]
		t.walkSays = leg.says
		switch {
		case leg.final:
			return leg.says, true
		case leg.write && t.walkRegion != t.home && !slices.Contains(t.asked, t.home):
			t.walk(t.home, now)
		case leg.next && t.unasked(t.list) != "":
			t.walk(t.unasked(t.list), now)
		default:
			t.walkRegion = ""
			t.hedge(now)
		}
	} else if region := t.ended(now); region != "" {
		delete(t.flying, region)
		if t.leg[region].final {
			return t.leg[region].says, true
		}
		t.hedge(now)
	} else {
		t.hedge(now)
	}
	if t.walkRegion == "" && len(t.flying) == 0 {
		return t.walkSays, true
	}
	return "", false
}

func (t *twinRace) ended(now time.Duration) string {
	for region, ends := range t.flying {
		if ends == now {
			return region
		}
	}
	return ""
}

func (t *twinRace) walk(region string, now time.Duration) {
	t.asked = append(t.asked, region)
	t.walkRegion, t.walkEnds = region, later(now, t.leg[region].after)
}

// hedge sends a hedge, if there is a place and a region for it.
func (t *twinRace) hedge(now time.Duration) {
	if t.places >= t.hedges {
		return
	}
	t.places++
	region := t.unasked(t.list[1:])
	if region == "" {
		t.hedges = 0
		return
	}
	t.asked = append(t.asked, region)
	t.flying[region] = later(now, t.leg[region].after)
}

func (t *twinRace) unasked(list []string) string {
	for _, region := range list {
		if !slices.Contains(t.asked, region) {
			return region
		}
	}
	return ""
}

func later(now, d time.Duration) time.Duration {
	if d == never {
		return never
	}
	return now + d
}
