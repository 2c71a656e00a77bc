package regions

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// row is one line of the acceptance table.
type row struct {
	ID      string
	Account struct {
		Readable, Writable []string
		MultiWrite         bool
	}
	Query Query
	Want  []string
	Rule  string
}

// account is the row's account; the rules do not look at endpoints.
func (r row) account() Account {
	return Account{
		Readable:   named(r.Account.Readable...),
		Writable:   named(r.Account.Writable...),
		MultiWrite: r.Account.MultiWrite,
	}
}

// named makes regions without endpoints.
func named(names ...string) []Region {
	var out []Region
	for _, n := range names {
		out = append(out, Region{Name: n})
	}
	return out
}

// rows reads the acceptance table.
func rows(tb testing.TB) []row {
	tb.Helper()
	body, err := os.ReadFile("testdata/applicable_regions.json")
	require.NoError(tb, err)
	var out []row
	require.NoError(tb, json.Unmarshal(body, &out))
	require.Len(tb, out, 224)
	return out
}

func TestApplicable_AcceptanceRows(t *testing.T) {
	seen := map[string]int{}
	for _, r := range rows(t) {
		t.Run(r.ID, func(t *testing.T) {
			assert.Equal(t, r.Want, Applicable(r.account(), r.Query))
			p, _ := plan(r.account(), r.Query)
			assert.Equal(t, r.Rule, p.Rule.String())
			list, rule, fallback := twin(r.account(), r.Query)
			assert.Equal(t, r.Want, list, "twin")
			assert.Equal(t, r.Rule, rule, "twin")
			assert.Equal(t, fallback, p.Fallback)
		})
		seen[r.Rule]++
	}
	assert.Len(t, seen, 9, "the table has every rule but metadata")
}

func TestApplicable_NoRegion(t *testing.T) {
	assert.Nil(t, Applicable(Account{}, Query{}))
	assert.Nil(t, Applicable(Account{Readable: []Region{{Name: "A", Endpoint: "ftp://a"}}}, Query{Write: true}))
}

func TestRule_String(t *testing.T) {
	names := map[string]bool{}
	for r := RuleFilter; r <= RuleMetadata; r++ {
		names[r.String()] = true
	}
	assert.Len(t, names, 10)
	assert.False(t, names["unknown"])
	assert.Equal(t, "unknown", Rule(200).String())
	assert.Equal(t, RuleK, RuleK.extended(), "K is never extended")
}

func ExampleApplicable() {
	account := Account{
		Readable: []Region{{Name: "West US 3"}, {Name: "East US"}, {Name: "North Europe"}},
		Writable: []Region{{Name: "West US 3"}},
	}
	fmt.Println("read:", Applicable(account, Query{Preferred: []string{"eastus", "west-us-3"}}))
	fmt.Println("excluded:", Applicable(account, Query{Excluded: []string{"West US 3"}}))
	fmt.Println("opened too:", Applicable(account, Query{
		Excluded:    []string{"West US 3"},
		Unavailable: []string{"East US"},
	}))
	fmt.Println("all excluded:", Applicable(account, Query{
		Preferred: []string{"East US"}, Excluded: []string{"East US"},
	}))
	fmt.Println("write:", Applicable(account, Query{Write: true, Override: "North Europe"}))
	// Output:
	// read: [East US West US 3]
	// excluded: [East US North Europe]
	// opened too: [North Europe East US]
	// all excluded: [West US 3]
	// write: [North Europe]
}
