package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// instant is a transport that answers every request at once, in memory: what is left is the cost of the client.
type instant struct {
	account []byte
	sick    string // the host of a region that answers 503 to requests for items, "" for none
	arrive  func() // is called with each request for an item; nil: nothing is
}

// The answers.
var (
	itemBody  = []byte(`{"id":"1","pk":"a"}`)
	queryBody = []byte(`{"_rid":"","Documents":[{"id":"1","pk":"a"}],"_count":1}`)
)

// instantEndpoint is the global endpoint of the accounts behind instant transports.
const instantEndpoint = "https://acct.documents.azure.test:443/"

// regionName names the regions of such an account; i counts from 0.
func regionName(i int) string { return fmt.Sprintf("Region %d", i+1) }

func regionHost(i int) string { return fmt.Sprintf("acct-region%d.documents.azure.test", i+1) }

// newInstant is the transport of a single-write account with n regions, and their names.
func newInstant(n int) (t *instant, regions []string) {
	var locations []string
	for i := range n {
		regions = append(regions, regionName(i))
		locations = append(locations, fmt.Sprintf(`{"name":%q,"databaseAccountEndpoint":"https://%s:443/"}`, regionName(i), regionHost(i)))
	}
	account := fmt.Appendf(nil, `{"id":"acct","writableLocations":[%s],"readableLocations":[%s],"enableMultipleWriteLocations":false}`,
		locations[0], strings.Join(locations, ","))
	return &instant{account: account}, regions
}

// RoundTrip implements [http.RoundTripper].
func (t *instant) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	status, content := http.StatusOK, itemBody
	account := r.URL.Path == "" || r.URL.Path == "/"
	if t.arrive != nil && !account {
		t.arrive()
	}
	switch {
	case account:
		content = t.account
	case t.sick != "" && r.URL.Hostname() == t.sick:
		status = http.StatusServiceUnavailable
	case r.Method == http.MethodPost && r.Header.Get("X-Ms-Documentdb-Isquery") != "":
		content = queryBody
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Ms-Request-Charge": {"1"}},
		Body:   io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)),
	}, nil
}
