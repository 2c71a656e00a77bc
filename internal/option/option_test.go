package option_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/internal/option"
)

func TestFirst(t *testing.T) {
	kept := option.NotNegative("Kept", 0)
	for _, c := range []struct {
		name   string
		checks []option.Check
		want   string // "" is nil
	}{
		{"none", nil, ""},
		{"zero", []option.Check{option.NotNegative("F", 0), option.NotNegative("G", 0.0), option.NotNegative("H", time.Duration(0))}, ""},
		{"not a number", []option.Check{option.NotNegative("F", math.NaN())}, ""},
		{"number", []option.Check{option.NotNegative("F", -1)}, "part: F must not be negative, got -1"},
		{"fraction", []option.Check{option.NotNegative("F", -0.5)}, "part: F must not be negative, got -0.5"},
		{"duration", []option.Check{option.NotNegative("F", -time.Minute)}, "part: F must not be negative, got -1m0s"},
		{"that", []option.Check{option.That(false, "F", 12, "must be at most 11")}, "part: F must be at most 11, got 12"},
		{"that is kept", []option.Check{option.That(true, "F", 11, "must be at most 11")}, ""},
		{"text", []option.Check{option.That(false, "F", " \t", "must be a name")}, `part: F must be a name, got " \t"`},
		{"the first one", []option.Check{kept, option.NotNegative("F", -1), option.NotNegative("G", -2)}, "part: F must not be negative, got -1"},
		{"the last one", []option.Check{kept, kept, option.NotNegative("G", -2)}, "part: G must not be negative, got -2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := option.First("part", c.checks...)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

func TestErrorHoldsTheValue(t *testing.T) {
	var err *option.Error
	require.ErrorAs(t, option.First("part", option.NotNegative("F", -time.Second)), &err)
	assert.Equal(t, &option.Error{Of: "part", Field: "F", Value: -time.Second, Rule: "must not be negative"}, err)
}
