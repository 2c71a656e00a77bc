package policy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The host that the test servers have a certificate for.
const goodHost = "good.test"

// authority makes a certificate for goodHost, and the pool that trusts it.
func authority(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{goodHost},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: secret}, roots
}

// site is a server and the client that is to fail with it.
type site struct {
	certificate func(*x509.Certificate)
	server      func(*tls.Config)
	client      func(*tls.Config)
	host        string // that the client asks for; default: goodHost
}

// tlsError is what a client of the site gets.
func tlsError(t *testing.T, s site) error {
	t.Helper()
	certificate, roots := authority(t, s.certificate)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if s.server != nil {
		s.server(server.TLS)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	client := &tls.Config{RootCAs: roots}
	if s.client != nil {
		s.client(client)
	}
	host := s.host
	if host == "" {
		host = goodHost
	}
	return get(t, &http.Transport{TLSClientConfig: client, DialContext: to(server.Listener.Addr())}, 0, "https://"+host)
}

// to is a dialer that goes to one address, whatever is asked for.
func to(address net.Addr) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address.String())
	}
}

// get sends a request that has to fail and returns the error.
func get(t *testing.T, transport *http.Transport, timeout time.Duration, address string) error {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := (&http.Client{Transport: transport, Timeout: timeout}).Do(request)
	if err == nil {
		_ = response.Body.Close()
		require.Fail(t, "an answer", "%s from %s", response.Status, address)
	}
	return err
}

// peer is a raw server that does one thing with every connection.
func peer(t *testing.T, serve func(net.Conn)) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	return listener.Addr()
}

// nowhere is an address where nothing listens.
func nowhere(t *testing.T) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr()
}

// readRequest reads the head of a request.
func readRequest(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }

// hold keeps connections open, unanswered, until the test ends.
func hold(t *testing.T) func(net.Conn) {
	return func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) }
}

// TestNotSent: errors that real connections end in before a request can have
// been sent: another region may be asked, by a write too.
func TestNotSent(t *testing.T) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server")
	}}
	plain := peer(t, func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n")
		_ = c.Close()
	})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	silent := peer(t, hold(t))
	errs := map[string]func(*testing.T) error{
		"DNS": func(t *testing.T) error {
			return get(t, &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext}, 0, "http://acct.invalid")
		},
		"refused": func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(nowhere(t))}, 0, "http://x") },
		"dial timeout": func(t *testing.T) error {
			d := &net.Dialer{Timeout: time.Nanosecond}
			return get(t, &http.Transport{DialContext: d.DialContext}, 0, "http://"+silent.String())
		},
		"proxy refused": func(t *testing.T) error {
			proxy := &url.URL{Scheme: "http", Host: nowhere(t).String()}
			return get(t, &http.Transport{Proxy: http.ProxyURL(proxy)}, 0, "https://"+goodHost)
		},
		"SOCKS proxy refused": func(t *testing.T) error {
			proxy := &url.URL{Scheme: "socks5", Host: nowhere(t).String()}
			return get(t, &http.Transport{Proxy: http.ProxyURL(proxy)}, 0, "http://"+goodHost)
		},
		"TLS handshake timeout": func(t *testing.T) error {
			return get(t, &http.Transport{DialContext: to(silent), TLSHandshakeTimeout: time.Millisecond}, 0, "https://x")
		},
		"not TLS": func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(plain)}, 0, "https://x") },
		"HTTP where TLS is expected": func(t *testing.T) error {
			return get(t, &http.Transport{DialContext: to(web.Listener.Addr())}, 0, "https://x")
		},
		"unknown authority": func(t *testing.T) error {
			return tlsError(t, site{client: func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }})
		},
		"another host's certificate": func(t *testing.T) error { return tlsError(t, site{host: "bad.test"}) },
		"expired certificate": func(t *testing.T) error {
			return tlsError(t, site{certificate: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }})
		},
		"certificate of the future": func(t *testing.T) error {
			return tlsError(t, site{certificate: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }})
		},
		"certificate not for servers": func(t *testing.T) error {
			return tlsError(t, site{certificate: func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }})
		},
		"old server": func(t *testing.T) error {
			return tlsError(t, site{
				server: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
				client: func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 },
			})
		},
		"old client": func(t *testing.T) error {
			return tlsError(t, site{
				server: func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 },
				client: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
			})
		},
		"no common cipher": func(t *testing.T) error {
			return tlsError(t, site{
				server: func(c *tls.Config) { c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384} },
				client: func(c *tls.Config) {
					c.MaxVersion = tls.VersionTLS12
					c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
				},
			})
		},
		"no common protocol": func(t *testing.T) error {
			return tlsError(t, site{
				server: func(c *tls.Config) { c.NextProtos = []string{"spdy/1"} },
				client: func(c *tls.Config) { c.NextProtos = []string{"h2"} },
			})
		},
		"network unreachable": func(*testing.T) error { return dialled(syscall.ENETUNREACH) },
		"host unreachable":    func(*testing.T) error { return dialled(syscall.EHOSTUNREACH) },
		"network down":        func(*testing.T) error { return dialled(syscall.ENETDOWN) },
		"connect timed out":   func(*testing.T) error { return dialled(syscall.ETIMEDOUT) },
		"bare refused":        func(*testing.T) error { return fmt.Errorf("transport: %w", syscall.ECONNREFUSED) },
	}
	for name, make := range errs {
		t.Run(name, func(t *testing.T) {
			err := make(t)
			require.Equal(t, notSent, faultOf(t.Context(), err), "%T: %v", err, err)
			require.Equal(t, notSent, faultOf(t.Context(), fmt.Errorf("wrapped: %w", err)))
		})
	}
}

