// Package given knows what kinds of values this module has put into the contexts of requests so far, in this process:
// regions.WithExcluded, hedge.With and telemetry.Record do. Most processes have none, and then no request pays for
// looking through its context. A kind that was put there once counts for good.
package given

import "sync/atomic"

// Kind is a kind of value, or several.
type Kind uint32

// The kinds.
const (
	Excluded Kind = 1 << iota // regions.WithExcluded
	Hedging                   // hedge.With
	Record                    // telemetry.Record

	Any = Excluded | Hedging | Record
)

// kinds are those that were put into a context. They are one word, for it is looked at by every request.
var kinds atomic.Uint32

// Put notes that a value of a kind is put into a context.
func Put(k Kind) {
	if !Has(k) {
		kinds.Or(uint32(k))
	}
}

// Has reports whether a value of one of the kinds may be in a context.
func Has(k Kind) bool { return kinds.Load()&uint32(k) != 0 }
