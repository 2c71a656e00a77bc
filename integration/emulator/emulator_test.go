package emulator

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStartGivesTheSameToAll(t *testing.T) {
	first := Start(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.Same(t, first, Start(t)) })
	}
	all.Wait()
	assert.NotEmpty(t, first.Endpoint)
	assert.NotContains(t, first.Endpoint[len("https://"):], "/")
	assert.NotNil(t, first.HTTPClient())
}

// What the pinned server can do; the gateway makes up for the rest.
func TestCapabilitiesOfThePinnedServer(t *testing.T) {
	assert.Equal(t, Capabilities{Regions: 1, Ranges: 1}, own(t).Capabilities)
}

func TestKeepsConnections(t *testing.T) {
	e := own(t)
	resp, err := e.HTTPClient().Get(e.Endpoint)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.False(t, resp.Close, "the server closes the connection after an answer")
}

// Plain azcosmos, with nothing of ours in between.
func TestCreateReadUpdateDelete(t *testing.T) {
	e := Start(t)
	container := newContainer(t, e)
	key := azcosmos.NewPartitionKeyString("a")
	type item struct {
		ID string `json:"id"`
		PK string `json:"pk"`
		N  int    `json:"n"`
	}
	body := func(n int) []byte {
		data, err := json.Marshal(item{"1", "a", n})
		require.NoError(t, err)
		return data
	}

	_, err := container.CreateItem(t.Context(), key, body(1), nil)
	require.NoError(t, err)
	_, err = container.CreateItem(t.Context(), key, body(1), nil)
	var refused *azcore.ResponseError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, http.StatusConflict, refused.StatusCode)

	_, err = container.UpsertItem(t.Context(), key, body(2), nil)
	require.NoError(t, err)
	_, err = container.ReplaceItem(t.Context(), key, "1", body(3), nil)
	require.NoError(t, err)
	var patch azcosmos.PatchOperations
	patch.AppendSet("/n", 4)
	_, err = container.PatchItem(t.Context(), key, "1", patch, nil)
	require.NoError(t, err)

	read, err := container.ReadItem(t.Context(), key, "1", nil)
	require.NoError(t, err)
	var got item
	require.NoError(t, json.Unmarshal(read.Value, &got))
	assert.Equal(t, item{"1", "a", 4}, got)

	_, err = container.DeleteItem(t.Context(), key, "1", nil)
	require.NoError(t, err)
	if e.Capabilities.MissingItem {
		_, err = container.ReadItem(t.Context(), key, "1", nil)
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, http.StatusNotFound, refused.StatusCode)
	}
}

// newContainer makes a database with one container, which go with the test.
func newContainer(t *testing.T, e *Emulator) *azcosmos.ContainerClient {
	t.Helper()
	cred, err := azcosmos.NewKeyCredential(e.Key)
	require.NoError(t, err)
	client, err := azcosmos.NewClientWithKey(e.Endpoint, cred, &azcosmos.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: e.HTTPClient()},
	})
	require.NoError(t, err)
	name := "azcosmos-ha-" + t.Name()
	_, err = client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: name}, nil)
	require.NoError(t, err)
	database, err := client.NewDatabase(name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := database.Delete(context.WithoutCancel(t.Context()), nil)
		assert.NoError(t, err)
	})
	_, err = database.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID:                     "items",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	require.NoError(t, err)
	container, err := client.NewContainer(name, "items")
	require.NoError(t, err)
	return container
}
