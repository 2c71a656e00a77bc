package hedge

import (
	"context"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/given"
	"github.com/azcosmos-ha/azcosmos-ha/internal/option"
)

// Options says whether and when requests are hedged. The zero value is on for reads, with the defaults below. In every
// field but the switches zero means the default (in [With]: the client's value), and a negative value is an error of
// the client's options and counts as zero in [With].
type Options struct {
	// Disabled switches hedging off.
	Disabled bool

	// Threshold is how long an operation may go without a final answer before the first hedge is sent, from the start of
	// the operation. It is taken as it is: one that is not shorter than what is left of the caller's deadline means no hedge.
	// Default: 1 second, or half of what is left of the deadline if that is shorter.
	Threshold time.Duration

	// Step is the time from one hedge to the next. Default 500 milliseconds.
	Step time.Duration

	// MaxHedges is how many hedges one operation may send, each to a region of its own. Default: as many as there are
	// further applicable regions.
	MaxHedges int

	// Writes hedges writes too, on multi-write accounts only: a write is then carried out more than once, and the caller may
	// see 409 or 412 for one that succeeded. Default false. A request can add it to the client's, and not take it away.
	Writes bool

	// MaxInFlight bounds the hedges in flight of all requests of a client. A hedge beyond it is not sent, the request goes
	// on without. Default 64. It is the client's alone: With ignores it.
	MaxInFlight int
}

// The defaults of Options.
const (
	defaultThreshold   = time.Second
	defaultStep        = 500 * time.Millisecond
	defaultMaxInFlight = 64
)

// OptionError is the error of Validate. It has the Field, its Value, and the Rule that the value breaks, as in
// "must not be negative". breaker, hedge and ppaf share the type.
type OptionError = option.Error

// Validate returns nil or an *[OptionError] for the first field, in the order of the struct, that breaks a rule.
func (o Options) Validate() error {
	return option.First("hedge",
		option.NotNegative("Threshold", o.Threshold),
		option.NotNegative("Step", o.Step),
		option.NotNegative("MaxHedges", o.MaxHedges),
		option.NotNegative("MaxInFlight", o.MaxInFlight),
	)
}

// Merge returns the effective options of one request: client are the client's, request those of [FromContext], and given
// its second result. Without request options the client's apply. With them the request is hedged unless they say
// Disabled, whatever the client says; zero (and negative) fields mean the client's, and MaxInFlight always is.
func (client Options) Merge(request Options, given bool) Options {
	if !given {
		return client
	}
	effective := client
	effective.Disabled = request.Disabled
	effective.Writes = client.Writes || request.Writes
	if request.Threshold > 0 {
		effective.Threshold = request.Threshold
	}
	if request.Step > 0 {
		effective.Step = request.Step
	}
	if request.MaxHedges > 0 {
		effective.MaxHedges = request.MaxHedges
	}
	return effective
}

// optionsKey is the context key of a request's options.
type optionsKey struct{}

// With returns a context whose requests are hedged by these options, even if the client does not hedge, unless
// o.Disabled. Zero fields mean the client's value, and so do negative ones, since there is nobody to return an error to.
// MaxInFlight is ignored. The options replace those of an outer With or [Off], they do not add to them. What the
// account forbids (disableCrossRegionalHedging) stays forbidden.
func With(ctx context.Context, o Options) context.Context {
	given.Put(given.Hedging)
	return context.WithValue(ctx, optionsKey{}, o)
}

// Off returns a context whose requests are not hedged: With(ctx, Options{Disabled: true}).
func Off(ctx context.Context) context.Context {
	return With(ctx, Options{Disabled: true})
}

// Given reports whether [FromContext] would return any.
func Given(ctx context.Context) bool {
	return given.Has(given.Hedging) && ctx.Value(optionsKey{}) != nil
}

// FromContext returns the options that [With] or [Off] put into the context, and whether there are any: none means the
// client's. It does not allocate.
func FromContext(ctx context.Context) (Options, bool) {
	if !given.Has(given.Hedging) {
		return Options{}, false
	}
	o, ok := ctx.Value(optionsKey{}).(Options)
	return o, ok
}
