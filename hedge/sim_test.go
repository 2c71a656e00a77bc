package hedge

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// scenario is one operation and how every region would answer it.
type scenario struct {
	regions  []string // applicable, in order
	never    []string
	options  Options
	free     int // places of the budget
	deadline time.Duration
	cancel   time.Duration
	behaves  map[string]behaviour
}

type behaviour struct {
	after  time.Duration // negative: never
	answer string        // "200", "404/1002", or "refused"
}

// epoch is the start of every operation here.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// split turns "404/1002" into its numbers, and what has none into zeros.
func split(answer string) (status, sub int) {
	a, b, _ := strings.Cut(answer, "/")
	status, _ = strconv.Atoi(a)
	sub, _ = strconv.Atoi(b)
	return status, sub
}

// goesOn is the R column of the judge for what is not final: the walk asks the next region, or gives up at once.
func goesOn(answer string) bool {
	status, sub := split(answer)
	return status != 449 && (status != 429 || sub == 3092) && (status != 410 || sub == 1022)
}

// sim drives a race in virtual time, event by event: the part that policy plays with timers and goroutines.
type sim struct {
	scenario
	now     time.Duration
	list    regions.List
	may     regions.Set // the candidates
	claims  Claims
	budget  *Budget
	race    Race
	legs    []simLeg
	early   bool // the hedge that is started now is not due
	diagram strings.Builder
}

type simLeg struct {
	region  regions.Index
	end     time.Duration
	running bool // until end
	ends    bool // ever
}

func (s *sim) name(r regions.Index) string { return s.regions[r] }

func (s *sim) say(format string, a ...any) {
	fmt.Fprintf(&s.diagram, "%-7v %s\n", s.now, fmt.Sprintf(format, a...))
}

// stuck ends the diagram of an operation that has no deadline and gets no answer.
const stuck = "never   nothing more happens\n"

// run plays a scenario to its end and returns the timing diagram.
func run(sc scenario) string {
	s := &sim{scenario: sc, budget: NewBudget(Options{MaxInFlight: max(sc.free, 1)})}
	if sc.free == 0 {
		s.budget.Acquire()
	}
	var never regions.Set
	for i, name := range sc.regions {
		s.list.Append(regions.Index(i))
		for _, n := range sc.never {
			if n == name {
				never = never.With(regions.Index(i))
			}
		}
	}
	s.may = Candidates(s.list, never)
	query := Query{Document: true, Candidates: s.may.Len()}
	schedule, reason := Plan(sc.options, query, epoch, epoch.Add(sc.deadline), sc.deadline != 0)
	if reason != ReasonNone {
		s.say("not hedged: %v", reason)
	}
	s.race = MakeRace(schedule)
	first, _ := s.claims.Next(s.list, s.list.Set())
	s.legs = append(s.legs, s.leg(first))
	s.say("%s asked", s.name(first))
	for !s.race.Over() {
		if !s.step() {
			s.diagram.WriteString(stuck)
			break
		}
	}
	return s.diagram.String()
}

func (s *sim) leg(r regions.Index) simLeg {
	b := s.behaves[s.name(r)]
	return simLeg{region: r, end: s.now + b.after, running: true, ends: b.after >= 0}
}

// step lets the next event happen. At one time legs end first, then the context, then the timer fires.
func (s *sim) step() bool {
	leg, at := -1, time.Duration(-1)
	for i, l := range s.legs {
		if l.running && l.ends && (at < 0 || l.end < at) {
			leg, at = i, l.end
		}
	}
	stop := s.deadline
	if s.cancel != 0 && (stop == 0 || s.cancel < stop) {
		stop = s.cancel
	}
	wait, timer := s.race.Next(epoch.Add(s.now))
	tick := s.now + wait
	switch {
	case leg >= 0 && (stop == 0 || at <= stop) && (!timer || at <= tick):
		s.now = at
		s.end(leg)
	case stop != 0 && (!timer || stop <= tick):
		s.now = stop
		s.race.Stop(stop == s.deadline)
		s.over("the context is done")
	case timer:
		s.now = tick
		s.early = false
		s.obey(s.race.Tick(epoch.Add(s.now)))
	default:
		return false
	}
	return true
}

// end is the end of an attempt: of a hedge, or of one step of the walk.
func (s *sim) end(leg int) {
	l := &s.legs[leg]
	answer := s.behaves[s.name(l.region)].answer
	final := Final(split(answer))
	if leg == First && !final && goesOn(answer) {
		if r, ok := s.claims.Next(s.list, s.list.Set()); ok {
			s.say("%s %s, the walk asks %s", s.name(l.region), answer, s.name(r))
			s.legs[leg] = s.leg(r)
			return
		}
	}
	l.running = false
	what := "not final"
	if final {
		what = "final"
	}
	s.say("%s %s, %s", s.name(l.region), answer, what)
	if leg != First {
		s.budget.Release()
	}
	s.early = true
	s.obey(s.race.Ended(leg, final))
}

func (s *sim) obey(m Move) {
	switch m {
	case Start:
		s.start()
	case Return:
		s.over("over")
	case Wait:
	}
}

func (s *sim) start() {
	if !s.budget.Acquire() {
		s.withheld(ReasonBudget)
		return
	}
	r, ok := s.claims.Next(s.list, s.may)
	if !ok {
		s.budget.Release()
		s.withheld(ReasonNoRegion)
		return
	}
	n := s.race.Sent()
	s.legs = append(s.legs, s.leg(r))
	when := "due"
	if s.early {
		when = "early"
	}
	s.say("%s asked by hedge %d, %s", s.name(r), n, when)
}

func (s *sim) withheld(why Reason) {
	s.say("hedge withheld: %v", why)
	s.obey(s.race.Withheld(why))
}

func (s *sim) over(why string) {
	answers := s.legs[s.race.Winner()].region
	slow := ""
	if s.race.Slow() {
		slow = ", " + s.name(s.legs[First].region) + " is slow"
	}
	s.say("%s: %v, %s answers%s", why, s.race.State(), s.name(answers), slow)
}
