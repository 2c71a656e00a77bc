package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// way is one of the ways into the gateway.
type way struct {
	name     string
	endpoint func(region string) string
	send     func(*http.Request) (*http.Response, error)
	h2       bool
}

// everyWay runs a test over memory, HTTP/1.1 and HTTP/2, each with an account of its own.
func everyWay(t *testing.T, o gateway.Options, f func(t *testing.T, g *gateway.Gateway, s *gateway.Store, w way)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		g, s := account(t, o)
		f(t, g, s, way{"memory", g.RegionEndpoint, g.Transport().Do, true})
	})
	for name, p := range map[string]gateway.Protocol{"h1": gateway.HTTP1, "h2": gateway.TLSHTTP2} {
		t.Run(name, func(t *testing.T) {
			g, s := account(t, o)
			l, err := g.Listen(p)
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
			f(t, g, s, way{name, l.RegionEndpoint, l.Client().Do, p == gateway.TLSHTTP2})
		})
	}
}

// request is an upsert of item "1" with key "a", or a read of it.
func (w way) request(t *testing.T, region, method string) *http.Request {
	t.Helper()
	path, body := "dbs/db/colls/items/docs", io.Reader(strings.NewReader(string(doc("1", "a", 1))))
	if method == http.MethodGet {
		path, body = path+"/1", nil
	}
	r, err := http.NewRequestWithContext(t.Context(), method, w.endpoint(region)+path, body)
	require.NoError(t, err)
	r.Header.Set("x-ms-documentdb-partitionkey", `["a"]`)
	r.Header.Set("x-ms-documentdb-is-upsert", "True")
	r.Header.Set("x-ms-activity-id", "activity")
	return r
}

// status sends a request that has to be answered.
func (w way) status(t *testing.T, region, method string) string {
	t.Helper()
	resp, err := w.send(w.request(t, region, method))
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	return fmt.Sprintf("%d/%s", resp.StatusCode, resp.Header.Get("x-ms-substatus"))
}

// fail is the error of an exchange that is to have none but an error.
func fail(resp *http.Response, err error) error {
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// wasReset recognises a reset connection. The system reports a reset to one call only; if that was a write of net/http's HTTP/2
// (an acknowledgement of settings), the read that the caller hears of finds an end of file.
func wasReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isStreamError recognises net/http's unexported HTTP/2 stream error, and the gateway's, by shape.
func isStreamError(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		if v.Kind() == reflect.Struct && v.FieldByName("StreamID").IsValid() && v.FieldByName("Code").IsValid() && v.FieldByName("Cause").IsValid() {
			return true
		}
	}
	return false
}

// TestBrokenConnections: each way of breaking looks to the client like net/http's own error for it, and what is said to be
// executed is.
func TestBrokenConnections(t *testing.T) {
	refused := func(err error) bool {
		var op *net.OpError
		return errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op) && op.Op == "dial"
	}
	closed := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
	resetH1 := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
	stream := func(err error) bool {
		return isStreamError(err) && strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer")
	}
	for _, row := range []struct {
		kind     gateway.Kind
		executed bool
		looks    func(error) bool
		overH1   func(error) bool // nil: the same
	}{
		{gateway.Refuse, false, refused, nil},
		{gateway.Reset, false, wasReset, resetH1},
		{gateway.Close, false, closed, nil},
		{gateway.StreamReset, false, stream, closed},
		{gateway.Lost, true, wasReset, resetH1},
		{gateway.LostStream, true, stream, closed},
	} {
		t.Run(row.kind.String(), func(t *testing.T) {
			everyWay(t, gateway.Options{}, func(t *testing.T, g *gateway.Gateway, s *gateway.Store, w way) {
				f := g.Inject(gateway.Rule{Kind: row.kind, Operations: []string{"write"}})
				err := fail(w.send(w.request(t, "North Central US", http.MethodPost)))
				var wrapped *url.Error
				require.ErrorAs(t, err, &wrapped)
				assert.Equal(t, "Post", wrapped.Op)
				looks := row.looks
				if row.overH1 != nil && !w.h2 {
					looks = row.overH1
				}
				assert.True(t, looks(err), "%v", err)
				assert.Equal(t, 1, f.Hits())
				e := g.Log()[0]
				assert.Equal(t, row.kind.String(), e.Fault)
				assert.Equal(t, row.executed, e.Executed)
				assert.Len(t, s.Executions("items", "1"), map[bool]int{true: 1}[row.executed])
				f.Remove()
				assert.Equal(t, map[bool]string{false: "201/", true: "200/"}[row.executed], w.status(t, "North Central US", http.MethodPost))
			})
		})
	}
}

