package emulator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// Emulator is an emulator or account that has answered. All tests of a binary share one: it is read, not changed, and safe for
// concurrent use.
type Emulator struct {
	// Endpoint is "scheme://host[:port]", without a slash at the end.
	Endpoint string

	// Key is the account key in base64, as azcosmos.NewKeyCredential takes it.
	Key string

	// Capabilities says what the emulator can do.
	Capabilities Capabilities

	// External is whether the environment named it: it may hold other people's data, and it is not started or stopped here.
	External bool

	client *http.Client
	server *process // nil when External
}

// HTTPClient returns the client to reach the emulator with. It is shared, keeps its connections, has no time limit of its
// own, and checks no certificate if the settings say so. It fits azcosmos.ClientOptions.Transport.
func (e *Emulator) HTTPClient() *http.Client { return e.client }

// Start returns the emulator of this test binary, and starts it on the first call.
//
// A test that can have none is skipped with the reason in one line: no Node, or no way to install. With
// COSMOS_EMULATOR=required it fails. It always fails when the environment cannot be used, when an endpoint that was named does
// not answer within half a minute, and when the emulator is there but does not work.
//
// The first call takes about 20 s where the emulator has never been installed, and half a second elsewhere. It must not come from inside a
// synctest bubble, for it starts goroutines that last. Start is safe for concurrent use.
func Start(tb testing.TB) *Emulator {
	tb.Helper()
	s, err := settingsFrom(os.Getenv)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := shared()
	switch decide(err, s.required) {
	case skip:
		tb.Skipf("emulator tests are skipped: %v (%s=required makes this a failure)", err, envMode)
	case fail:
		tb.Fatalf("emulator: %v", err)
	}
	if err := e.server.failed(); err != nil {
		tb.Fatalf("emulator: %v", err)
	}
	return e
}

// The verdicts of decide.
type verdict int

const (
	run verdict = iota
	skip
	fail
)

// unavailableError says why there can be no emulator on this machine: the one reason to skip.
type unavailableError struct{ reason string }

func (e *unavailableError) Error() string { return e.reason }

// decide says what becomes of a test, given why there is no emulator (nil: there is one) and whether one is required.
func decide(err error, required bool) verdict {
	_, unavailable := errors.AsType[*unavailableError](err)
	switch {
	case err == nil:
		return run
	case unavailable && !required:
		return skip
	default:
		return fail
	}
}

// shared makes the emulator of this binary, once; later calls return the same, or the same error.
var shared = sync.OnceValues(func() (*Emulator, error) {
	s, err := settingsFrom(os.Getenv)
	if err != nil {
		return nil, err
	}
	// Installing is the slow part; the rest takes a second.
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	return start(ctx, s)
})

// start finds or starts the emulator that the settings ask for, waits until it answers, and asks what it can do.
func start(ctx context.Context, s settings) (*Emulator, error) {
	e := &Emulator{Endpoint: s.endpoint, Key: s.key, External: s.endpoint != "", client: newHTTPClient(s.insecure)}
	if !e.External {
		server, err := startServer(ctx)
		if err != nil {
			return nil, err
		}
		e.server, e.Endpoint = server, server.endpoint
	}
	var err error
	if e.Capabilities, err = probe(ctx, wire{endpoint: e.Endpoint, key: e.Key, client: e.client}); err != nil {
		e.server.stop()
		return nil, fmt.Errorf("%s: %w", e.Endpoint, err)
	}
	return e, nil
}

// startServer installs the pinned server if need be, and starts it.
func startServer(ctx context.Context) (*process, error) {
	node, npm, err := findNode()
	if err != nil {
		return nil, err
	}
	dir, err := install(ctx, npm)
	if err != nil {
		return nil, err
	}
	return launch(ctx, node, dir)
}

// newHTTPClient returns a client with as many idle connections as the tests have goroutines, give or take.
func newHTTPClient(insecure bool) *http.Client {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        100,
		MaxIdleConnsPerHost: 100,
		IdleConnTimeout:     90 * time.Second,
	}
	if insecure {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // settings allow it for loopback or when told so
	}
	return &http.Client{Transport: t}
}
