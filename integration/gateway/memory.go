package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// RoundTripper carries requests in memory. Its errors are the bare ones that net/http's transport returns. It starts no
// goroutine, uses only timers and channels made inside the call, and returns as soon as the request's context ends.
func (g *Gateway) RoundTripper() http.RoundTripper { return memory{g} }

// memory is the transport in memory.
type memory struct{ g *Gateway }

// RoundTrip implements [http.RoundTripper].
func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := drain(r)
	if err != nil {
		return nil, err
	}
	c := newCall(r, body)
	c.proto = "memory"
	var ok bool
	if c.region, ok = m.g.regionOf(c.host); !ok {
		missing := &net.DNSError{Err: "no such host", Name: c.host, IsNotFound: true}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: missing}
	}
	if m.g.isDown(c.host) {
		m.g.refuse(r, c, "down")
		return nil, broken(Refuse)
	}
	out := m.g.exchange(r.Context(), c, nil)
	switch {
	case out.err != nil:
		return nil, out.err
	case out.answer == nil:
		return nil, broken(out.broken)
	}
	return response(r, out.answer), nil
}

// refuse logs an attempt that found no connection.
func (g *Gateway) refuse(r *http.Request, c *call, fault string) {
	g.locate(r.Context(), c)
	c.hub = c.region
	g.journal.done(g.journal.add(c, fault), outcome{broken: Refuse})
}

// drain reads the whole body and closes it, as a transport must.
func drain(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// response is an answer as net/http hands it to a client.
func response(r *http.Request, a *Answer) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.Header.Clone(), Request: r,
		Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)),
	}
}

// broken is the error that net/http reports for a broken connection.
func broken(k Kind) error {
	switch k {
	case Refuse:
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case Close:
		return io.EOF
	case StreamReset:
		return StreamError{StreamID: 1, Code: internalError, Cause: errPeer}
	default:
		return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
}

// StreamError has the shape of the error that net/http's bundled HTTP/2 transport reports for a stream reset by the peer: it
// cannot be named outside of net/http, so callers recognise it by its fields and its text.
type StreamError struct {
	StreamID uint32
	Code     ErrCode
	Cause    error
}

// ErrCode is an HTTP/2 error code.
type ErrCode uint32

const internalError ErrCode = 2

// String is the code's name in RFC 9113.
func (e ErrCode) String() string {
	if e == internalError {
		return "INTERNAL_ERROR"
	}
	return fmt.Sprintf("unknown error code 0x%x", uint32(e))
}

// peerError says that the peer has reset the stream.
type peerError struct{}

// Error is the text that net/http has for it.
func (peerError) Error() string { return "received from peer" }

var errPeer error = peerError{}

// Error is the text of the original.
func (e StreamError) Error() string {
	return fmt.Sprintf("stream error: stream ID %d; %v; %v", e.StreamID, e.Code, e.Cause)
}

// Transporter sends requests in memory as an [http.Client] would. It satisfies azcore's policy.Transporter.
type Transporter struct{ rt http.RoundTripper }

// Transport is [Gateway.RoundTripper] behind what azcore wants of a transport.
func (g *Gateway) Transport() *Transporter { return &Transporter{g.RoundTripper()} }

// Do sends a request; errors come in a [*url.Error], as from [http.Client.Do].
func (t *Transporter) Do(r *http.Request) (*http.Response, error) {
	resp, err := t.rt.RoundTrip(r)
	if err != nil {
		op := "Get"
		if m := r.Method; m != "" {
			op = m[:1] + strings.ToLower(m[1:])
		}
		return nil, &url.Error{Op: op, URL: r.URL.Redacted(), Err: err}
	}
	return resp, nil
}
