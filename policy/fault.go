package policy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// observe turns what an attempt gave into the values that the judge reads. ctx
// is the caller's context, not the attempt's: only the caller's own end is the
// caller's.
func observe(ctx context.Context, response *http.Response, err error) outcome {
	if err == nil && response != nil {
		o := outcome{status: response.StatusCode}
		if o.status >= http.StatusBadRequest {
			o.sub = subStatus(response.Header)
		}
		return o
	}
	return outcome{fault: faultOf(ctx, err)}
}

// subStatus reads x-ms-substatus; a missing or odd one is 0.
func subStatus(header http.Header) int {
	value := request.Get(header, request.HeaderSubStatus)
	if value == "" {
		return 0
	}
	sub, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return sub
}

func faultOf(ctx context.Context, err error) fault {
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.DeadlineExceeded):
		return deadline
	case cause != nil:
		return cancelled
	case surelyNotSent(err):
		return notSent
	default:
		return maybeSent
	}
}

// surelyNotSent reports that no byte of the request can have reached the
// service: the name was not found, the connection not made, or TLS not agreed.
// Whatever it does not know was perhaps sent, HTTP/2 stream and GOAWAY errors
// among it: repeating a read costs little, repeating a write may harm.
func surelyNotSent(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case err == nil: // no answer and no error either: a policy behind us may do that
		return false
	case errors.As(err, &dns), tlsRefused(err):
		return true
	case errors.As(err, &op):
		// A route can also vanish under an open connection: then the operation
		// is a read or a write, and the request was perhaps sent.
		return op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect"
	default:
		return unreachable(err)
	}
}

func unreachable(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) ||
		errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.ENETDOWN)
}

// tlsRefused reports a handshake that failed, on either side.
func tlsRefused(err error) bool {
	var (
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &record), errors.As(err, &verify), errors.As(err, &authority),
		errors.As(err, &hostname), errors.As(err, &invalid),
		errors.Is(err, http.ErrSchemeMismatch): // what http.Client makes of some record headers
		return true
	default:
		return handshakeOnly(err)
	}
}

// handshakeOnly knows the failures that only a handshake can end in and that
// have no exported type: net/http's timeout, and the alerts that no peer sends
// once requests flow. A refused client certificate is not among them: TLS 1.3
// tells it after the first request may have gone out.
func handshakeOnly(err error) bool {
	if strings.Contains(err.Error(), "TLS handshake timeout") {
		return true
	}
	var op *net.OpError
	if !errors.As(err, &op) || (op.Op != "remote error" && op.Op != "local error") {
		return false
	}
	for _, alert := range []string{
		"handshake failure", "protocol version not supported", "insufficient security level",
		"unrecognized name", "no application protocol",
	} {
		if strings.HasSuffix(op.Err.Error(), alert) {
			return true
		}
	}
	return false
}
