package emulator

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// getenv makes an environment of pairs "NAME=value".
func getenv(pairs ...string) func(string) string {
	env := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

func TestSettings(t *testing.T) {
	const connection = "AZURE_COSMOS_CONNECTION_STRING=AccountEndpoint=https://acct.example:443/;AccountKey=a2V5;"
	for name, test := range map[string]struct {
		env  []string
		want settings
	}{
		"nothing":                       {nil, settings{key: WellKnownKey}},
		"empty is unset":                {[]string{"COSMOS_EMULATOR=", "COSMOS_EMULATOR_ENDPOINT=", "AZURE_COSMOS_CONNECTION_STRING="}, settings{key: WellKnownKey}},
		"required":                      {[]string{"COSMOS_EMULATOR=required"}, settings{key: WellKnownKey, required: true}},
		"endpoint, well-known key":      {[]string{"COSMOS_EMULATOR_ENDPOINT=http://localhost:8081/"}, settings{endpoint: "http://localhost:8081", key: WellKnownKey, insecure: true}},
		"endpoint and key":              {[]string{"COSMOS_EMULATOR_ENDPOINT=https://acct.example", "COSMOS_EMULATOR_KEY=a2V5"}, settings{endpoint: "https://acct.example", key: "a2V5"}},
		"key alone":                     {[]string{"COSMOS_EMULATOR_KEY=a2V5"}, settings{key: "a2V5"}},
		"told not to check":             {[]string{"COSMOS_EMULATOR_ENDPOINT=https://acct.example", "COSMOS_EMULATOR_INSECURE_TLS=1"}, settings{endpoint: "https://acct.example", key: WellKnownKey, insecure: true}},
		"told to check":                 {[]string{"COSMOS_EMULATOR_ENDPOINT=https://acct.example", "COSMOS_EMULATOR_INSECURE_TLS=0"}, settings{endpoint: "https://acct.example", key: WellKnownKey}},
		"connection string":             {[]string{connection}, settings{endpoint: "https://acct.example:443", key: "a2V5"}},
		"endpoint before connection":    {[]string{connection, "COSMOS_EMULATOR_ENDPOINT=http://127.0.0.1:1"}, settings{endpoint: "http://127.0.0.1:1", key: WellKnownKey, insecure: true}},
		"bad connection is not read":    {[]string{"AZURE_COSMOS_CONNECTION_STRING=?", "COSMOS_EMULATOR_ENDPOINT=http://10.0.0.1:1"}, settings{endpoint: "http://10.0.0.1:1", key: WellKnownKey}},
		"connection string beats a key": {[]string{connection, "COSMOS_EMULATOR_KEY=b3RoZXI="}, settings{endpoint: "https://acct.example:443", key: "a2V5"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := settingsFrom(getenv(test.env...))
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct{ env, want string }{
		{"COSMOS_EMULATOR=yes", `COSMOS_EMULATOR="yes": only "required" is known`},
		{"COSMOS_EMULATOR_KEY=s3cret!", `COSMOS_EMULATOR_KEY: the key is not base64`},
		{"COSMOS_EMULATOR_ENDPOINT=localhost:8081", `COSMOS_EMULATOR_ENDPOINT="localhost:8081": the scheme is neither http nor https`},
		{"COSMOS_EMULATOR_ENDPOINT=127.0.0.1:8081", `COSMOS_EMULATOR_ENDPOINT="127.0.0.1:8081": not a URL`},
		{"COSMOS_EMULATOR_ENDPOINT=http://:8081", `COSMOS_EMULATOR_ENDPOINT="http://:8081": the host is missing`},
		{"COSMOS_EMULATOR_ENDPOINT=http://a/dbs", `COSMOS_EMULATOR_ENDPOINT="http://a/dbs": only a scheme, a host and a port are allowed`},
		{"AZURE_COSMOS_CONNECTION_STRING=s3cret", `AZURE_COSMOS_CONNECTION_STRING: a part is not name=value`},
		{"AZURE_COSMOS_CONNECTION_STRING=AccountKey=s3cret", `AZURE_COSMOS_CONNECTION_STRING: AccountEndpoint is missing`},
		{"AZURE_COSMOS_CONNECTION_STRING=AccountEndpoint=ftp://a;AccountKey=a2V5", `AZURE_COSMOS_CONNECTION_STRING="ftp://a": the scheme is neither http nor https`},
	} {
		t.Run(test.env, func(t *testing.T) {
			_, err := settingsFrom(getenv(test.env))
			require.EqualError(t, err, test.want)
			var setting *settingError
			require.ErrorAs(t, err, &setting)
			assert.NotContains(t, err.Error(), "s3cret", "a message must not show a key")
		})
	}
}

func TestConnectionString(t *testing.T) {
	for _, test := range []struct{ in, endpoint, key, reason string }{
		{"AccountEndpoint=https://a:443/;AccountKey=" + WellKnownKey + ";", "https://a:443/", WellKnownKey, ""},
		{" accountkey = k== ; ACCOUNTENDPOINT = http://a ;Database=x", "http://a", "k==", ""},
		{"AccountEndpoint=http://a;AccountKey=k;AccountKey=l", "http://a", "l", ""},
		{"AccountEndpoint=http://a;AccountKey=k;DisableServerCertificateValidation=True", "http://a", "k", ""},
		{";;AccountEndpoint=http://a;;AccountKey=k;;", "http://a", "k", ""},
		{"", "", "", "AccountEndpoint is missing"},
		{"AccountKey=k", "", "", "AccountEndpoint is missing"},
		{"AccountEndpoint=;AccountKey=k", "", "", "AccountEndpoint is missing"},
		{"AccountEndpoint=http://a", "", "", "AccountKey is missing"},
		{"AccountEndpoint=http://a;AccountKey", "", "", "a part is not name=value"},
		{"emulator", "", "", "a part is not name=value"},
	} {
		endpoint, key, reason := parseConnectionString(test.in)
		assert.Equal(t, []string{test.endpoint, test.key, test.reason}, []string{endpoint, key, reason}, test.in)
	}
}

// FuzzConnectionString: what is written as a connection string is read back, whatever stands around it; anything else is
// refused with a reason and nothing else.
func FuzzConnectionString(f *testing.F) {
	f.Add("http://a", "k==", "Database=x")
	f.Add("https://a:443/", WellKnownKey, "")
	f.Add("", "k", ";")
	f.Fuzz(func(t *testing.T, endpoint, key, more string) {
		gotEndpoint, gotKey, reason := parseConnectionString(more)
		if (reason == "") != (gotEndpoint != "" && gotKey != "") {
			t.Errorf("%q: endpoint %q, key %q, reason %q", more, gotEndpoint, gotKey, reason)
		}
		endpoint, key = strings.TrimSpace(endpoint), strings.TrimSpace(key)
		if endpoint == "" || key == "" || strings.Contains(endpoint+key, ";") {
			return
		}
		for _, s := range []string{
			"AccountEndpoint=" + endpoint + ";AccountKey=" + key,
			"a=b;;ACCOUNTKEY= " + key + " ;accountendpoint=" + endpoint + ";",
		} {
			gotEndpoint, gotKey, reason := parseConnectionString(s)
			if gotEndpoint != endpoint || gotKey != key || reason != "" {
				t.Errorf("%q: endpoint %q, key %q, reason %q", s, gotEndpoint, gotKey, reason)
			}
		}
	})
}

func TestLoopback(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"https://localhost:8081":         true,
		"https://LOCALHOST":              true,
		"https://cosmos.localhost":       true,
		"https://127.0.0.1:8081":         true,
		"https://127.8.0.1":              true,
		"https://[::1]:8081":             true,
		"https://[::ffff:127.0.0.1]":     true,
		"https://10.0.0.1":               false,
		"https://localhost.example.com":  false,
		"https://127.0.0.1.example.com":  false,
		"https://notlocalhost":           false,
		"https://acct.documents.azure.x": false,
	} {
		u, err := url.Parse(endpoint)
		require.NoError(t, err)
		assert.Equal(t, want, isLoopback(u.Hostname()), endpoint)
	}
}

func TestDecide(t *testing.T) {
	noNode := &unavailableError{"Node.js is not installed"}
	broken := errors.New("the server has ended")
	for _, test := range []struct {
		err      error
		required bool
		want     verdict
	}{
		{nil, false, run},
		{nil, true, run},
		{noNode, false, skip},
		{noNode, true, fail},
		{errors.Join(noNode), false, skip},
		{broken, false, fail}, // it is there and does not work: that is no reason to look away
		{broken, true, fail},
	} {
		assert.Equal(t, test.want, decide(test.err, test.required), "%v, required %v", test.err, test.required)
	}
}
