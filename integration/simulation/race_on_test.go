//go:build race

package simulation

// someWorlds is how many worlds run by default: the race detector makes each ten
// times as expensive.
const someWorlds = 40
