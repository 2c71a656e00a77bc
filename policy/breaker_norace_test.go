//go:build !race

package policy_test

// poolSlack is how far two counts of allocations may lie apart: see breaker_race_test.go.
const poolSlack = 0
