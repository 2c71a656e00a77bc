package emulator

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// The variables that the package comment describes.
const (
	envMode       = "COSMOS_EMULATOR"
	envEndpoint   = "COSMOS_EMULATOR_ENDPOINT"
	envKey        = "COSMOS_EMULATOR_KEY"
	envConnection = "AZURE_COSMOS_CONNECTION_STRING"
	envInsecure   = "COSMOS_EMULATOR_INSECURE_TLS"
)

// WellKnownKey is the key that Microsoft publishes for its emulators, and that others took over. It protects nothing.
const WellKnownKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// settings is what the environment asks for.
type settings struct {
	endpoint string // "scheme://host[:port]", or empty: start our own
	key      string // base64, never empty
	insecure bool   // the certificate of endpoint is not checked
	required bool   // no emulator is a failure
}

// settingError is a variable that cannot be used. Its message never shows a key.
type settingError struct {
	name   string // of the variable
	value  string // empty when the value is a secret
	reason string
}

func (e *settingError) Error() string {
	if e.value == "" {
		return e.name + ": " + e.reason
	}
	return fmt.Sprintf("%s=%q: %s", e.name, e.value, e.reason)
}

// settingsFrom reads the environment through getenv. An empty variable is an unset one. The error is a *settingError for the
// first variable that cannot be used.
func settingsFrom(getenv func(string) string) (settings, error) {
	s := settings{key: WellKnownKey}
	switch mode := getenv(envMode); mode {
	case "":
	case "required":
		s.required = true
	default:
		return settings{}, &settingError{envMode, mode, `only "required" is known`}
	}

	endpoint, key, from := getenv(envEndpoint), getenv(envKey), envEndpoint
	if connection := getenv(envConnection); endpoint == "" && connection != "" {
		from = envConnection
		var reason string
		if endpoint, key, reason = parseConnectionString(connection); reason != "" {
			return settings{}, &settingError{name: envConnection, reason: reason}
		}
	}
	if key != "" {
		s.key = key
	}
	if _, err := base64.StdEncoding.DecodeString(s.key); err != nil {
		return settings{}, &settingError{name: envKey, reason: "the key is not base64"}
	}
	if endpoint == "" {
		return s, nil
	}
	u, reason := parseEndpoint(endpoint)
	if reason != "" {
		return settings{}, &settingError{from, endpoint, reason}
	}
	s.endpoint = u.Scheme + "://" + u.Host
	s.insecure = isLoopback(u.Hostname()) || getenv(envInsecure) == "1"
	return s, nil
}

// parseConnectionString splits "AccountEndpoint=…;AccountKey=…;" as the portal shows it. Names are compared without case, the
// last of two wins, and what else there is (Database, DisableServerCertificateValidation) is ignored. The reason says what is
// wrong, without showing the string: it holds a key.
func parseConnectionString(s string) (endpoint, key, reason string) {
	for part := range strings.SplitSeq(s, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		// Only the first "=" separates: a key ends with some of its own.
		name, value, found := strings.Cut(part, "=")
		if !found {
			return "", "", "a part is not name=value"
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "accountendpoint":
			endpoint = strings.TrimSpace(value)
		case "accountkey":
			key = strings.TrimSpace(value)
		}
	}
	switch {
	case endpoint == "":
		return "", "", "AccountEndpoint is missing"
	case key == "":
		return "", "", "AccountKey is missing"
	}
	return endpoint, key, ""
}

// parseEndpoint accepts what a client can be given: a scheme, a host, perhaps a port, and nothing else.
func parseEndpoint(s string) (u *url.URL, reason string) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, "not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "the scheme is neither http nor https"
	case u.Hostname() == "":
		return nil, "the host is missing"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, "only a scheme, a host and a port are allowed"
	}
	return u, ""
}

// isLoopback reports whether a host can only be this machine.
func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
