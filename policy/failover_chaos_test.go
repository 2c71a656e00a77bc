package policy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// FuzzFailover lets everything change at random while writers and readers are
// at work: the partition's write region, the account's, its regions, its kind,
// its flag, faults of every kind. However it goes,
//
//   - a write that succeeded took effect once, one that a region surely did not
//     carry out not at all, and every other one at most once,
//   - no call outlives its deadline,
//   - and when peace returns, one write finds the partition and the next goes
//     straight there.
func FuzzFailover(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			c := &chaos{random: rand.New(rand.NewPCG(seed, 4))}
			c.world = newWorld(t, c.setup())
			c.warm()
			for range 50 {
				c.step()
			}
			c.peace()
		})
	})
}

type chaos struct {
	*world
	random *rand.Rand
	made   int
}

func (c *chaos) one(list ...string) string { return list[c.random.IntN(len(list))] }

func (c *chaos) setup() setup {
	s := ppafAccount(1)
	s.gateway.Latency = map[string]time.Duration{}
	for _, r := range []string{A, B, C} {
		s.gateway.Latency[r] = time.Duration(c.random.IntN(20)) * time.Millisecond
	}
	s.hedged = c.random.IntN(2) == 0
	s.preferred = [][]string{nil, {A, B, C}, {C, B, A}, {B}}[c.random.IntN(4)]
	s.policy = policy.Options{
		Failover: ppaf.Options{Timeouts: c.random.IntN(4), Mode: []ppaf.Mode{ppaf.FromAccount, ppaf.FromAccount, ppaf.On}[c.random.IntN(3)]},
		Retry: policy.RetryOptions{
			MaxAttempts:    c.random.IntN(4),
			AttemptTimeout: time.Duration(c.random.IntN(2)) * 300 * time.Millisecond,
		},
	}
	return s
}

// step changes something, or lets one to four calls run at once.
func (c *chaos) step() {
	if c.random.IntN(3) == 0 {
		c.upset()
	}
	if c.random.IntN(6) == 0 {
		time.Sleep([]time.Duration{time.Second, time.Minute, 6 * time.Minute}[c.random.IntN(3)])
	}
	var calls sync.WaitGroup
	for range 1 + c.random.IntN(4) {
		patience := time.Duration(c.random.IntN(8000)+1) * time.Millisecond
		excluded := [][]string{nil, nil, {A}, {B, C}}[c.random.IntN(4)]
		c.made++
		id, reads := fmt.Sprint("chaos", c.made), c.random.IntN(3) == 0
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(regions.WithExcluded(c.Context(), excluded...), patience)
			defer cancel()
			start := time.Now()
			if reads {
				_, _ = read(ctx, c.container)
			} else {
				c.create(ctx, id)
			}
			assert.LessOrEqual(c, time.Since(start), patience, "the deadline")
		})
		if c.random.IntN(2) == 0 {
			c.upset()
		}
	}
	calls.Wait()
}

// create makes an item and holds the outcome against the store.
func (c *chaos) create(ctx context.Context, id string) {
	r, err := c.container.CreateItem(ctx, key("a"), item(id, "a", 1), &azcosmos.ItemOptions{})
	got, effects := outcomeOf(r.RawResponse, err), len(c.store.Executions("items", id))
	switch got {
	case "201":
		assert.Equal(c, 1, effects, got)
	case "403/3", "403/1008", "503", "410/1022", "429/3092":
		assert.Zero(c, effects, got)
	case "408", "504", "error", "deadline":
		assert.LessOrEqual(c, effects, 1, got)
	default:
		assert.Fail(c, "outcome", got)
	}
}

// upset changes the account or breaks something for a while.
func (c *chaos) upset() {
	on := c.random.IntN(2) == 0
	switch c.random.IntN(12) {
	case 0, 1:
		c.MoveRange("items", "0", c.one(A, B, C, ""))
	case 2:
		c.Elect("items", "0")
	case 3:
		c.flag(on)
	case 4:
		c.SetFlags(nil, nil)
	case 5:
		c.SetRegions([][]string{{A, B, C}, {A, B, C}, {C, B, A}, {A, C}, {B}}[c.random.IntN(5)]...)
	case 6:
		c.SetWriteRegion(c.one(A, B, C))
	case 7:
		c.SetMultiWrite(on && c.random.IntN(2) == 0)
	case 8:
		c.Down(c.one(A, B, C))
	case 9:
		for _, r := range []string{A, B, C} {
			c.Up(r)
		}
	default:
		c.fault()
	}
}

func (c *chaos) fault() {
	faults := []gateway.Rule{
		{Status: 403, SubStatus: 3},
		{Status: 403, SubStatus: 1008},
		{Status: 503},
		{Status: 410, SubStatus: 1022},
		{Status: 429, SubStatus: 3092},
		{Status: 408},
		{Status: 504},
		{Kind: gateway.Refuse},
		{Kind: gateway.Reset},
		{Kind: gateway.Lost},
		{Kind: gateway.Slow, Delay: 2 * time.Second},
		{Kind: gateway.Hang},
		{Delay: time.Second},
	}
	r := faults[c.random.IntN(len(faults))]
	r.Region, r.Hits = c.one(A, B, C, ""), 1+c.random.IntN(12)
	r.Operations = []string{c.one("write", "data")}
	if c.random.IntN(8) == 0 {
		r = gateway.Rule{Region: r.Region, Operations: []string{"readop"}, Status: 404, SubStatus: 1002, Hits: 5}
	}
	c.Inject(r)
}

// peace makes everything well again.
func (c *chaos) peace() {
	c.RemoveAll()
	for _, r := range []string{A, B, C} {
		c.Up(r)
	}
	c.SetRegions(A, B, C)
	c.SetWriteRegion(A)
	c.SetMultiWrite(false)
	c.flag(true)
	c.MoveRange("items", "0", C)
	time.Sleep(30 * time.Minute) // all marks, openings and timeouts have lapsed
	c.awaitRefresh()
	c.awaitRefresh()
	_, err := upsert(c.Context(), c.container)
	require.NoError(c, err)
	c.ResetLog()
	got, _ := c.do(c.Context(), upsert)
	require.Equal(c, "200", got)
	require.Equal(c, "C", c.contacted())
	require.Equal(c, []string{"C"}, c.overrides())
	require.Empty(c, c.store.Repeated())
}
