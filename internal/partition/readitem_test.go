package partition_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"
)

// memory answers every request at once: what remains is the cost of azcosmos itself.
type memory struct{}

const (
	account = `{"id":"a","writableLocations":[{"name":"East US","databaseAccountEndpoint":"https://a-eastus.documents.azure.com/"}],` +
		`"readableLocations":[{"name":"East US","databaseAccountEndpoint":"https://a-eastus.documents.azure.com/"}]}`
	item = `{"id":"1","pk":"0b6a5c0e-7d4e-4f0e-9a52-6a1f6a3a9c11"}`
)

func (memory) Do(req *http.Request) (*http.Response, error) {
	body := item
	if strings.Trim(req.URL.Path, "/") == "" {
		body = account
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// BenchmarkReadItem is what the other figures are compared with: a point read by plain azcosmos.
func BenchmarkReadItem(b *testing.B) {
	cred, err := azcosmos.NewKeyCredential("a2V5")
	require.NoError(b, err)
	client, err := azcosmos.NewClientWithKey("https://a.documents.azure.com/", cred, &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: memory{}},
	})
	require.NoError(b, err)
	container, err := client.NewContainer("d", "c")
	require.NoError(b, err)
	key := azcosmos.NewPartitionKeyString("0b6a5c0e-7d4e-4f0e-9a52-6a1f6a3a9c11")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := container.ReadItem(b.Context(), key, "1", nil); err != nil {
			b.Fatal(err)
		}
	}
}
