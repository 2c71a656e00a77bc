package policy_test

import (
	"context"
	"testing"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// BenchmarkHedgeArmed is [BenchmarkReadItem] with hedging armed, as it is by default.
func BenchmarkHedgeArmed(b *testing.B) { benchmarkOver(b, instantClient(b, &policy.Options{})) }

// BenchmarkReadItemArmed is for profiles.
func BenchmarkReadItemArmed(b *testing.B) { benchmarkReads(b, instantClient(b, &policy.Options{})) }

// BenchmarkReadItemOffByRequest is a request that says Off.
func BenchmarkReadItemOffByRequest(b *testing.B) {
	c := instantClient(b, &policy.Options{})
	ctx := hedge.Off(context.Background())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.ReadItem(ctx, key("a"), "1", nil); err != nil {
			b.Fatal(err)
		}
	}
}
