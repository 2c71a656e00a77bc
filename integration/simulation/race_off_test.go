//go:build !race

package simulation

// someWorlds is how many worlds run by default.
const someWorlds = 250
