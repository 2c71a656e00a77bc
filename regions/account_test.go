package regions

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full is an account answer as the service gives it, with fields that do not concern us.
const full = `{
 "_self": "", "id": "acct", "_rid": "acct.documents.azure.com", "media": "//media/", "_dbs": "//dbs/",
 "writableLocations": [{"name": "West US 3", "databaseAccountEndpoint": "https://acct-westus3.documents.azure.com:443/"}],
 "readableLocations": [{"name": "West US 3", "databaseAccountEndpoint": "https://acct-westus3.documents.azure.com:443/"},
                       {"name": "East US", "databaseAccountEndpoint": "https://acct-eastus.documents.azure.com:443/"}],
 "enableMultipleWriteLocations": false, "enablePerPartitionFailoverBehavior": true, "continuousBackupEnabled": false,
 "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"}, "queryEngineConfiguration": "{}"
}`

func TestParseAccount_Full(t *testing.T) {
	a, err := ParseAccount([]byte(full))
	require.NoError(t, err)
	on := true
	west := Region{"West US 3", "https://acct-westus3.documents.azure.com:443/"}
	assert.Equal(t, Account{
		ID:                "acct",
		Readable:          []Region{west, {"East US", "https://acct-eastus.documents.azure.com:443/"}},
		Writable:          []Region{west},
		PartitionFailover: &on,
	}, a)
}

func TestParseAccount_Refused(t *testing.T) {
	long := "<html>" + string(make([]byte, 4096))
	for name, tt := range map[string]struct {
		body  string
		want  error
		field string
		value string
	}{
		"nothing":         {"", ErrNotAccount, "body", ""},
		"HTML":            {"<html><body>Bad Gateway</body></html>", ErrNotAccount, "body", "<html><body>Bad Gateway</body></html>"},
		"long HTML":       {long, ErrNotAccount, "body", long[:120] + "…"},
		"cut JSON":        {full[:200], ErrNotAccount, "body", full[:120] + "…"},
		"array":           {"[]", ErrNotAccount, "body", "[]"},
		"number":          {"12", ErrNotAccount, "body", "12"},
		"null":            {"null", ErrNoRegion, "readableLocations, writableLocations", "0 readable, 0 writable: "},
		"empty object":    {"{}", ErrNoRegion, "readableLocations, writableLocations", "0 readable, 0 writable: "},
		"error answer":    {`{"code":"Unauthorized","message":"x"}`, ErrNoRegion, "readableLocations, writableLocations", "0 readable, 0 writable: "},
		"lists no arrays": {`{"readableLocations":{"name":"A"},"writableLocations":"A"}`, ErrNoRegion, "readableLocations, writableLocations", "0 readable, 0 writable: "},
		"bad URL alone": {
			`{"readableLocations":[{"name":"A","databaseAccountEndpoint":"A"}]}`, ErrNoRegion,
			"readableLocations, writableLocations", `1 readable, 0 writable: readableLocations[0] "A": endpoint "A" is unusable`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseAccount([]byte(tt.body))
			require.ErrorIs(t, err, tt.want)
			assert.Equal(t, Account{}, a)
			var ae *AccountError
			require.ErrorAs(t, err, &ae)
			assert.Equal(t, tt.field, ae.Field)
			assert.Equal(t, tt.value, ae.Value)
			assert.Contains(t, err.Error(), "azcosmos-ha/regions")
			assert.Contains(t, err.Error(), tt.field)
		})
	}
}

func TestParseAccount_OddFieldsAreAbsent(t *testing.T) {
	a, err := ParseAccount([]byte(`{
		"id": 7, "enableMultipleWriteLocations": "yes", "enablePerPartitionFailoverBehavior": null,
		"readableLocations": [null, 5, "x", {"name": 7}, {"name": "A", "databaseAccountEndpoint": "https://a.example", "extra": []}]
	}`))
	require.NoError(t, err)
	assert.Equal(t, Account{Readable: []Region{{}, {}, {}, {}, {"A", "https://a.example"}}}, a)
	top, err := NewTopology(a, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"readableLocations[0]: no name", "readableLocations[1]: no name",
		"readableLocations[2]: no name", "readableLocations[3]: no name",
	}, top.Dropped())
}

