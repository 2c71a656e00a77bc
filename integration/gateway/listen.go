package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Protocol is what a [Listening] speaks.
type Protocol int

// The protocols. HTTP/2 exists over TLS only, as at the service.
const (
	HTTP1    Protocol = iota // HTTP/1.1 without TLS, on names with the scheme http and port 80
	TLSHTTP2                 // HTTP/2 over TLS, on names with the scheme https and port 443
)

// Listening is a set of loopback listeners, one for each endpoint. Its names resolve in the clients of [Listening.Client] only.
// All methods are safe for concurrent use.
type Listening struct {
	g        *Gateway
	protocol Protocol
	tls      *tls.Config // nil for HTTP/1.1
	nowhere  string      // an address where nothing listens
	serving  sync.WaitGroup

	mu      sync.Mutex // guards all below
	doors   map[string]*door
	clients []*http.Transport
	closed  bool
}

// door is one endpoint: a listener that can go and come back, and the server behind it.
type door struct {
	host     string
	server   *http.Server
	listener net.Listener // nil while the endpoint is down
	address  string       // the last one, where nothing listens while the endpoint is down

	mu    sync.Mutex // guards all below
	conns map[net.Conn]struct{}
	down  bool
}

// Listen opens listeners on 127.0.0.1 for the global endpoint and for every region that the account has or gets. Close it.
func (g *Gateway) Listen(p Protocol) (*Listening, error) {
	l := &Listening{g: g, protocol: p, doors: map[string]*door{}}
	if p == TLSHTTP2 {
		id, err := tlsIdentity()
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		l.tls = &tls.Config{Certificates: []tls.Certificate{id.certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.nowhere = probe.Addr().String()
	probe.Close()
	if err := l.openAll(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	g.mu.Lock()
	g.open = append(g.open, l)
	g.mu.Unlock()
	return l, nil
}

// openAll opens a door for every host that has none.
func (l *Listening) openAll() error {
	l.g.mu.Lock()
	hosts, down := slices.Sorted(maps.Keys(l.g.hosts)), maps.Clone(l.g.down)
	l.g.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, host := range hosts {
		if l.closed || l.doors[host] != nil {
			continue
		}
		d := &door{host: host, address: "127.0.0.1:0", conns: map[net.Conn]struct{}{}}
		d.server = &http.Server{
			Handler: l.handler(host), TLSConfig: l.tls.Clone(), ErrorLog: log.New(io.Discard, "", 0),
			ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
			ConnState:   d.track,
		}
		l.doors[host] = d
		if err := l.open(d); err != nil {
			return err
		}
		if down[host] {
			d.shut()
		}
	}
	return nil
}

// open starts to listen, on the door's last address if it can be had. l.mu is held.
func (l *Listening) open(d *door) error {
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("listen for %s: %w", d.host, err)
		}
	}
	d.listener, d.address = listener, listener.Addr().String()
	d.mu.Lock()
	d.down = false
	d.mu.Unlock()
	l.serving.Go(func() {
		// Both end with an error when the door is shut: that is how they end.
		if l.tls != nil {
			_ = d.server.ServeTLS(listener, "", "")
			return
		}
		_ = d.server.Serve(listener)
	})
	return nil
}

// track keeps the open connections of a door.
func (d *door) track(c net.Conn, state http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch state {
	case http.StateNew:
		d.conns[c] = struct{}{}
		if d.down { // accepted just before the listener was closed
			reset(c)
		}
	case http.StateClosed, http.StateHijacked:
		delete(d.conns, c)
	}
}

// shut closes the listener and resets what is open. The Listening's lock is held.
func (d *door) shut() {
	if d.listener != nil {
		d.listener.Close()
		d.listener = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = true
	for c := range d.conns {
		reset(c)
	}
}

// extend opens doors for new regions; one that cannot be opened refuses its clients.
func (l *Listening) extend() { _ = l.openAll() }

// down shuts an endpoint for [Gateway.Down].
func (l *Listening) down(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.doors[host]; d != nil {
		d.shut()
	}
}

// up opens it again, on the same port if nobody else has taken it.
func (l *Listening) up(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.doors[host]; d != nil && d.listener == nil && !l.closed {
		_ = l.open(d) // an endpoint that cannot be opened goes on refusing
	}
}

// Close shuts all doors and resets their connections. It returns when nothing can come in any more. Closing twice is harmless.
func (l *Listening) Close() error {
	l.g.mu.Lock()
	l.g.open = slices.DeleteFunc(l.g.open, func(o *Listening) bool { return o == l })
	l.g.mu.Unlock()
	l.mu.Lock()
	l.closed = true
	for _, d := range l.doors {
		d.shut()
		d.server.Close()
	}
	for _, t := range l.clients {
		t.CloseIdleConnections()
	}
	l.mu.Unlock()
	l.serving.Wait()
	return nil
}

// scheme is the one of all endpoints: azcosmos changes hosts only, never the scheme.
func (l *Listening) scheme() string {
	if l.protocol == HTTP1 {
		return "http"
	}
	return "https"
}

// Endpoint is the global endpoint in the scheme of the listeners, which the account's regions have too.
func (l *Listening) Endpoint() string { return address(l.scheme(), l.g.host(Global)) }

// RegionEndpoint is the endpoint of a region in the scheme of the listeners.
func (l *Listening) RegionEndpoint(region string) string {
	return address(l.scheme(), l.g.host(region))
}

// Address is the loopback address of an endpoint, for clients that cannot resolve its name; "" for an unknown region.
func (l *Listening) Address(region string) string {
	return l.addressOf(l.g.host(region))
}

// addressOf is where a host's listener is, or was; "" for an unknown host.
func (l *Listening) addressOf(host string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.doors[host]; d != nil {
		return d.address
	}
	return ""
}

// connKey is the context key of a request's connection.
type connKey struct{}

// reset closes a connection with RST.
func reset(c net.Conn) {
	if t := tcp(c); t != nil {
		_ = t.SetLinger(0) // it fails on a closed connection only
		t.Close()
	}
}

// tcp is the connection under TLS.
func tcp(c net.Conn) *net.TCPConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	t, _ := c.(*net.TCPConn)
	return t
}

// handler serves one endpoint.
func (l *Listening) handler(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client went away in the middle of its request
		}
		c := newCall(r, body)
		c.host, c.scheme, c.proto = host, l.scheme(), r.Proto
		c.region, _ = l.g.regionOf(host)
		out := l.g.exchange(r.Context(), c, func(k Kind) bool { return k != Refuse })
		if out.answer == nil {
			breakOff(r, out)
		}
		maps.Copy(w.Header(), out.answer.Header)
		w.WriteHeader(out.answer.Status)
		_, _ = w.Write(out.answer.Body) // if it fails, the client has gone away
	})
}

// breakOff ends a request without an answer. It does not return: the panic is net/http's way to abort, which under HTTP/2 resets
// the stream with INTERNAL_ERROR and under HTTP/1.1 closes the connection.
func breakOff(r *http.Request, out outcome) {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	if t := tcp(c); t != nil && out.err == nil {
		switch out.broken {
		case Reset:
			reset(c)
		case Close:
			_ = t.CloseWrite() // FIN; the client closes the rest
		}
	}
	panic(http.ErrAbortHandler)
}