// dialled is a failed connect as net/http reports it.
func dialled(cause syscall.Errno) error {
	return &url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "dial", Net: "tcp", Err: cause}}
}

// TestMaybeSent: errors after which the request may have been carried out, and
// those that tell nothing: a write stops there.
func TestMaybeSent(t *testing.T) {
	silent := peer(t, hold(t))
	closing := peer(t, func(c net.Conn) { readRequest(c); _ = c.Close() })
	resetting := peer(t, func(c net.Conn) {
		readRequest(c)
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	})
	halfway := peer(t, func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-")
		_ = c.Close()
	})
	garbage := peer(t, func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, "what?\r\n\r\n")
		_ = c.Close()
	})
	errs := map[string]func(*testing.T) error{
		"EOF":         func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(closing)}, 0, "http://x") },
		"reset":       func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(resetting)}, 0, "http://x") },
		"half a head": func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(halfway)}, 0, "http://x") },
		"not HTTP":    func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(garbage)}, 0, "http://x") },
		"http.Client.Timeout": func(t *testing.T) error {
			return get(t, &http.Transport{DialContext: to(silent)}, 5*time.Millisecond, "http://x")
		},
		"ResponseHeaderTimeout": func(t *testing.T) error {
			return get(t, &http.Transport{DialContext: to(silent), ResponseHeaderTimeout: time.Millisecond}, 0, "http://x")
		},
		// The handshake may have ended for us before it did for the peer: TLS 1.3
		// tells a missing client certificate after the first request may be out.
		"client certificate missing": func(t *testing.T) error {
			return tlsError(t, site{server: func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }})
		},
		"closed in the handshake": func(t *testing.T) error { return get(t, &http.Transport{DialContext: to(closing)}, 0, "https://x") },
		"stream reset":            streamReset,
		"GOAWAY": func(*testing.T) error {
			return errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=NO_ERROR, debug=""`)
		},
		"lost ping":         func(*testing.T) error { return errors.New("http2: client connection lost") },
		"attempt timeout":   func(*testing.T) error { return &url.Error{Op: "Get", Err: context.DeadlineExceeded} },
		"another's cancel":  func(*testing.T) error { return context.Canceled },
		"write reset":       func(*testing.T) error { return &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET} },
		"broken pipe":       func(*testing.T) error { return &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE} },
		"read timed out":    func(*testing.T) error { return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ETIMEDOUT} },
		"route lost later":  func(*testing.T) error { return &net.OpError{Op: "read", Net: "tcp", Err: syscall.EHOSTUNREACH} },
		"alert in mid-flow": func(*testing.T) error { return &net.OpError{Op: "remote error", Err: tls.AlertError(80)} },
		"unexpected EOF":    func(*testing.T) error { return io.ErrUnexpectedEOF },
		"unknown":           func(*testing.T) error { return errors.New("something else") },
		"none at all":       func(*testing.T) error { return nil },
	}
	for name, make := range errs {
		t.Run(name, func(t *testing.T) {
			err := make(t)
			require.Equal(t, maybeSent, faultOf(t.Context(), err), "%T: %v", err, err)
		})
	}
}

// streamReset is the error of a real HTTP/2 stream that the server resets.
func streamReset(t *testing.T) error {
	certificate, roots := authority(t, nil)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: to(server.Listener.Addr()), ForceAttemptHTTP2: true,
	}
	err := get(t, transport, 0, "https://"+goodHost)
	require.Contains(t, err.Error(), "stream error")
	return err
}

// TestFaultOfTheCaller: once the caller's own context is over, whatever the
// transport says is the caller's doing; another context's end is not.
func TestFaultOfTheCaller(t *testing.T) {
	cancelledContext, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the user went away"))
	past, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	child, end := context.WithCancel(past)
	end()
	errs := []error{nil, context.Canceled, context.DeadlineExceeded, io.EOF, dialled(syscall.ECONNREFUSED), errors.New("?")}
	for _, err := range errs {
		require.Equal(t, cancelled, faultOf(cancelledContext, err), "%v", err)
		require.Equal(t, deadline, faultOf(past, err), "%v", err)
		require.Equal(t, deadline, faultOf(child, err), "%v", err)
	}
}

// TestObserve reads an answer's status and sub-status, whatever its headers
// look like; an error counts more than an answer that comes with it.
func TestObserve(t *testing.T) {
	header := func(name, value string) http.Header { return http.Header{name: {value}} }
	tests := []struct {
		name     string
		response *http.Response
		err      error
		want     outcome
	}{
		{"no headers", &http.Response{StatusCode: 403}, nil, outcome{status: 403}},
		{"empty headers", &http.Response{StatusCode: 404, Header: http.Header{}}, nil, outcome{status: 404}},
		{"no values", &http.Response{StatusCode: 404, Header: http.Header{"X-Ms-Substatus": nil}}, nil, outcome{status: 404}},
		{"sub-status", &http.Response{StatusCode: 404, Header: header("X-Ms-Substatus", "1002")}, nil, outcome{status: 404, sub: 1002}},
		{"odd sub-status", &http.Response{StatusCode: 404, Header: header("X-Ms-Substatus", "many")}, nil, outcome{status: 404}},
		{"empty sub-status", &http.Response{StatusCode: 404, Header: header("X-Ms-Substatus", "")}, nil, outcome{status: 404}},
		{"huge sub-status", &http.Response{StatusCode: 404, Header: header("X-Ms-Substatus", "99999999999999999999")}, nil, outcome{status: 404}},
		{"no answer, no error", nil, nil, outcome{fault: maybeSent}},
		{"error", nil, io.EOF, outcome{fault: maybeSent}},
		{"answer and error", &http.Response{StatusCode: 200}, io.EOF, outcome{fault: maybeSent}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, observe(t.Context(), test.response, test.err))
		})
	}
}
