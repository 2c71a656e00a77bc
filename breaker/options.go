package breaker

import (
	"fmt"
	"math"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/option"
)

// Options configures the breaker. The zero value is on, with the defaults below; zero means the default in every field and a
// negative value is an error. A count beyond 2,147,483,647 is taken as that, one of SlowWins beyond 255 as 255.
type Options struct {
	// Disabled switches the breaker off: nothing is counted and nothing ever opens.
	Disabled bool

	// ReadFailures is how many failures in a row open a region for the reads of a partition. Default 10.
	// A tentative region opens at half of it (rounded down, at least 1), and is healthy again after as many successes.
	ReadFailures int

	// WriteFailures is the same for writes, on multi-write accounts. Default 5.
	WriteFailures int

	// FailureRate is the share of failed requests in a RateWindow that opens a region, in (0, 1]. Default 0.9.
	FailureRate float64

	// MinRequests is how many requests a RateWindow must have seen before FailureRate counts. Default 100.
	MinRequests int

	// RateWindow is how long requests are counted for FailureRate, from a failure on. Default 1 minute.
	RateWindow time.Duration

	// ResetAfter is how long after its last failure a run of failures is forgotten (slow wins likewise, and a tentative region
	// becomes healthy). Default 5 minutes.
	ResetAfter time.Duration

	// OpenFor is how long a region stays out before its first probe, jitter of up to a quarter not included. Default
	// 30 seconds, or MaxOpenFor if that is shorter.
	OpenFor time.Duration

	// MaxOpenFor bounds the doubling of OpenFor, jitter not included. Default 20 minutes, or OpenFor if that is longer. It is
	// also how long a region whose probe is due waits for a request before it is forgotten (ResetAfter if that is longer).
	MaxOpenFor time.Duration

	// SlowWins is how many hedges in a row must win against a region to open it. Default 5. A tentative region opens at half of it.
	SlowWins int

	steady bool // see WithoutJitter
}

// WithoutJitter returns the options of a breaker whose openings last exactly as long as OpenFor and MaxOpenFor say. It is for
// tests and simulations that must be repeatable: many clients that probe in step are a burden to a region that recovers.
func (o Options) WithoutJitter() Options {
	o.steady = true
	return o
}

// The defaults of Options.
const (
	defaultReadFailures  = 10
	defaultWriteFailures = 5
	defaultFailureRate   = 0.9
	defaultMinRequests   = 100
	defaultRateWindow    = time.Minute
	defaultResetAfter    = 5 * time.Minute
	defaultOpenFor       = 30 * time.Second
	defaultMaxOpenFor    = 20 * time.Minute
	defaultSlowWins      = 5
)

// OptionError is the error of Validate. It has the Field, its Value, and the Rule that the value breaks, as in
// "must not be negative". breaker, hedge and ppaf share the type.
type OptionError = option.Error

// Validate returns nil or an *[OptionError] for the first field, in the order of the struct, that breaks a rule.
func (o Options) Validate() error {
	return option.First("breaker",
		option.NotNegative("ReadFailures", o.ReadFailures),
		option.NotNegative("WriteFailures", o.WriteFailures),
		option.NotNegative("FailureRate", o.FailureRate),
		option.That(o.FailureRate <= 1, "FailureRate", o.FailureRate, "must be at most 1"), // as NaN is not
		option.NotNegative("MinRequests", o.MinRequests),
		option.NotNegative("RateWindow", o.RateWindow),
		option.NotNegative("ResetAfter", o.ResetAfter),
		option.NotNegative("OpenFor", o.OpenFor),
		option.NotNegative("MaxOpenFor", o.MaxOpenFor),
		option.That(o.MaxOpenFor <= 0 || o.MaxOpenFor >= o.OpenFor,
			"MaxOpenFor", o.MaxOpenFor, fmt.Sprintf("must not be less than OpenFor (%v)", o.OpenFor)),
		option.NotNegative("SlowWins", o.SlowWins),
	)
}

// Rules are Options with every default filled in: what Record decides by. Make them with Options.Rules.
type Rules struct {
	failures    [2]uint32 // by kind: reads, writes
	failureRate float64
	minRequests uint32
	slowWins    uint32 // at most 255: a record counts them in a byte
	rateWindow  time.Duration
	resetAfter  time.Duration
	openFor     time.Duration
	maxOpenFor  time.Duration
	forgetAfter time.Duration // how long a probe may be due before the record lapses
}

// longest keeps sums of durations from overflowing; 36 years are as good as for ever.
const longest = time.Duration(1 << 60)

// Rules fills in the defaults. A negative value, which Validate refuses, counts as zero.
func (o Options) Rules() *Rules {
	r := &Rules{
		failures: [2]uint32{
			uint32(or(o.ReadFailures, defaultReadFailures, math.MaxInt32)),
			uint32(or(o.WriteFailures, defaultWriteFailures, math.MaxInt32)),
		},
		failureRate: defaultFailureRate,
		minRequests: uint32(or(o.MinRequests, defaultMinRequests, math.MaxInt32)),
		slowWins:    uint32(or(o.SlowWins, defaultSlowWins, math.MaxUint8)),
		rateWindow:  or(o.RateWindow, defaultRateWindow, longest),
		resetAfter:  or(o.ResetAfter, defaultResetAfter, longest),
		openFor:     or(o.OpenFor, defaultOpenFor, longest),
		maxOpenFor:  or(o.MaxOpenFor, max(defaultMaxOpenFor, o.OpenFor), longest),
	}
	if o.FailureRate > 0 {
		r.failureRate = o.FailureRate
	}
	r.openFor = min(r.openFor, r.maxOpenFor)
	r.forgetAfter = max(r.maxOpenFor, r.resetAfter)
	return r
}

// or is value, or byDefault if there is none, and at most the limit.
func or[T int | time.Duration](value, byDefault, limit T) T {
	if value <= 0 {
		value = byDefault
	}
	return min(value, limit)
}
