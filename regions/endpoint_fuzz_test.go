package regions

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseEndpoint: what is taken for an endpoint is a host that a request can be sent to, and nothing but a host; it is
// recognised again however its usual port and its case are written.
func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{
		"https://acct-westus.documents.azure.com:443/", "http://localhost:8081", "https://[::1]:1/", "https://a:", "HTTPS://A:0443/x?y#z",
		"https://user:secret@a/", "https://a:99999", "https://a b", " https://a\t", "//a", "https:a", "https://\u00e4.example", "https://%41",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, ok := parseEndpoint(raw)
		if !ok {
			require.Zero(t, e)
			return
		}
		require.NotEmpty(t, e.host)
		require.False(t, strings.ContainsAny(e.host, "/@?#\\ "), "%q", e.host)
		require.True(t, e.matches(e.host))
		require.True(t, e.matches(strings.ToUpper(e.host)) || strings.ToLower(strings.ToUpper(e.host)) != e.host, "%q", e.host)
		require.True(t, e.matches(e.key) && e.matches(e.key+e.port), "%q", e.key)
		require.False(t, e.matches("x"+e.host))
		u := url.URL{Scheme: map[string]string{":443": "https", ":80": "http"}[e.port], Host: e.host}
		again, ok := parseEndpoint(u.String())
		require.True(t, ok, "%q", u.String())
		require.Equal(t, e.host, again.host)
	})
}

// FuzzGuessEndpoint: what is guessed is a sibling of the host that it was guessed from. Credentials are sent to it, so no
// name of a region may lead out of the account's domain.
func FuzzGuessEndpoint(f *testing.F) {
	f.Add("acct.documents.azure.com:443", "West US 3")
	f.Add("acct.documents.azure.com", "evil.example/")
	f.Add("localhost:8081", "a")
	f.Add("127.0.0.1", "East US")
	f.Add("[fe80::1.2.3.4%25en0]:1", "East US")
	f.Add("a.b:c.d", "x")
	f.Fuzz(func(t *testing.T, host, region string) {
		guess := GuessEndpoint(host, region)
		if guess == "" {
			return
		}
		label, domain, _ := strings.Cut(host, ".")
		added, found := strings.CutPrefix(guess, label+"-")
		require.True(t, found, "%q", guess)
		added, found = strings.CutSuffix(added, "."+domain)
		require.True(t, found, "%q", guess)
		require.Equal(t, Normalize(region), added)
		require.NotEmpty(t, added)
		require.Empty(t, strings.Trim(added, "abcdefghijklmnopqrstuvwxyz0123456789"))
		if of, ok := parseEndpoint("https://" + host); ok && of.host == host { // as net/url writes it
			e, ok := parseEndpoint("https://" + guess)
			require.True(t, ok, "%q", guess)
			require.False(t, of.matches(guess))
			require.True(t, e.matches(guess))
		}
	})
}
