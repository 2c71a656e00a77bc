//go:build race

package policy_test

// poolSlack is how far two counts of allocations may lie apart: the race
// detector makes sync.Pool drop things at random.
const poolSlack = 3
