package breaker

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsValidate(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // "" is valid
	}{
		{o: Options{}},
		{o: Options{Disabled: true}},
		{o: Options{ReadFailures: 1, WriteFailures: 1, FailureRate: 1, MinRequests: 1, SlowWins: 1}},
		{o: Options{OpenFor: time.Hour}},
		{o: Options{MaxOpenFor: time.Second}},
		{o: Options{OpenFor: time.Second, MaxOpenFor: time.Second}},
		{Options{ReadFailures: -1}, "breaker: ReadFailures must not be negative, got -1"},
		{Options{WriteFailures: -2}, "breaker: WriteFailures must not be negative, got -2"},
		{Options{FailureRate: -0.1}, "breaker: FailureRate must not be negative, got -0.1"},
		{Options{FailureRate: 1.5}, "breaker: FailureRate must be at most 1, got 1.5"},
		{Options{FailureRate: 90}, "breaker: FailureRate must be at most 1, got 90"},
		{Options{FailureRate: math.NaN()}, "breaker: FailureRate must be at most 1, got NaN"},
		{Options{MinRequests: -1}, "breaker: MinRequests must not be negative, got -1"},
		{Options{RateWindow: -time.Second}, "breaker: RateWindow must not be negative, got -1s"},
		{Options{ResetAfter: -1}, "breaker: ResetAfter must not be negative, got -1ns"},
		{Options{OpenFor: -1}, "breaker: OpenFor must not be negative, got -1ns"},
		{Options{MaxOpenFor: -1}, "breaker: MaxOpenFor must not be negative, got -1ns"},
		{Options{SlowWins: -5}, "breaker: SlowWins must not be negative, got -5"},
		{
			Options{OpenFor: time.Minute, MaxOpenFor: time.Second},
			"breaker: MaxOpenFor must not be less than OpenFor (1m0s), got 1s",
		},
		{Options{SlowWins: -1, ReadFailures: -1}, "breaker: ReadFailures must not be negative, got -1"},
		{Options{FailureRate: 2, OpenFor: -1, SlowWins: -1}, "breaker: FailureRate must be at most 1, got 2"},
		{Options{OpenFor: time.Minute, MaxOpenFor: time.Hour, SlowWins: -1}, "breaker: SlowWins must not be negative, got -1"},
	} {
		err := c.o.Validate()
		if c.want == "" {
			assert.NoError(t, err, "%+v", c.o)
			continue
		}
		require.EqualError(t, err, c.want)
		var typed *OptionError
		require.ErrorAs(t, err, &typed)
	}
}

func TestOptionErrorNamesFieldAndValue(t *testing.T) {
	var err *OptionError
	require.ErrorAs(t, Options{SlowWins: -5}.Validate(), &err)
	assert.Equal(t, "SlowWins", err.Field)
	assert.Equal(t, -5, err.Value)
}

func TestRulesFillInTheDefaultsOfTheDesign(t *testing.T) {
	assert.Equal(t, &Rules{
		failures: [2]uint32{10, 5}, failureRate: 0.9, minRequests: 100, slowWins: 5, rateWindow: time.Minute,
		resetAfter: 5 * time.Minute, openFor: 30 * time.Second, maxOpenFor: 20 * time.Minute,
		forgetAfter: 20 * time.Minute,
	}, Options{}.Rules())

	long := Options{OpenFor: time.Hour}.Rules()
	assert.Equal(t, time.Hour, long.maxOpenFor, "an opening longer than the default bound raises the bound")
	short := Options{MaxOpenFor: time.Second}.Rules()
	assert.Equal(t, time.Second, short.openFor, "a bound below the default opening lowers the opening")
	assert.Equal(t, Options{}.Rules(), Options{ReadFailures: -1, FailureRate: -1, OpenFor: -1}.Rules())
}

func TestStrings(t *testing.T) {
	assert.Equal(t, "HealthyTentative", HealthyTentative.String())
	assert.Equal(t, "State(unknown)", State(9).String())
	assert.Equal(t, "SlowWin", SlowWin.String())
	assert.Equal(t, "Event(unknown)", Event(99).String())
	assert.Equal(t, "probe succeeded", ProbeSucceeded.String())
	assert.Equal(t, "Cause(unknown)", Cause(99).String())
}
