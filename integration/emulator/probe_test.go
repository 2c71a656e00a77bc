package emulator

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// able is what the service can do.
var able = Capabilities{
	Regions: 1, Ranges: 1,
	RangeIDs: true, MissingItem: true, PartitionQuery: true, Batch: true, ChangeFeed: true, ChecksKey: true,
}

func TestProbe(t *testing.T) {
	for name, test := range map[string]struct {
		service *service
		change  func(*Capabilities)
	}{
		"the service":                       {&service{}, func(*Capabilities) {}},
		"three regions":                     {&service{regions: 3}, func(c *Capabilities) { c.Regions = 3 }},
		"range ids are numbers":             {&service{numberedIDs: true}, func(c *Capabilities) { c.RangeIDs = false }},
		"missing item is 500":               {&service{missing: 500}, func(c *Capabilities) { c.MissingItem = false }},
		"query returns other keys":          {&service{allKeys: true}, func(c *Capabilities) { c.PartitionQuery = false }},
		"no batch":                          {&service{batchStatus: 500}, func(c *Capabilities) { c.Batch = false }},
		"batch stops half-way":              {&service{batch: `[{"statusCode":201},{"statusCode":404},{"statusCode":424},{"statusCode":424}]`}, func(c *Capabilities) { c.Batch = false }},
		"batch answers for less":            {&service{batch: `[{"statusCode":201}]`}, func(c *Capabilities) { c.Batch = false }},
		"change feed starts over":           {&service{allChanges: true}, func(c *Capabilities) { c.ChangeFeed = false }},
		"any key will do":                   {&service{anyKey: true}, func(c *Capabilities) { c.ChecksKey = false }},
		"busy once, database":               {&service{refuse: map[string]int{"POST dbs": 429}}, func(*Capabilities) {}},
		"busy once, item":                   {&service{refuse: map[string]int{"POST docs": 503}}, func(*Capabilities) {}},
		"starting up":                       {&service{refuse: map[string]int{"GET": 503}}, func(*Capabilities) {}},
		"no ranges: no change feed to read": {&service{refuse: map[string]int{"GET pkranges": 400}}, func(c *Capabilities) { c.Ranges, c.RangeIDs, c.ChangeFeed = 0, false, false }},
	} {
		t.Run(name, func(t *testing.T) {
			want := able
			test.change(&want)
			got, err := probe(t.Context(), test.service.serve(t))
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.True(t, test.service.dropped, "the database is left behind")
		})
	}
}

func TestProbeOfWhatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		service *service
		want    string
	}{
		"the key is refused":     {&service{refuse: map[string]int{"GET": 401}}, "account read: status 401: refused"},
		"no database":            {&service{refuse: map[string]int{"POST dbs": 403}}, "create database: status 403: refused"},
		"no container":           {&service{refuse: map[string]int{"POST colls": 400}}, "create container: status 400: refused"},
		"no item":                {&service{refuse: map[string]int{"POST docs": 404}}, "create item: status 404: refused"},
		"HTML":                   {&service{account: "<html>"}, "account read: invalid character '<' looking for beginning of value"},
		"an account of no place": {&service{account: "{}"}, "account read: no readable region"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := probe(t.Context(), test.service.serve(t))
			require.EqualError(t, err, test.want)
		})
	}
}

func TestProbeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	_, err := probe(ctx, wire{endpoint: server.URL, key: WellKnownKey, client: server.Client()})
	require.ErrorContains(t, err, "no answer in 30s")
}

// A certificate is checked unless the settings say otherwise, and the error says how to.
func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(&service{})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of every certificate that is refused
	server.StartTLS()
	defer server.Close()

	_, err := start(t.Context(), settings{endpoint: server.URL, key: WellKnownKey})
	require.ErrorContains(t, err, "COSMOS_EMULATOR_INSECURE_TLS=1 accepts it")
	assert.Equal(t, fail, decide(err, false))

	e, err := start(t.Context(), settings{endpoint: server.URL, key: WellKnownKey, insecure: true})
	require.NoError(t, err)
	assert.Equal(t, able, e.Capabilities)
	assert.True(t, e.External)
	require.NoError(t, e.server.failed())
	e.HTTPClient().CloseIdleConnections()
}
