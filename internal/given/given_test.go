package given

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHas: a kind counts once it was put into a context, and no other does.
func TestHas(t *testing.T) {
	t.Cleanup(func() { kinds.Store(0) })
	kinds.Store(0)
	require.False(t, Has(Any))
	for i, k := range []Kind{Hedging, Excluded, Record} {
		require.False(t, Has(k))
		Put(k)
		Put(k)
		require.True(t, Has(k))
		require.True(t, Has(Any))
		require.Equal(t, i < 2, !Has(Record))
	}
	require.Equal(t, uint32(Any), kinds.Load())
}
