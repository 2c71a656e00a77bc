package telemetry

import "time"

// What is counted of hedging for the state, by the minute.
const (
	hedgesSent = iota
	hedgesWon
	hedgesRaced    // operations that sent a hedge
	hedgesWithheld // because the budget was used up
	hedgeNumbers
)

// The reasons for withholding a hedge that are told apart here; the spelling is
// package hedge's.
const (
	withheldOff      = "off"
	withheldMetadata = "metadata"
	withheldWrite    = "write"
	withheldBudget   = "budget"
)

// HedgeStarted tells a hedge that is on its way to d.Region.
func (r *Recorder) HedgeStarted(s *OperationSpan, d Decision) {
	d.Kind, d.At = KindHedgeStarted, time.Now()
	r.hedging.add(hedgesSent, d.At)
	r.Decided(s, d)
}

// HedgeWithheld tells why an operation, or one hedge of it, is not hedged:
// d.Cause is the reason. What nobody asked for (hedging off, metadata, a write)
// is told to the span only. A used up budget is a decision; the other reasons
// are facts about many requests and are told to the span and the metrics.
func (r *Recorder) HedgeWithheld(s *OperationSpan, d Decision) {
	d.Kind = KindHedgeWithheld
	s.withheld(d.Cause)
	switch d.Cause {
	case withheldOff, withheldMetadata, withheldWrite:
	case withheldBudget:
		d.At = time.Now()
		r.hedging.add(hedgesWithheld, d.At)
		r.Decided(s, d)
	default:
		r.metrics.decided(s.context(), d)
	}
}

// Raced tells how an operation that could be hedged ended: state is the race's,
// sent how many hedges it had sent. d is the hedge that won, if won.
func (r *Recorder) Raced(s *OperationSpan, state string, sent int, won bool, d Decision) {
	s.raced(state)
	if sent == 0 {
		return
	}
	now := time.Now()
	r.hedging.add(hedgesRaced, now)
	r.metrics.outcome(s.context(), state)
	if won {
		d.Kind, d.At = KindHedgeWon, now
		r.hedging.add(hedgesWon, now)
		r.Decided(s, d)
	}
}

// HedgingState is how hedging goes. The counts are of the last [TrafficWindow].
type HedgingState struct {
	InFlight int     `json:"inFlight"`
	Limit    int     `json:"limit"` // of hedges in flight, of all clients together
	Sent     uint64  `json:"sent"`
	Raced    uint64  `json:"raced"` // operations that sent a hedge
	Won      uint64  `json:"won"`   // of them
	WinRate  float64 `json:"winRate"`
	Withheld uint64  `json:"withheld"` // hedges not sent because the limit was reached
}

// Hedging returns the counts of hedging; what is in flight is not known here.
func (r *Recorder) Hedging(now time.Time) HedgingState {
	h := HedgingState{
		Sent:     r.hedging.sum(hedgesSent, now),
		Raced:    r.hedging.sum(hedgesRaced, now),
		Won:      r.hedging.sum(hedgesWon, now),
		Withheld: r.hedging.sum(hedgesWithheld, now),
	}
	if h.Raced > 0 {
		h.WinRate = float64(h.Won) / float64(h.Raced)
	}
	return h
}

func (s *OperationSpan) withheld(reason string) {
	if s == nil {
		return
	}
	s.record.change(func(c *Call) { c.HedgeWithheld = reason })
	if span := s.tracing(); span != nil {
		span.SetAttributes(AttrHedgeWithheld.String(reason))
	}
}

func (s *OperationSpan) raced(state string) {
	if s == nil {
		return
	}
	s.record.change(func(c *Call) { c.Hedge = state })
	if span := s.tracing(); span != nil {
		span.SetAttributes(AttrHedge.String(state))
	}
}
