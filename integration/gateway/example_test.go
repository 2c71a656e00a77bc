package gateway_test

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// A region fails, and azcosmos goes to the next one.
func ExampleNew() {
	store := gateway.NewStore()
	store.CreateContainer("db", "items", "/pk")
	g := gateway.New(gateway.Options{Upstream: store})
	credential, _ := azcosmos.NewKeyCredential(gateway.EmulatorKey)
	client, _ := azcosmos.NewClientWithKey(g.Endpoint(), credential, &azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{Transport: g.Transport()},
		PreferredRegions: []string{"West US", "Central US"},
	})
	items, _ := client.NewContainer("db", "items")
	key := azcosmos.NewPartitionKeyString("a")
	_, _ = items.CreateItem(context.Background(), key, []byte(`{"id":"1","pk":"a"}`), nil)

	g.Inject(gateway.Rule{Region: "West US", Operations: []string{"read"}, Status: 503})
	_, err := items.ReadItem(context.Background(), key, "1", nil)

	fmt.Println(err)
	for _, line := range g.Sequence() {
		fmt.Println(line)
	}
	// Output:
	// <nil>
	// global account 200/0
	// North Central US create 201/0
	// West US read 503/0
	// Central US read 200/0
}
