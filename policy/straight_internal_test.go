package policy

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/stretchr/testify/require"
)

// TestKeepAndDrop: what is kept of an operation is dropped once, whoever made it
// and however often it was throttled.
func TestKeepAndDrop(t *testing.T) {
	throttled, well := &http.Response{StatusCode: http.StatusTooManyRequests}, &http.Response{StatusCode: http.StatusOK}
	tests := []struct {
		name    string
		made    bool // by PerCall
		answers []*http.Response
		kept    int32
	}{
		{"well", false, []*http.Response{well}, 0},
		{"no answer", false, []*http.Response{nil}, 0},
		{"throttled", false, []*http.Response{throttled, well}, 1},
		{"throttled twice", false, []*http.Response{throttled, throttled, well}, 1},
		{"made by PerCall", true, []*http.Response{throttled, throttled}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b binding
			req, err := runtime.NewRequest(t.Context(), http.MethodGet, "https://acct.documents.azure.test/dbs/d/colls/c/docs/i")
			require.NoError(t, err)
			if test.made {
				req.SetOperationValue(&operation{})
			}
			for _, response := range test.answers {
				b.keep(req, &operation{}, response)
				require.LessOrEqual(t, b.kept.Load(), test.kept)
			}
			require.Equal(t, test.kept, b.kept.Load())
			if !test.made {
				b.drop(req)
			}
			require.Zero(t, b.kept.Load())
		})
	}
}
