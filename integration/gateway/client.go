package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"
)

// Client is a client whose dialer knows the names of the endpoints and whose connections are its own. It has azcosmos' default
// settings (5 s to connect, HTTP/2 pings) but no total timeout, no proxy, and trusts the listeners' authority.
//
// Rules of kind [Refuse] act here, before anything is sent, by dialling an address where nothing listens; other clients of the
// listeners do not see them. Attempts that [Gateway.Down] refuses are logged here too.
func (l *Listening) Client() *http.Client {
	t := &http.Transport{
		DialContext: l.dial, MaxIdleConns: 1000, MaxIdleConnsPerHost: 100, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: time.Second},
	}
	if l.tls != nil {
		id, _ := tlsIdentity() // Listen has it already
		t.TLSClientConfig = &tls.Config{RootCAs: id.roots, MinVersion: tls.VersionTLS12}
		t.ForceAttemptHTTP2 = true
	}
	l.mu.Lock()
	l.clients = append(l.clients, t)
	l.mu.Unlock()
	return &http.Client{Transport: &front{l, t}}
}

// dial connects to the listener behind a name.
func (l *Listening) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	to := l.addressOf(strings.ToLower(host))
	if to == "" {
		missing := &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		return nil, &net.OpError{Op: "dial", Net: network, Err: missing}
	}
	d := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return d.DialContext(ctx, network, to)
}

// front refuses requests before they reach the transport, and logs those that a closed door refuses.
type front struct {
	l *Listening
	*http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	g := f.l.g
	c := newCall(r, nil)
	region, ok := g.regionOf(c.host)
	c.region, c.proto = region, "dial"
	switch {
	case !ok:
		return f.Transport.RoundTrip(r)
	case g.isDown(c.host):
		return nil, f.refuse(r, c, "down", f.l.addressOf(c.host))
	}
	g.locate(r.Context(), c)
	h := g.faults.match(c, func(k Kind) bool { return k == Refuse })
	if h.Rule == nil {
		return f.Transport.RoundTrip(r)
	}
	v := &visit{gone: make(chan struct{})}
	if out, on := v.wait(r.Context(), h.before); !on {
		return nil, out.err
	}
	return nil, f.refuse(r, c, Refuse.String(), f.l.nowhere)
}

// refuse dials an address where nothing listens and returns the system's error. The transport is not asked: it could still try
// a connection that it does not know to be reset.
func (f *front) refuse(r *http.Request, c *call, fault, address string) error {
	if r.Body != nil {
		r.Body.Close()
	}
	f.l.g.refuse(r, c, fault)
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(r.Context(), "tcp", address)
	if err == nil { // somebody else has got the port, or the endpoint is up again
		conn.Close()
		err = broken(Refuse)
	}
	return err
}
