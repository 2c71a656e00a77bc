package policy_test

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// The two lines that a service adds: New and Apply.
func Example() {
	ha, err := policy.New(policy.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ha.Close()

	opts := &azcosmos.ClientOptions{PreferredRegions: []string{"West US 3", "East US"}}
	ha.Apply(opts)

	credential, err := azcosmos.NewKeyCredential("bm90IGEga2V5")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := azcosmos.NewClientWithKey("https://account.documents.azure.com:443/", credential, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	ha.Bind(client)
	fmt.Println(len(opts.PerCallPolicies), len(opts.PerRetryPolicies))
	// Output: 1 1
}

// Options that cannot be used are one error, which names the field and the value.
func ExampleNew() {
	_, err := policy.New(policy.Options{Hedge: hedge.Options{MaxHedges: -1}})
	fmt.Println(err)
	// Output: azcosmos-ha: policy.Options.Hedge.MaxHedges must not be negative, got -1
}
