package regions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

const answer = `{
  "writableLocations": [{"name": "West US 3", "databaseAccountEndpoint": "https://acct-westus3.documents.azure.com:443/"}],
  "readableLocations": [{"name": "West US 3", "databaseAccountEndpoint": "https://acct-westus3.documents.azure.com:443/"},
                        {"name": "East US", "databaseAccountEndpoint": "https://acct-eastus.documents.azure.com:443/"}]
}`

// The road from an account answer to the hosts a read may go to.
func ExampleView_Plan() {
	account, err := regions.ParseAccount([]byte(answer))
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := regions.NewTopology(account, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := regions.NewView(t, regions.NewNames("East US", "Atlantis"), nil, "acct.documents.azure.com:443")
	fmt.Println("unknown:", v.Unknown())

	ctx := regions.WithExcluded(context.Background(), "east-us")
	p := v.Plan(regions.Route{Excluded: v.ExcludedFor(ctx), Override: regions.None})
	for r := range p.Regions.All() {
		fmt.Println(p.Rule, t.Name(r), t.Host(r))
	}
	// Output:
	// unknown: [Atlantis]
	// fallback West US 3 acct-westus3.documents.azure.com:443
}

// A region that refused goes behind the others; after 30 seconds one request tries it.
func ExampleHealth_Order() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	list := regions.MakeList(0, 1, 2)
	var h *regions.Health // all well
	h = h.Mark(0, false, start)

	ordered, _ := h.Order(list, false, start)
	fmt.Println(ordered.First())

	later := start.Add(regions.TrialAfter)
	ordered, trial := h.Order(list, false, later)
	h, claimed := h.Claim(trial, false, later)
	fmt.Println(ordered.First(), claimed)

	h = h.Clear(0, false) // it answered
	fmt.Println(h == nil)
	// Output:
	// 1
	// 0 true
	// true
}

func ExampleGuessEndpoint() {
	fmt.Println(regions.GuessEndpoint("acct.documents.azure.com:443", "West US 3"))
	// Output: acct-westus3.documents.azure.com:443
}
