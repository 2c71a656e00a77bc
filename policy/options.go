package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/internal/option"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Options configures a [Middleware]. The zero value is everything on, with the
// defaults named at each field.
type Options struct {
	// PreferredRegions are the regions to use, most wanted first, by their
	// display names; case, blanks, "-" and "_" do not matter. They restrict:
	// a region that is not listed is used for single-write writes and as the
	// last resort only. Empty: the PreferredRegions of the
	// azcosmos.ClientOptions; both empty: the account's own regions in the
	// service's order. Names that the account does not have are ignored, told
	// once through Telemetry.Logger, and used as soon as the account has them.
	PreferredRegions []string

	// ExcludedRegions are not used while any other applicable region is left,
	// by their display names. They do not apply to writes on single-write
	// accounts, which have no other place to go. A request's own list
	// (regions.WithExcluded) replaces this one; SetExcludedRegions changes it
	// at run time. Default: none.
	ExcludedRegions []string

	// Retry bounds the walk through the regions.
	Retry RetryOptions

	// Breaker configures the per-partition circuit breaker, which is on by default.
	Breaker breaker.Options

	// Failover configures per-partition automatic failover, which follows the
	// account's flag by default.
	Failover ppaf.Options

	// Hedge configures hedging, which is on by default for reads.
	// hedge.With and hedge.Off change it for a request.
	Hedge hedge.Options

	// Telemetry says where spans, metrics and log lines go.
	Telemetry telemetry.Options

	// Transport is needed only when the policies are wired by hand through
	// PerCall and PerRetry: give the transport of the ClientOptions, which
	// hedges and shadow probes are sent by. Nil then means that there are none:
	// nothing is hedged, and a read that comes to an opened region whose probe
	// is due is the probe itself. Apply ignores it and uses, or sets, the one of
	// its ClientOptions.
	Transport azpolicy.Transporter
}

// RetryOptions bounds the walk of one operation through the regions.
type RetryOptions struct {
	// MaxAttempts is how many times one request may be sent in all. Hedges,
	// probes, refusals (403/3) and the rounds that follow them are not counted:
	// time bounds those. Zero: the number of the account's readable regions
	// plus one. Negative: an error from New.
	MaxAttempts int

	// AttemptTimeout ends one attempt that has no answer yet; a read then goes
	// on to the next region. Zero: none, an attempt may take as long as the
	// caller's deadline and the transport allow. Negative: an error from New.
	AttemptTimeout time.Duration

	// RepeatWrites lets a write on a multi-write account go to the next region
	// even when the first may have carried it out (408, 5xx, a lost
	// connection). Only for writes that may be carried out twice. Default: false.
	RepeatWrites bool
}

// OptionError is the error of New for an option that cannot be used.
type OptionError struct {
	Field  string // the field, as written in Go: "Retry.MaxAttempts"
	Value  any    // the value that was given
	Reason string // what it should have been
}

// Error names the field, the value and the rule.
func (e *OptionError) Error() string {
	return (&option.Error{Of: "azcosmos-ha", Field: "policy.Options." + e.Field, Value: e.Value, Rule: e.Reason}).Error()
}

// validate returns the first rule that the options break.
func (o Options) validate() error {
	for _, part := range []struct {
		prefix string
		err    error
	}{
		{"", option.First("", validNames("PreferredRegions", o.PreferredRegions), validNames("ExcludedRegions", o.ExcludedRegions))},
		{"Retry.", o.Retry.validate()},
		{"Breaker.", o.Breaker.Validate()},
		{"Failover.", o.Failover.Validate()},
		{"Hedge.", o.Hedge.Validate()},
	} {
		var broken *option.Error
		switch {
		case errors.As(part.err, &broken):
			return &OptionError{part.prefix + broken.Field, broken.Value, broken.Rule}
		case part.err != nil:
			return part.err
		}
	}
	return nil
}

func (o RetryOptions) validate() error {
	return option.First("",
		option.NotNegative("MaxAttempts", o.MaxAttempts),
		option.NotNegative("AttemptTimeout", o.AttemptTimeout),
	)
}

func validNames(field string, names []string) option.Check {
	blank := func(name string) bool { return regions.Normalize(name) == "" }
	if i := slices.IndexFunc(names, blank); i >= 0 {
		return option.That(false, fmt.Sprintf("%s[%d]", field, i), names[i], "must be the name of a region")
	}
	return option.Check{}
}
