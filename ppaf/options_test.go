package ppaf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		options Options
		want    string
	}{
		{Options{}, ""},
		{Options{Mode: Off, Timeouts: 11, TimeoutWindow: 24 * time.Hour}, ""},
		{Options{Mode: 3}, "ppaf: Mode must be FromAccount, On or Off, got Mode(3)"},
		{Options{Timeouts: -1}, "ppaf: Timeouts must not be negative, got -1"},
		{Options{Timeouts: 12}, "ppaf: Timeouts must be at most 11, got 12"},
		{Options{TimeoutWindow: -time.Second}, "ppaf: TimeoutWindow must not be negative, got -1s"},
		{Options{TimeoutWindow: 25 * time.Hour}, "ppaf: TimeoutWindow must be at most 24h0m0s, got 25h0m0s"},
		{Options{Mode: 9, Timeouts: -1}, "ppaf: Mode must be FromAccount, On or Off, got Mode(9)"},
	} {
		err := tc.options.Validate()
		if tc.want == "" {
			assert.NoError(t, err)
			continue
		}
		var typed *OptionError
		require.ErrorAs(t, err, &typed)
		assert.EqualError(t, err, tc.want)
	}
}

func TestBadOptionsAreBroughtIntoRange(t *testing.T) {
	byDefault := limits{timeouts: 10, window: 60_000, slow: 300_000}
	assert.Equal(t, byDefault, Options{}.limits())
	assert.Equal(t, byDefault, Options{Timeouts: -3, TimeoutWindow: -time.Hour}.limits())
	day := int32(24 * time.Hour / time.Millisecond)
	assert.Equal(t, limits{timeouts: 11, window: day, slow: day}, Options{Timeouts: 99, TimeoutWindow: 99 * time.Hour}.limits())
}

func TestEnabled(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		mode Mode
		flag *bool
		want bool
	}{
		{FromAccount, nil, false},
		{FromAccount, &no, false},
		{FromAccount, &yes, true},
		{On, nil, true},
		{On, &no, true},
		{On, &yes, true},
		{Off, nil, false},
		{Off, &no, false},
		{Off, &yes, false},
		{Mode(9), &yes, false},
	} {
		assert.Equal(t, tc.want, Options{Mode: tc.mode}.Enabled(tc.flag), "%v", tc.mode)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"from_account", "on", "off", "Mode(3)"},
		[]string{FromAccount.String(), On.String(), Off.String(), Mode(3).String()})
	assert.Equal(t, []string{"no_answer", "timed_out", "other", "no_answer"},
		[]string{NoAnswer.String(), TimedOut.String(), Other.String(), Answer(99).String()})
	assert.Equal(t, []string{"none", "confirmation", "account", "none"},
		[]string{Cause(0).String(), ByConfirmation.String(), ByAccount.String(), Cause(99).String()})
}