func TestParseAccount_Flags(t *testing.T) {
	yes, no := true, false
	for value, want := range map[string]*bool{
		`true`: &yes, `false`: &no, `"true"`: &yes, `"False"`: &no, `" TRUE "`: &yes,
		`null`: nil, `1`: nil, `"on"`: nil, `""`: nil, `[true]`: nil, `{}`: nil,
	} {
		body := fmt.Sprintf(`{"enableMultipleWriteLocations":%[1]s,"enablePerPartitionFailoverBehavior":%[1]s,
			"disableCrossRegionalHedging":%[1]s,"writableLocations":[{"name":"A","databaseAccountEndpoint":"http://a"}]}`, value)
		a, err := ParseAccount([]byte(body))
		require.NoError(t, err, value)
		assert.Equal(t, want, a.PartitionFailover, value)
		assert.Equal(t, want, a.HedgingDisabled, value)
		assert.Equal(t, want != nil && *want, a.MultiWrite, value)
	}
}

func TestParseEndpoint(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.documents.azure.com:443/": "a.documents.azure.com:443",
		"https://a.documents.azure.com":      "a.documents.azure.com",
		" https://A.example:8081/path?x ":    "A.example:8081",
		"http://localhost:80":                "localhost:80",
		"HTTPS://a.example":                  "a.example",
		"https://[::1]:8081/":                "[::1]:8081",
		"https://user:secret@a.example/":     "a.example",
		"https://a.example:/":                "a.example",
	} {
		e, ok := parseEndpoint(raw)
		assert.True(t, ok, raw)
		assert.Equal(t, want, e.host, raw)
	}
	for _, raw := range []string{
		"", "/", "a.example", "a.example:443", "ftp://a.example", "https://", "https:///path", "https://:443", "https://a b/",
		"https://a:0", "https://a:65536", "https://a:x", "https://[::1", "://", "%zz", "https://%zz", "mailto:a@b",
	} {
		_, ok := parseEndpoint(raw)
		assert.False(t, ok, raw)
	}
}

func TestGuessEndpoint(t *testing.T) {
	for _, tt := range []struct{ host, region, want string }{
		{"acct.documents.azure.com:443", "West US 3", "acct-westus3.documents.azure.com:443"},
		{"acct.documents.azure.com", " west-us_3", "acct-westus3.documents.azure.com"},
		{"acct.documents.azure.cn:444", "China North", "acct-chinanorth.documents.azure.cn:444"},
		{"Acct.example.com", "East US", "Acct-eastus.example.com"},
		{"127.0.0.1:8081", "East US", ""},
		{"127.0.0.1", "East US", ""},
		{"[::1]:8081", "East US", ""},
		{"[::ffff:1.2.3.4]:443", "East US", ""},
		{"localhost:8081", "East US", ""},
		{"LOCALHOST.", "East US", ""},
		{"cosmos.localhost", "East US", ""},
		{"localhost.localdomain", "East US", ""},
		{"cosmosdb:8081", "East US", ""},
		{"", "East US", ""},
		{".documents.azure.com", "East US", ""},
		{"acct.documents.azure.com", " - ", ""},
		{"acct.documents.azure.com", "evil.example/", ""},
		{"acct.documents.azure.com", "Größe", ""},
		{"an-account-name-of-the-greatest-length-that-azure-takes.documents.azure.com", "Germany North", ""},
	} {
		assert.Equal(t, tt.want, GuessEndpoint(tt.host, tt.region), "%s + %s", tt.host, tt.region)
	}
}

func FuzzParseAccount(f *testing.F) {
	for _, s := range []string{
		full, "", "null", "<html>", `{"readableLocations":[{"name":"A","databaseAccountEndpoint":"https://a"}]}`,
		`{"writableLocations":[{"name":"A","databaseAccountEndpoint":"http://a:80"},{"name":"a"},null],"enableMultipleWriteLocations":"true"}`,
		`{"readableLocations":[{"name":"\ud800","databaseAccountEndpoint":"https://[::1%25en0]:1"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := ParseAccount(body)
		if err != nil {
			var ae *AccountError
			require.ErrorAs(t, err, &ae)
			require.LessOrEqual(t, len(ae.Value), 130)
			return
		}
		require.True(t, json.Valid(body))
		top, err := NewTopology(a, nil)
		require.NoError(t, err, "ParseAccount refuses what NewTopology cannot use")
		require.Equal(t, top.Known(), top.Readable().Set()|top.Writable().Set())
		require.True(t, top.Known().Has(top.Primary()))
		for r := range top.Readable().All() {
			require.NotEmpty(t, top.Host(r))
			require.Equal(t, r, top.Lookup(top.Name(r)))
			require.NotEqual(t, None, top.ByHost(top.Host(r)))
		}
		again, err := NewTopology(top.Account(), top)
		require.NoError(t, err)
		require.True(t, top.Equal(again), "cleaning is idempotent")
		require.Empty(t, again.Dropped())
		require.Equal(t, top.Readable(), again.Readable(), "indices are stable")
		require.Positive(t, NewView(top, nil, nil, "").Plan(Route{Write: true, Override: None}).Regions.Len())
	})
}
