package regions

import (
	"context"

	"github.com/azcosmos-ha/azcosmos-ha/internal/given"
)

// excludedKey is the context key of a request's excluded regions.
type excludedKey struct{}

// WithExcluded returns a context whose requests use these excluded regions in place of the client's: the list
// replaces, it does not add. With no names, or only blank ones, the request excludes nothing, whatever the client
// excludes. Names the account lacks are ignored. The names are copied.
//
// Excluded regions are honoured by reads, and by writes on multi-write accounts; see the package comment.
func WithExcluded(ctx context.Context, names ...string) context.Context {
	given.Put(given.Excluded)
	return context.WithValue(ctx, excludedKey{}, NewNames(names...))
}

// Excluded returns the list that [WithExcluded] put into the context, and whether there is one: an empty list with
// true clears the client's. It does not allocate. The list must not be modified.
func Excluded(ctx context.Context) (Names, bool) {
	if !given.Has(given.Excluded) {
		return nil, false
	}
	names, ok := ctx.Value(excludedKey{}).(Names)
	return names, ok
}