// TestHang: the request ends with its context, and the log knows that the client went away.
func TestHang(t *testing.T) {
	everyWay(t, gateway.Options{}, func(t *testing.T, g *gateway.Gateway, _ *gateway.Store, w way) {
		w.status(t, "West US", http.MethodGet) // connects
		g.ResetLog()
		g.Inject(gateway.Rule{Kind: gateway.Hang, Region: "West US"})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		err := fail(w.send(w.request(t, "West US", http.MethodGet).WithContext(ctx)))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		settle(t, g)
		require.True(t, g.Log()[0].Cancelled)
		require.Equal(t, []string{"West US read hang"}, g.Sequence())
	})
}

// settle waits until the server has seen that its clients are gone.
func settle(t *testing.T, g *gateway.Gateway) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		if now, _ := g.InFlight(); now == 0 {
			return
		}
		<-tick.C
	}
	t.Fatal("requests are still in flight")
}

// TestSlowWriteIsExecuted: a client that gives up on a slow write does not undo it.
func TestSlowWriteIsExecuted(t *testing.T) {
	everyWay(t, gateway.Options{}, func(t *testing.T, g *gateway.Gateway, s *gateway.Store, w way) {
		w.status(t, "North Central US", http.MethodGet) // connects
		g.ResetLog()
		g.Inject(gateway.Rule{Kind: gateway.Slow, Delay: time.Hour, Operations: []string{"upsert"}})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := fail(w.send(w.request(t, "North Central US", http.MethodPost).WithContext(ctx)))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		settle(t, g)
		require.Len(t, s.Executions("", ""), 1)
		e := g.Log()[0]
		require.True(t, e.Executed && e.Cancelled)
	})
}

// TestDownAndUp: a region that is down refuses, resets what is in flight, and comes back.
func TestDownAndUp(t *testing.T) {
	everyWay(t, gateway.Options{}, func(t *testing.T, g *gateway.Gateway, _ *gateway.Store, w way) {
		require.Equal(t, "404/", w.status(t, "West US", http.MethodGet))
		g.Inject(gateway.Rule{Kind: gateway.Hang, Region: "West US", Hits: 1})
		failed, r := make(chan error, 1), w.request(t, "West US", http.MethodPost)
		go func() { failed <- fail(w.send(r)) }()
		for now := 0; now == 0; {
			now, _ = g.InFlight()
		}
		g.Down("westus")
		err := <-failed
		require.True(t, wasReset(err), "%v", err)
		err = fail(w.send(w.request(t, "West US", http.MethodGet)))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.Equal(t, "404/", w.status(t, "Central US", http.MethodGet))
		g.Up("West US")
		require.Equal(t, "404/", w.status(t, "West US", http.MethodGet))
		require.Equal(t, []string{
			"West US read 404/0", "West US upsert hang", "West US read down", "Central US read 404/0", "West US read 404/0",
		}, g.Sequence())
	})
}

// TestStatusRule: status, sub-status, headers and body of a rule reach the client, and nothing is executed.
func TestStatusRule(t *testing.T) {
	everyWay(t, gateway.Options{}, func(t *testing.T, g *gateway.Gateway, s *gateway.Store, w way) {
		g.Inject(gateway.Rule{Status: 429, SubStatus: 3200, Header: map[string]string{"x-ms-retry-after-ms": "10"}, Operations: []string{"write"}})
		g.Inject(gateway.Rule{Status: 503, Body: "<html>"})
		resp, err := w.send(w.request(t, "North Central US", http.MethodPost))
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, 429, resp.StatusCode)
		require.Equal(t, "3200", resp.Header.Get("x-ms-substatus"))
		require.Equal(t, "10", resp.Header.Get("x-ms-retry-after-ms"))
		require.Equal(t, "activity", resp.Header.Get("x-ms-activity-id"))
		require.Contains(t, string(body), `"code":"TooManyRequests"`)
		resp, err = w.send(w.request(t, "North Central US", http.MethodGet))
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "<html>", string(body))
		require.Empty(t, s.Executions("", ""))
	})
}

// TestNewRegionWhileListening: a region that the account gets is reachable on open listeners; after Close nothing is.
func TestNewRegionWhileListening(t *testing.T) {
	g, _ := account(t, gateway.Options{Regions: []string{"East US"}})
	l, err := g.Listen(gateway.HTTP1)
	require.NoError(t, err)
	w := way{endpoint: l.RegionEndpoint, send: l.Client().Do}
	require.ErrorContains(t, fail(w.send(w.request(t, "UK South", http.MethodGet))), "no such host")
	require.Empty(t, l.Address("UK South"))
	g.SetRegions("East US", "UK South")
	require.Equal(t, "404/", w.status(t, "UK South", http.MethodGet))
	require.NotEmpty(t, l.Address("UK South"))
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, fail(w.send(w.request(t, "UK South", http.MethodGet))), syscall.ECONNREFUSED)
}
