package ppaf

import (
	"fmt"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/option"
)

// Mode says who decides whether per-partition automatic failover is on.
type Mode uint8

// The modes.
const (
	// FromAccount follows the account's enablePerPartitionFailoverBehavior. It is the default. An account that never said
	// anything has it off.
	FromAccount Mode = iota
	// On switches it on, whatever the account says.
	On
	// Off switches it off, whatever the account says.
	Off
)

var modeNames = [...]string{"from_account", "on", "off"}

// String returns from_account, on or off.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Options configures per-partition automatic failover. The zero value is the default; zero means the default in every field
// and a negative value is an error.
type Options struct {
	// Mode is FromAccount, On or Off. Default FromAccount.
	Mode Mode

	// Timeouts is how many timeouts of a partition's writes in one region, within TimeoutWindow and without another answer
	// between them, let the next write start elsewhere. Default 10, at most 11.
	Timeouts int

	// TimeoutWindow is how far apart the first and the last of them may be. It is measured in milliseconds. Default
	// 1 minute, at most 24 hours.
	TimeoutWindow time.Duration
}

const (
	defaultTimeouts      = 10
	defaultTimeoutWindow = time.Minute

	maxTimeouts      = 11             // what a record can remember
	maxTimeoutWindow = 24 * time.Hour // far below the 24 days at which a record's clock folds over

	// slowFor is how long the starts of a partition avoid a region after its last timeout: as long as region marks last.
	slowFor = 5 * time.Minute
)

// OptionError is the error of Validate. It has the Field, its Value, and the Rule that the value breaks, as in
// "must not be negative". breaker, hedge and ppaf share the type.
type OptionError = option.Error

// Validate returns nil or an *[OptionError] for the first field, in the order of the struct, that breaks a rule.
func (o Options) Validate() error {
	return option.First("ppaf",
		option.That(o.Mode <= Off, "Mode", o.Mode, "must be FromAccount, On or Off"),
		option.NotNegative("Timeouts", o.Timeouts),
		option.That(o.Timeouts <= maxTimeouts, "Timeouts", o.Timeouts, fmt.Sprintf("must be at most %d", maxTimeouts)),
		option.NotNegative("TimeoutWindow", o.TimeoutWindow),
		option.That(o.TimeoutWindow <= maxTimeoutWindow,
			"TimeoutWindow", o.TimeoutWindow, fmt.Sprintf("must be at most %v", maxTimeoutWindow)),
	)
}

// Enabled reports whether failover is on for an account with this flag; nil is an account that never had one. That an answer
// without the flag is no change is the topology's doing, which carries the last value over.
func (o Options) Enabled(flag *bool) bool {
	switch o.Mode {
	case On:
		return true
	case FromAccount:
		return flag != nil && *flag
	default:
		return false
	}
}

// limits are the numbers of Options with the defaults filled in, in the units of a record.
type limits struct {
	timeouts int
	window   int32 // milliseconds
	slow     int32 // milliseconds
}

// limits fills in the defaults and brings what Validate refuses into range.
func (o Options) limits() limits {
	if o.Timeouts <= 0 {
		o.Timeouts = defaultTimeouts
	}
	if o.TimeoutWindow <= 0 {
		o.TimeoutWindow = defaultTimeoutWindow
	}
	window := min(o.TimeoutWindow, maxTimeoutWindow)
	return limits{
		timeouts: min(o.Timeouts, maxTimeouts),
		window:   int32(window.Milliseconds()),
		slow:     int32(max(window, slowFor).Milliseconds()),
	}
}
