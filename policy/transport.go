package policy

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// The limits of azcosmos's own HTTP client, which it does not export. Source:
// azcosmos v1.5.0, cosmos_default_http_client.go.
const (
	connectTimeout      = 5 * time.Second
	roundTripTimeout    = 65 * time.Second
	keepAlive           = 30 * time.Second
	idleConnTimeout     = 90 * time.Second
	tlsHandshakeTimeout = 10 * time.Second
	expectTimeout       = time.Second
	http2PingAfter      = 2 * time.Second
	http2PingTimeout    = time.Second
	maxIdle             = 1000
	maxIdlePerHost      = 100
)

// newTransport is the HTTP client for options that have none. Setting one is
// needed because hedges and probes must share the pool of the client, whose
// default cannot be reached.
func newTransport() *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}
	return &http.Client{
		Timeout: roundTripTimeout,
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: http2PingAfter, PingTimeout: http2PingTimeout},
			MaxIdleConns:          maxIdle,
			MaxIdleConnsPerHost:   maxIdlePerHost,
			IdleConnTimeout:       idleConnTimeout,
			TLSHandshakeTimeout:   tlsHandshakeTimeout,
			ExpectContinueTimeout: expectTimeout,
			TLSClientConfig: &tls.Config{
				MinVersion:    tls.VersionTLS12,
				Renegotiation: tls.RenegotiateFreelyAsClient,
			},
		},
	}
}
