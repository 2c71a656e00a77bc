package policy_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// BenchmarkHedgeArmed measures a healthy ReadItem with hedging armed against
// plain azcosmos, and against our policies without hedging, in alternating
// rounds of one process. It reports the median ratios.
func BenchmarkHedgeArmed(b *testing.B) {
	clients := []*azcosmos.ContainerClient{
		instantClient(b, nil),
		instantClient(b, &policy.Options{Hedge: hedge.Options{Disabled: true}}),
		instantClient(b, &policy.Options{}),
	}
	round := func(c *azcosmos.ContainerClient) time.Duration {
		start := time.Now()
		for range 300 {
			readOnce(b, c)
		}
		return time.Since(start)
	}
	for _, c := range clients {
		round(c)
	}
	var overPlain, overOff []float64
	var total time.Duration
	for b.Loop() {
		var took [3]time.Duration
		for _, i := range []int{0, 1, 2, 2, 1, 0} {
			took[i] += round(clients[i])
		}
		overPlain = append(overPlain, float64(took[2])/float64(took[0]))
		overOff = append(overOff, float64(took[2])/float64(took[1]))
		total += took[0]
	}
	slices.Sort(overPlain)
	slices.Sort(overOff)
	b.ReportMetric(100*(overPlain[len(overPlain)/2]-1), "%-over-plain")
	b.ReportMetric(100*(overOff[len(overOff)/2]-1), "%-over-off")
	b.ReportMetric(float64(total.Nanoseconds())/float64(len(overPlain)*600), "ns/plain-read")
	b.ReportMetric(0, "ns/op")
}

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
