package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

// TestJudge reads the outputs that the worlds can have.
func TestJudge(t *testing.T) {
	failing := "--- FAIL: TestWorlds (1.00s)\n    simulation_test.go:37: seed 81:\n" +
		"        nothing outlives its request: a: b\n            \t04:05 x\n        attempts are bounded: 3\n    simulation_test.go:60: kept: /x\nFAIL\n"
	for _, c := range []struct {
		name, output string
		failed       bool
		verdict      string
		found        bool
	}{
		{"clean", "ok\n", false, "NOT FOUND", false},
		{"broken invariants", failing, true, "found in world 81, after 2s: nothing outlives its request; attempts are bounded", true},
		{"a panic", "panic: x\n", true, "found: the run ended", true},
	} {
		verdict, found, err := judge(c.output, c.failed, 2*time.Second)
		require.NoError(t, err, c.name)
		require.Equal(t, c.verdict, verdict, c.name)
		require.Equal(t, c.found, found, c.name)
	}
	_, _, err := judge("FAIL x [build failed]\n", true, 0)
	require.Error(t, err, "a fault that does not compile proves nothing")
}

// TestCopy copies the module as far as it is needed.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, copyModule(filepath.Join("..", "..", ".."), dir))
	list, err := simulation.ReadMutations(filepath.Join(dir, "integration", "simulation", "mutations"))
	require.NoError(t, err)
	for _, m := range list {
		require.FileExists(t, filepath.Join(dir, m.File))
	}
}
