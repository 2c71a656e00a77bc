package emulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"sync"
)

// process is the server that this binary has started. A nil *process is an emulator of somebody else's: it never fails here.
type process struct {
	endpoint string
	cmd      *exec.Cmd
	stdin    io.Closer     // the server ends when this closes
	done     chan struct{} // closed when the server has ended
	stderr   *tail
}

// launch starts the server in dir and waits until it listens. The context bounds the wait only.
func launch(ctx context.Context, node, dir string) (*process, error) {
	// No context: the server outlives the call. It ends with its standard input.
	cmd := exec.Command(node, "server.cjs")
	p := &process{cmd: cmd, done: make(chan struct{}), stderr: &tail{}}
	cmd.Dir, cmd.Stderr = dir, p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}

	ready := make(chan string, 1)
	go func() {
		defer close(p.done)
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n') // without a line it has ended, and stderr says why
		ready <- line
		_, _ = io.Copy(io.Discard, lines) // a full pipe would stop the server
		_ = cmd.Wait()
	}()

	select {
	case line := <-ready:
		if p.endpoint, err = readyEndpoint(line); err == nil {
			return p, nil
		}
		p.stop()
		return nil, fmt.Errorf("start: %w: %s", err, oneLine(p.stderr.String()))
	case <-ctx.Done():
		p.stop()
		return nil, fmt.Errorf("start: %w: %s", ctx.Err(), oneLine(p.stderr.String()))
	}
}

// readyEndpoint reads the line by which the server says where it listens.
func readyEndpoint(line string) (string, error) {
	var said struct{ Port int }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Port == 0 {
		return "", fmt.Errorf("the server did not say its port but %q", line)
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(said.Port)), nil
}

// stop ends the server, even one that has stopped reading, and returns when it has ended. It has nothing to save.
func (p *process) stop() {
	if p == nil {
		return
	}
	p.stdin.Close()
	_ = p.cmd.Process.Kill()
	<-p.done
}

// failed returns why the server has ended, or nil while it runs.
func (p *process) failed() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return errors.New(oneLine("the server has ended: " + p.stderr.String()))
	default:
		return nil
	}
}

// tail keeps the end of what was written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	kept []byte // guarded by mu
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	const most = 4096
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-most):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
