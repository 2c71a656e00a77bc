// Package option is how an option struct is checked, and the error that tells which field breaks which rule.
//
// Checks are written in the order of the struct; the first one that is broken is the error:
//
//	return option.First("hedge",
//		option.NotNegative("Threshold", o.Threshold),
//		option.That(o.MaxHedges <= 9, "MaxHedges", o.MaxHedges, "must be at most 9"))
//
// The packages with options of their own (breaker, hedge, ppaf) export [Error] as OptionError, so that code which uses
// one of them by itself can look at the field; package policy puts it into the words of its own options.
package option

import (
	"fmt"
	"strconv"
	"time"
)

// Error says which field of an option struct cannot be used, and with which value.
type Error struct {
	Of    string // whose options they are: "breaker"
	Field string // the name of the field
	Value any    // what it was
	Rule  string // what it must be, as in "must not be negative"
}

// Error reads "breaker: ReadFailures must not be negative, got -1". A text is quoted: blanks would not be seen.
func (e *Error) Error() string {
	value := fmt.Sprint(e.Value)
	if text, ok := e.Value.(string); ok {
		value = strconv.Quote(text)
	}
	return e.Of + ": " + e.Field + " " + e.Rule + ", got " + value
}

// Check is one field held against one rule.
type Check struct {
	broken bool
	field  string
	value  any
	rule   string
}

// That is a check of any rule: kept says whether the value keeps it.
func That(kept bool, field string, value any, rule string) Check {
	return Check{!kept, field, value, rule}
}

// NotNegative is the rule of most numbers and durations, where zero means the default. Not-a-number keeps it.
func NotNegative[T int | float64 | time.Duration](field string, value T) Check {
	return Check{value < 0, field, value, "must not be negative"}
}

// First returns an [*Error] for the first check that is broken, or nil.
func First(of string, checks ...Check) error {
	for _, c := range checks {
		if c.broken {
			return &Error{of, c.field, c.value, c.rule}
		}
	}
	return nil
}
