package emulator

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoNodeIsSaid(t *testing.T) {
	t.Setenv("PATH", "")
	_, _, err := findNode()
	require.EqualError(t, err, "Node.js is not installed")
	assert.Equal(t, skip, decide(err, false))
	assert.Equal(t, fail, decide(err, true))
}

func TestNoNPMIsSaid(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node"), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node.exe"), nil, 0o755))
	t.Setenv("PATH", dir)
	_, _, err := findNode()
	require.EqualError(t, err, "npm is not installed")
	assert.Equal(t, skip, decide(err, false))
}

func TestFailedInstallIsAReasonToSkip(t *testing.T) {
	npm := filepath.Join(t.TempDir(), "npm")
	require.NoError(t, os.WriteFile(npm, []byte("#!/bin/sh\necho no network >&2\nexit 7\n"), 0o755))
	err := npmInstall(t.Context(), npm, t.TempDir())
	require.EqualError(t, err, "npm ci: exit status 7: no network")
	assert.Equal(t, skip, decide(err, false))
}

func TestInstallIsDoneOnce(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "not", "yet", "there")
	fills := 0
	fill := func(_ context.Context, dir string) error {
		fills++
		return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600)
	}
	for range 2 {
		dir, err := installInto(t.Context(), cache, "name", fill)
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(cache, "name"), dir)
		assert.FileExists(t, filepath.Join(dir, "file"))
	}
	assert.Equal(t, 1, fills)
	assertEntries(t, cache, "name")
}

// Two test binaries that both find nothing installed both install, and both get a complete folder.
func TestInstallTwiceAtOnce(t *testing.T) {
	cache := t.TempDir()
	var bothFilling, done sync.WaitGroup
	bothFilling.Add(2)
	for range 2 {
		done.Go(func() {
			dir, err := installInto(t.Context(), cache, "name", func(_ context.Context, dir string) error {
				bothFilling.Done()
				bothFilling.Wait()
				return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600)
			})
			assert.NoError(t, err)
			assert.FileExists(t, filepath.Join(dir, "file"))
		})
	}
	done.Wait()
	assertEntries(t, cache, "name")
}

func TestFailedInstallLeavesNothing(t *testing.T) {
	cache := t.TempDir()
	broken := errors.New("broken")
	_, err := installInto(t.Context(), cache, "name", func(context.Context, string) error { return broken })
	require.ErrorIs(t, err, broken)
	assertEntries(t, cache)
}

func assertEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.ElementsMatch(t, want, names)
}

func TestFingerprintFollowsContents(t *testing.T) {
	of := func(fsys fstest.MapFS) string {
		s, err := fingerprint(fsys)
		require.NoError(t, err)
		return s
	}
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	base := of(fstest.MapFS{"a": file("1"), "b": file("2")})
	assert.Len(t, base, 16)
	assert.Equal(t, base, of(fstest.MapFS{"b": file("2"), "a": file("1")}))
	assert.NotEqual(t, base, of(fstest.MapFS{"a": file("1"), "b": file("3")}))
	assert.NotEqual(t, base, of(fstest.MapFS{"a": file("1"), "c": file("2")}))
	assert.NotEqual(t, base, of(fstest.MapFS{"a": file("1")}))
}

func TestLockFilePinsContentsNotPlaces(t *testing.T) {
	data, err := pinned.ReadFile("server/package-lock.json")
	require.NoError(t, err)
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	require.NoError(t, json.Unmarshal(data, &lock))
	assert.Equal(t, "1.0.1", lock.Packages["node_modules/@vercel/cosmosdb-server"].Version)
	for path, p := range lock.Packages {
		assert.Empty(t, p.Resolved, path)
		if path != "" { // "" is our own
			assert.True(t, strings.HasPrefix(p.Integrity, "sha512-"), "%s: %q", path, p.Integrity)
		}
	}
}
