package emulator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const envChild = "AZCOSMOS_HA_EMULATOR_CHILD"

// TestMain lets the binary play a test binary that starts the emulator and is then killed.
func TestMain(m *testing.M) {
	if os.Getenv(envChild) == "" {
		os.Exit(m.Run())
	}
	e, err := shared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(e.Endpoint)
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
}

// own starts the test's emulator if it is one of ours.
func own(t *testing.T) *Emulator {
	t.Helper()
	e := Start(t)
	if e.External {
		t.Skip("the emulator is not ours to stop")
	}
	return e
}

func TestServerEndsWithItsTestBinary(t *testing.T) {
	own(t) // installed, and to be had
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), envChild+"=1")
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	u, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)

	// The kernel closes this connection when the server ends: an event to wait for.
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait(), "it was killed")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server is still there")
}

func TestServerEndsWithItsInput(t *testing.T) {
	own(t)
	p, err := startServer(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.failed())
	require.NoError(t, p.stdin.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		t.Fatal("the server is still there")
	}
	require.ErrorContains(t, p.failed(), "the server has ended")
}

func TestStopEndsTheServer(t *testing.T) {
	own(t)
	p, err := startServer(t.Context())
	require.NoError(t, err)
	p.stop()
	require.Error(t, p.failed())
	p.stop() // again is harmless
}

// script makes a folder whose server is the given shell script, and returns what to run it with.
func script(t *testing.T, body string) (sh, dir string) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "server.cjs"), []byte(body), 0o600))
	return sh, dir
}

func TestServerThatDoesNotStart(t *testing.T) {
	sh, dir := script(t, "echo 'cannot find module' >&2; exit 3")
	_, err := launch(t.Context(), sh, dir)
	require.EqualError(t, err, `start: the server did not say its port but "": cannot find module`)

	sh, dir = script(t, "echo hello; exec cat")
	_, err = launch(t.Context(), sh, dir)
	require.ErrorContains(t, err, `did not say its port but "hello\n"`)

	_, err = launch(t.Context(), filepath.Join(dir, "nothing"), dir)
	require.ErrorContains(t, err, "start: ")
	assert.Equal(t, fail, decide(err, false))
}

func TestServerThatHangs(t *testing.T) {
	sh, dir := script(t, "trap '' TERM; exec sleep 60 </dev/null")
	gone, giveUp := context.WithCancelCause(t.Context())
	giveUp(errors.New("time is up"))
	_, err := launch(gone, sh, dir)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoProcessNeverFails(t *testing.T) {
	var p *process
	require.NoError(t, p.failed())
	p.stop()
}

func TestTailKeepsTheEnd(t *testing.T) {
	var kept tail
	for i := range 2000 {
		n, err := fmt.Fprintf(&kept, "%04d\n", i)
		require.NoError(t, err)
		require.Equal(t, 5, n)
	}
	assert.Len(t, kept.String(), 4096)
	assert.True(t, strings.HasSuffix(kept.String(), "1998\n1999\n"))
}
