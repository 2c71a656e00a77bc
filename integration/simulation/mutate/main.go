// Command mutate shows that the simulation finds faults: it plants those of
// integration/simulation/mutations in copies of the module, one at a time, and
// runs worlds until one fails.
//
//	go run ./integration/simulation/mutate [-worlds 2000] [-only NAME] [-repo .]
//
// It prints a line for each: found, after how many worlds and by which
// invariant, or NOT FOUND, and ends with status 1 if one was not found.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

func main() {
	worlds := flag.Int("worlds", 2000, "how many worlds each may take")
	only := flag.String("only", "", "the name of one mutation; all of them if empty")
	repo := flag.String("repo", ".", "the module")
	flag.Parse()
	missed, err := run(os.Stdout, *repo, *only, *worlds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || missed > 0 {
		os.Exit(1)
	}
}

// run plants every fault and returns how many were not found.
func run(out io.Writer, repo, only string, worlds int) (missed int, err error) {
	list, err := simulation.ReadMutations(filepath.Join(repo, "integration", "simulation", "mutations"))
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(repo, dir); err != nil {
		return 0, err
	}
	for _, m := range list {
		if only != "" && m.Name != only {
			continue
		}
		verdict, found, err := plant(dir, m, worlds)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", m.Name, err)
		}
		if !found {
			missed++
		}
		fmt.Fprintf(out, "%-28s %s\n", m.Name, verdict)
	}
	return missed, nil
}

// copyModule copies what the tests of the simulation need.
func copyModule(from, to string) error {
	for _, name := range []string{"go.mod", "go.sum", "breaker", "hedge", "internal", "policy", "ppaf", "regions", "telemetry", "integration"} {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		info, err := os.Stat(source)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = os.CopyFS(target, os.DirFS(source))
		default:
			err = copyFile(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// plant puts one fault into the copy, runs worlds, and takes it out again.
func plant(dir string, m simulation.Mutation, worlds int) (verdict string, found bool, err error) {
	path := filepath.Join(dir, filepath.FromSlash(m.File))
	before, err := os.ReadFile(path)
	if err != nil {
		return "", false, err
	}
	after, err := m.Apply(string(before))
	if err != nil {
		return "", false, err
	}
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		return "", false, err
	}
	defer func() { err = cmp.Or(err, os.WriteFile(path, before, 0o600)) }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	c := exec.CommandContext(ctx, "go", "test", "./integration/simulation", "-run", "^TestWorlds$", "-failures", "1", "-shrink", "0",
		"-keep", filepath.Join(dir, "kept"), "-worlds", strconv.Itoa(worlds))
	c.Dir = dir
	output, failed := c.CombinedOutput()
	return judge(string(output), failed != nil, time.Since(began))
}

var (
	failing   = regexp.MustCompile(`(?m)seed (\d+):\n((?:.+\n)+)`)
	invariant = regexp.MustCompile(`(?m)^ {8}([a-z][^:\n]+): `)
)

// judge reads how the worlds went. A copy that does not compile is an error.
func judge(output string, failed bool, took time.Duration) (verdict string, found bool, err error) {
	switch {
	case !failed:
		return "NOT FOUND", false, nil
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return "", false, fmt.Errorf("it does not compile:\n%s", output)
	}
	world := failing.FindStringSubmatch(output)
	if world == nil {
		return "found: the run ended", true, nil // by a panic, or the test's time
	}
	var names []string
	for _, m := range invariant.FindAllStringSubmatch(world[2], -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return fmt.Sprintf("found in world %s, after %v: %s", world[1], took.Round(time.Second), strings.Join(names, "; ")), true, nil
}
