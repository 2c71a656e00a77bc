package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// costsOf are costs with given ratios and allocations of ours.
func costsOf(off, armed, objectsOff, objectsArmed float64) []cost {
	return []cost{{ratio: 1, objects: 190}, {whole: off, objects: 190 + objectsOff}, {whole: armed, objects: 190 + objectsArmed}}
}

func TestCostPromises(t *testing.T) {
	for _, c := range []struct {
		name  string
		costs []cost
		kept  bool
	}{
		{"within", costsOf(1.019, 1.049, 8, 20), true},
		{"faster", costsOf(0.98, 0.99, 0, 0), true},
		{"off too slow", costsOf(1.03, 1.04, 8, 20), false},
		{"armed too slow", costsOf(1.01, 1.06, 8, 20), false},
		{"off allocates", costsOf(1.01, 1.04, 9, 20), false},
		{"armed allocates", costsOf(1.01, 1.04, 8, 21), false},
	} {
		assert.Equal(t, c.kept, kept(costPromises(c.costs)), c.name)
	}
}

func TestRetryCosts(t *testing.T) {
	good, bad := costsOf(1, 1, 0, 0), costsOf(2, 2, 0, 0)
	for _, c := range []struct {
		name     string
		first    []cost
		answers  [][]cost
		measured int
		kept     bool
	}{
		{"good at once", good, nil, 0, true},
		{"good at the second try", bad, [][]cost{bad, good}, 2, true},
		{"never good", bad, [][]cost{bad, bad, bad, good}, 3, false},
	} {
		measured := 0
		got, err := retryCosts(c.first, 3, func() ([]cost, error) {
			measured++
			return c.answers[measured-1], nil
		})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.measured, measured, c.name)
		assert.Equal(t, c.kept, kept(costPromises(got)), c.name)
	}
	broken := errors.New("broken")
	_, err := retryCosts(bad, 3, func() ([]cost, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
}

func TestScenarioPromises(t *testing.T) {
	sc := scenario{name: "503", atMost: 30 * time.Millisecond}
	for _, c := range []struct {
		name  string
		o     outcome
		slack time.Duration
		kept  bool
	}{
		{"in time", outcome{first: 30 * time.Millisecond}, 0, true},
		{"late", outcome{first: 31 * time.Millisecond}, 0, false},
		{"late within the slack", outcome{first: 31 * time.Millisecond}, time.Millisecond, true},
		{"lost one", outcome{first: time.Millisecond, lost: 1}, 0, false},
		{"failed what nobody could serve", outcome{first: time.Millisecond, failed: 1}, 0, true},
		{"no success", outcome{first: -1}, 0, false},
	} {
		c.o.contender = ours.name
		rival := outcome{contender: plain.name, lost: 9, first: -1}
		list := scenarioPromises("here", []block{{sc, []outcome{rival, c.o}}}, c.slack)
		require.Len(t, list, 1, "rivals promise nothing")
		assert.Equal(t, c.kept, list[0].kept, c.name)
	}
}

// TestLostWriteRegion: a second more than a round trip, not a request, and the promise says why.
func TestLostWriteRegion(t *testing.T) {
	at := slices.IndexFunc(scenarios(), func(sc scenario) bool { return sc.name == "write region lost" })
	require.GreaterOrEqual(t, at, 0)
	for _, c := range []struct {
		o    outcome
		kept bool
	}{
		{outcome{first: 1050 * time.Millisecond}, true},
		{outcome{first: 1051 * time.Millisecond}, false},
		{outcome{first: 50 * time.Millisecond, lost: 1}, false},
	} {
		c.o.contender = ours.name
		list := scenarioPromises("here", []block{{scenarios()[at], []outcome{c.o}}}, 0)
		assert.Equal(t, c.kept, list[0].kept, c.o)
		assert.Contains(t, list[0].text, "until the account may be read again")
	}
}

func TestSharePromises(t *testing.T) {
	list := sharePromises([]share{
		{lookup: lookup{limit: 0.01}, of: 0.01}, {lookup: lookup{limit: 0.01}, of: 0.011}, {lookup: lookup{limit: 0.01}, of: 0.001, objects: 1},
	})
	assert.True(t, list[0].kept)
	assert.False(t, list[1].kept)
	assert.False(t, list[2].kept)
}
