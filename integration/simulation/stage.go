package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Sockets is what a [Stage] gets from its driver.
type Sockets struct {
	// Gateway is the account, with the World's regions. Its log is the Stage's.
	Gateway *gateway.Gateway
	// Database has a container "items" with the partition key /pk.
	Database string
	// Key is the account's.
	Key string
	// Endpoint is a region's endpoint, and the global one's for "".
	Endpoint func(region string) string
	// Transport sends the requests.
	Transport azpolicy.Transporter
	// Slack is what real time may add to every duration: the invariants forgive
	// it. It must be more than zero.
	Slack time.Duration
	// Patient tells that the driver waits for a minute until breaker and failover
	// hold nothing at all: see [Stage.Quiet].
	Patient bool
	// Shared tells that requests share connections, as over HTTP/2.
	Shared bool
}

// Stage plays a world in real time: the calls, events and evidence of this
// package for a driver with sockets and a clock of its own. A driver opens it,
// makes callers call and events happen, heals it, closes it, and judges its
// evidence. The world's events are then those that happened, with the times at
// which they did. Call may be used by many goroutines, each with a Caller of its
// own; Begin and what it returns by one.
type Stage struct {
	e     *environment
	begun []int // events
}

// Caller is one caller of a [Stage], with its session. It makes one call at a time.
type Caller struct{ c caller }

// NewCaller makes a caller; its number is its place among the world's callers.
func NewCaller(number int) *Caller { return &Caller{caller{number: number}} }

// Healer makes the caller of the calls after [Stage.Heal].
func Healer() *Caller { return NewCaller(healCaller) }

// Item is an item that a world's calls are about, in its first version.
type Item struct {
	Key, ID string
	Body    []byte
}

// Items are the items that are in the store before the first call.
func (w World) Items() []Item {
	var list []Item
	for k := range w.keys() {
		for i := range itemsPerKey {
			list = append(list, Item{keyName(k), itoa(i), document(k, i, 0)})
		}
	}
	return list
}

// Open makes the client and the middleware, and reads and writes
// every partition key once. The items are in the store already.
func (w World) Open(ctx context.Context, s Sockets) (*Stage, error) {
	w = w.clone()
	e := &environment{
		Run:      &Run{World: w, Slack: s.Slack, Patient: s.Patient, Shared: s.Shared},
		database: s.Database, key: s.Key, endpoint: s.Endpoint, transport: s.Transport, gateway: s.Gateway,
		failover: w.Account.PartitionFailover, noHedging: w.Account.HedgingDisabled,
	}
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	e.everyKey(ctx, &caller{number: warmCaller, calls: 1})
	e.Live = time.Now()
	return &Stage{e: e}, nil
}

// Call makes a call and keeps how it ended.
func (s *Stage) Call(ctx context.Context, c *Caller, call Call) {
	s.e.call(ctx, &c.c, c.c.calls, call)
}

// Begin makes the world's event i happen now, and returns what ends it, which
// does nothing for an event that stays.
func (s *Stage) Begin(i int) (end func()) {
	e := s.e
	e.clock.Lock()
	defer e.clock.Unlock()
	v := &e.Events[i]
	v.At, v.For = Duration(time.Since(e.Live)), 0
	s.begun = append(s.begun, i)
	undo := e.begin(*v)
	return func() {
		if undo != nil {
			undo()
			e.Events[i].For = max(1, Duration(time.Since(e.Live))-e.Events[i].At)
		}
	}
}

// Heal ends every fault, and resets every connection, which is an event of its own.
func (s *Stage) Heal() {
	e := s.e
	from := Duration(time.Since(e.Live))
	e.mend()
	e.Healed = time.Now()
	for _, r := range append([]string{gateway.Global}, allRegions...) {
		s.begun = append(s.begun, len(e.Events))
		e.Events = append(e.Events, Event{At: from, For: Duration(e.Healed.Sub(e.Live)) - from, Do: Down, Region: r})
	}
	e.AtHeal = e.ha.State()
}

// EveryKey reads and writes every partition key once, and asks every range if
// cross is set.
func (s *Stage) EveryKey(ctx context.Context, c *Caller, cross bool) {
	s.e.everyKey(ctx, &c.c)
	if cross {
		s.Call(ctx, c, Call{Op: CrossQuery, Deadline: Duration(time.Minute), Hedge: HedgeOff})
	}
}

// Quiet tells whether breaker and failover have let go of every region, or, of a
// patient stage, whether they hold nothing at all. What was recorded under a name
// that nobody uses any more, of a range that was split or of a key whose range
// was not known yet, lapses with the options' times, and the breaker looks for it
// within half a minute. Overrides are left out if they may last.
func (s *Stage) Quiet() bool {
	last := slices.ContainsFunc(s.begun, func(i int) bool { return s.e.Events[i].overridesLast() })
	return held(s.e.ha.State(), s.e.Patient, !last) == ""
}

// overridesLast tells an event after which overrides stay although all is well: that
// of a range that was split, and one to the account's write region, of which the
// client need not know for five minutes.
func (v Event) overridesLast() bool { return v.Do == Split || v.Do == Primary || v.Do == Regions }

// held is what a state holds: everything, or what still has an effect; with the
// overrides, or without. What avoids a slow region lasts for five minutes.
func held(s telemetry.State, everything, overrides bool) string {
	var list []string
	for _, a := range s.Accounts {
		for _, p := range a.Unwell {
			if everything || p.NextProbe != nil && p.NextProbe.After(s.At) {
				list = append(list, fmt.Sprintf("unwell: %+v", p))
			}
		}
		for _, o := range a.Overrides {
			if overrides && (o.Region != "" || everything && o.Slow == "") {
				list = append(list, fmt.Sprintf("override: %+v", o))
			}
		}
	}
	return strings.Join(list, "; ")
}

// Close closes the middleware and the client. The gateway is the driver's.
func (s *Stage) Close() {
	s.e.AtEnd = s.e.ha.State()
	s.e.ha.Close()
	s.e.client.Close()
}

// Evidence is what happened, once everything is closed and nothing is in flight.
// What only the store knows, Double, Writes and Stored, is for the driver to say.
func (s *Stage) Evidence() *Run {
	e := s.e
	e.collect()
	happened := make([]Event, 0, len(s.begun))
	for _, i := range s.begun {
		happened = append(happened, e.Events[i])
	}
	e.Events = slices.Clone(happened)
	return e.Run
}
