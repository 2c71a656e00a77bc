package gateway_test

import (
	"net/http"
	"testing"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/stretchr/testify/require"
)

// BenchmarkRead is what one read of a missing item costs in each way in, a new request included.
func BenchmarkRead(b *testing.B) {
	s := gateway.NewStore()
	s.CreateContainer("db", "items", "/pk")
	g := gateway.New(gateway.Options{Upstream: s, LogLimit: -1})
	run := func(name, endpoint string, do func(*http.Request) (*http.Response, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, endpoint+"dbs/db/colls/items/docs/1", nil)
				require.NoError(b, err)
				r.Header.Set("x-ms-documentdb-partitionkey", `["a"]`)
				resp, err := do(r)
				require.NoError(b, err)
				resp.Body.Close()
			}
		})
	}
	run("memory", g.RegionEndpoint("West US"), g.Transport().Do)
	for name, p := range map[string]gateway.Protocol{"h1": gateway.HTTP1, "h2": gateway.TLSHTTP2} {
		l, err := g.Listen(p)
		require.NoError(b, err)
		run(name, l.RegionEndpoint("West US"), l.Client().Do)
		require.NoError(b, l.Close())
	}
}
