package emulator

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pinned is what is installed: the lock file pins every package by its hash.
//
//go:embed server/package.json server/package-lock.json server/server.cjs
var pinned embed.FS

// findNode looks for Node and its package manager.
func findNode() (node, npm string, err error) {
	if node, err = exec.LookPath("node"); err != nil {
		return "", "", &unavailableError{"Node.js is not installed"}
	}
	if npm, err = exec.LookPath("npm"); err != nil {
		return "", "", &unavailableError{"npm is not installed"}
	}
	return node, npm, nil
}

// install returns the folder with the installed server, and fills it if this is the first time. Several test binaries may do
// so at once: each installs beside the folder, the first one to be ready renames its own into place, and the others take that.
func install(ctx context.Context, npm string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &unavailableError{"there is no folder to install it in: " + err.Error()}
	}
	cache = filepath.Join(cache, "azcosmos-ha")
	version, err := fingerprint(pinned)
	if err != nil {
		return "", err
	}
	return installInto(ctx, cache, "cosmosdb-server-"+version, func(ctx context.Context, dir string) error {
		return npmInstall(ctx, npm, dir)
	})
}

// installInto returns cache/name, made by fill unless it is there. What is there is complete, for it was renamed into place.
func installInto(ctx context.Context, cache, name string, fill func(ctx context.Context, dir string) error) (string, error) {
	dir := filepath.Join(cache, name)
	if isDir(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", &unavailableError{"there is no folder to install it in: " + err.Error()}
	}
	draft, err := os.MkdirTemp(cache, "installing-*")
	if err != nil {
		return "", &unavailableError{"there is no folder to install it in: " + err.Error()}
	}
	defer os.RemoveAll(draft) // fails when it was renamed, as it should be
	if err := fill(ctx, draft); err != nil {
		return "", err
	}
	if err := os.Rename(draft, dir); err != nil && !isDir(dir) {
		return "", fmt.Errorf("install: %w", err)
	}
	return dir, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// npmInstall writes the pinned files to dir and has npm fetch what they name. No package runs a script of its own.
func npmInstall(ctx context.Context, npm, dir string) error {
	files, err := fs.Sub(pinned, "server")
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second // a helper of npm's must not keep the output open when time is up
	if out, err := cmd.CombinedOutput(); err != nil {
		return &unavailableError{oneLine(fmt.Sprintf("npm ci: %v: %s", err, out))}
	}
	return nil
}

// fingerprint names the contents of all files in fsys, and their paths.
func fingerprint(fsys fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

// oneLine puts a program's output on a line that fits a test's log.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
