package regions

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// endpoint is a region's endpoint URL, taken apart once.
type endpoint struct {
	url  string // as given
	host string // for http.Request.URL.Host: host and port exactly as given
	key  string // host without the port that is the scheme's default, for comparing
	port string // that default port with its colon, ":443" or ":80"
}

// parseEndpoint takes an endpoint URL apart; false when requests cannot be sent to it.
func parseEndpoint(raw string) (endpoint, bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Hostname() == "" || !validPort(u.Port()) {
		return endpoint{}, false
	}
	e := endpoint{url: raw, host: u.Host}
	switch u.Scheme {
	case "https":
		e.port = ":443"
	case "http":
		e.port = ":80"
	default:
		return endpoint{}, false
	}
	e.host = strings.TrimSuffix(u.Host, ":") // url.Parse lets an empty port pass
	e.key = strings.TrimSuffix(e.host, e.port)
	return e, true
}

// validPort reports whether the digits url.Parse found are a port; none is fine.
func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// matches reports whether host, with or without the default port and in any case, is this endpoint's.
func (e *endpoint) matches(host string) bool {
	return e.key != "" && strings.EqualFold(strings.TrimSuffix(host, e.port), e.key)
}

// GuessEndpoint returns the host of a region's own endpoint as Azure names it, from the account's global host:
// "acct.documents.azure.com:443" and "West US 3" give "acct-westus3.documents.azure.com:443". It is for the time
// before the first account answer; afterwards the topology knows.
//
// It returns "" when nothing sensible can be guessed: the host is empty, an IP address, localhost or a single label,
// the region is blank or has characters that no Azure region has, or the first label would exceed the 63 octets of DNS.
func GuessEndpoint(endpointHost, region string) string {
	norm := Normalize(region)
	name := (&url.URL{Host: endpointHost}).Hostname()
	label, rest, ok := strings.Cut(endpointHost, ".")
	if norm == "" || !lettersAndDigits(norm) || !ok || label == "" || isLocal(name) {
		return ""
	}
	guess := label + "-" + norm
	if len(guess) > 63 {
		return ""
	}
	return guess + "." + rest
}

// isLocal reports whether a host name, without port, has no regional relatives: an IP address or localhost.
func isLocal(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") || strings.HasPrefix(name, "localhost.")
}

// lettersAndDigits keeps dots, slashes and the like out of a host: credentials are sent to it.
func lettersAndDigits(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}
