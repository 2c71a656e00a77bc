package request_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"
)

// recorded is what a policy would see of one request.
type recorded struct {
	method, path string
	header       http.Header
}

// service is a transport that answers as the service would, as far as azcosmos
// looks, and keeps every request. It knows nothing of the package under test.
type service struct {
	multiWrite bool
	mu         sync.Mutex
	requests   []recorded
}

// Do answers one request.
func (s *service) Do(req *http.Request) (*http.Response, error) {
	path := req.URL.EscapedPath()
	s.mu.Lock()
	s.requests = append(s.requests, recorded{req.Method, path, req.Header.Clone()})
	s.mu.Unlock()
	status, body := s.answer(req.Method, strings.Trim(path, "/"), req.Header)
	header := http.Header{"Etag": {`"7"`}, "X-Ms-Request-Charge": {"1"}, "X-Ms-Session-Token": {"0:1#7"}}
	if req.Header.Get("x-ms-documentdb-query") != "" && req.Header.Get("x-ms-continuation") == "" {
		header.Set("x-ms-continuation", "page 2")
	}
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)), Request: req,
	}, nil
}

const (
	databaseBody  = `{"id":"d 1","_rid":"db==","_self":"dbs/db==/"}`
	containerBody = `{"id":"c/ü","_rid":"db==co=","_self":"dbs/db==/colls/db==co=/","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`
	itemBody      = `{"id":"i","pk":"a"}`
	offerBody     = `{"id":"of1","_rid":"of1","_self":"offers/of1/","offerType":"Invalid","offerVersion":"V2","offerResourceId":"db==",` +
		`"resource":"dbs/db==/","content":{"offerThroughput":400}}`
	rangesBody = `{"_rid":"db==co=","_count":2,"PartitionKeyRanges":[` +
		`{"id":"0","_rid":"r0","minInclusive":"","maxExclusive":"10"},{"id":"1","_rid":"r1","minInclusive":"10","maxExclusive":"FF"}]}`
)

// answer picks the body by the last word of the path that names a resource.
func (s *service) answer(method, path string, header http.Header) (int, string) {
	segments := strings.Split(path, "/")
	last := segments[len(segments)-1-(len(segments)+1)%2] // the resource word of this path
	feed, changes := len(segments)%2 == 1, header.Get("A-IM") != ""
	switch {
	case path == "":
		return http.StatusOK, fmt.Sprintf(`{"id":"acct","enableMultipleWriteLocations":%t,`+
			`"writableLocations":[{"name":"East US","databaseAccountEndpoint":"https://acct-eastus.documents.azure.com:443/"}],`+
			`"readableLocations":[{"name":"East US","databaseAccountEndpoint":"https://acct-eastus.documents.azure.com:443/"}]}`, s.multiWrite)
	case changes && header.Get("If-None-Match") != "":
		return http.StatusNotModified, ""
	case last == "pkranges":
		return http.StatusOK, rangesBody
	case method == http.MethodDelete:
		return http.StatusNoContent, ""
	case header.Get("x-ms-cosmos-is-batch-request") != "":
		return http.StatusOK, `[{"statusCode":201},{"statusCode":200}]`
	case changes:
		return http.StatusOK, `{"_rid":"db==co=","_count":1,"Documents":[` + itemBody + `]}`
	case feed && header.Get("x-ms-documentdb-query") != "":
		return http.StatusOK, `{"_count":1,"Databases":[` + databaseBody + `],"DocumentCollections":[` + containerBody + `],` +
			`"Documents":[` + itemBody + `],"Offers":[` + offerBody + `]}`
	default:
		return http.StatusOK, map[string]string{"dbs": databaseBody, "colls": containerBody, "docs": itemBody, "offers": offerBody}[last]
	}
}

// take returns the requests since the last call.
func (s *service) take() []recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.requests
	s.requests = nil
	return taken
}

// world is a client with its service. The ids need escaping.
type world struct {
	*service
	client    *azcosmos.Client
	database  *azcosmos.DatabaseClient
	container *azcosmos.ContainerClient
}

// accounts makes the endpoint of every world its own: azcosmos keeps its caches
// of containers and ranges per endpoint, for the whole process.
var accounts atomic.Int64

func newEndpoint() string {
	return fmt.Sprintf("https://acct%d.documents.azure.com:443/", accounts.Add(1))
}

func (s *service) options() *azcosmos.ClientOptions {
	return &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s}}
}

// newWorld makes a client that has read its account already, so that what it
// records is the operation alone.
func newWorld(t *testing.T, s *service) *world {
	t.Helper()
	w := &world{service: s}
	cred, err := azcosmos.NewKeyCredential("a2V5")
	require.NoError(t, err)
	w.client, err = azcosmos.NewClientWithKey(newEndpoint(), cred, s.options())
	require.NoError(t, err)
	t.Cleanup(w.client.Close)
	w.database, err = w.client.NewDatabase("d 1")
	require.NoError(t, err)
	w.container, err = w.database.NewContainer("c/ü")
	require.NoError(t, err)
	_, err = w.database.Read(t.Context(), nil)
	require.NoError(t, err)
	s.take()
	return w
}
