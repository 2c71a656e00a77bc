package policy_test

import (
	"context"
	"testing"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// BenchmarkHedgeArmed is [BenchmarkReadItem] with hedging armed, as it is by default.
func BenchmarkHedgeArmed(b *testing.B) { benchmarkOver(b, policy.Options{}, readOnce) }

// BenchmarkQueryArmed is [BenchmarkQuery] with hedging armed.
func BenchmarkQueryArmed(b *testing.B) { benchmarkOver(b, policy.Options{}, queryOnce) }

// BenchmarkReadItemArmed is for profiles.
func BenchmarkReadItemArmed(b *testing.B) {
	benchmarkOne(b, instantClient(b, &policy.Options{}), readOnce)
}

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

// BenchmarkQueryArmedOurs is for profiles.
func BenchmarkQueryArmedOurs(b *testing.B) {
	benchmarkOne(b, instantClient(b, &policy.Options{}), queryOnce)
}
