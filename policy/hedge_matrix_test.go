package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// text is what every item of the matrix carries, so that a body that is cut
// short shows.
var text = strings.Repeat("0123456789abcdef", 1<<10)

// whole checks one item as it came from a region.
func whole(content []byte) error {
	var it struct{ ID, Text string }
	if err := json.Unmarshal(content, &it); err != nil {
		return err
	}
	if it.ID != "1" || it.Text != text {
		return fmt.Errorf("item %q with a text of %d bytes", it.ID, len(it.Text))
	}
	return nil
}

func wholePage(items [][]byte) error {
	if len(items) != 1 {
		return fmt.Errorf("%d items", len(items))
	}
	return whole(items[0])
}

// matrixOps are the operations of the matrix on the item "1" of partition "a".
// Each returns nil if its answer is whole.
var matrixOps = []struct {
	name  string
	write bool
	call  func(context.Context, *azcosmos.ContainerClient) error
}{
	{"read", false, func(ctx context.Context, c *azcosmos.ContainerClient) error {
		r, err := c.ReadItem(ctx, key("a"), "1", nil)
		if err != nil {
			return err
		}
		return whole(r.Value)
	}},
	{"query", false, func(ctx context.Context, c *azcosmos.ContainerClient) error {
		r, err := c.NewQueryItemsPager("SELECT * FROM c", key("a"), nil).NextPage(ctx)
		if err != nil {
			return err
		}
		return wholePage(r.Items)
	}},
	{"query across", false, func(ctx context.Context, c *azcosmos.ContainerClient) error {
		r, err := c.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), nil).NextPage(ctx)
		if err != nil {
			return err
		}
		return wholePage(r.Items)
	}},
	{"read-many", false, func(ctx context.Context, c *azcosmos.ContainerClient) error {
		r, err := c.ReadManyItems(ctx, []azcosmos.ItemIdentity{{ID: "1", PartitionKey: key("a")}}, nil)
		if err != nil {
			return err
		}
		return wholePage(r.Items)
	}},
	{"change feed", false, func(ctx context.Context, c *azcosmos.ContainerClient) error {
		r, err := c.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}})
		if err != nil {
			return err
		}
		return wholePage(r.Items)
	}},
	{"upsert", true, func(ctx context.Context, c *azcosmos.ContainerClient) error {
		r, err := c.UpsertItem(ctx, key("a"), fmt.Appendf(nil, `{"id":"1","pk":"a","text":%q}`, text), &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
		if err != nil {
			return err
		}
		return whole(r.Value)
	}},
}

// matrixFault is a fault of one region, and what the judge says of it.
type matrixFault struct {
	name        string
	rule        gateway.Rule
	latency     bool // the region's own latency passes first
	extra       time.Duration
	read, write twinLeg
}

var (
	goesOn = twinLeg{next: true}
	stops  = twinLeg{}
	final  = twinLeg{final: true, says: "whole"}
)

var matrixFaults = []matrixFault{
	{name: "none", rule: gateway.Rule{Region: "nowhere"}, latency: true, read: final, write: final},
	{name: "slow", rule: gateway.Rule{Kind: gateway.Slow, Delay: 300 * ms}, latency: true, extra: 300 * ms, read: final, write: final},
	{name: "408", rule: gateway.Rule{Status: 408}, latency: true, read: goesOn, write: stops},
	{name: "429/3200", rule: gateway.Rule{Status: 429, SubStatus: 3200}, latency: true, read: stops, write: stops},
	{name: "449", rule: gateway.Rule{Status: 449}, latency: true, read: stops, write: stops},
	{name: "500", rule: gateway.Rule{Status: 500}, latency: true, read: goesOn, write: stops},
	{name: "503", rule: gateway.Rule{Status: 503}, latency: true, read: goesOn, write: goesOn},
	{name: "404/1002", rule: gateway.Rule{Status: 404, SubStatus: 1002}, latency: true, read: twinLeg{write: true}, write: goesOn},
	{name: "410/1007", rule: gateway.Rule{Status: 410, SubStatus: 1007}, latency: true, read: stops, write: stops},
	{name: "hang", rule: gateway.Rule{Kind: gateway.Hang}, extra: never, read: stops, write: stops},
	// It marks the region, so it is the last one.
	{name: "refused", rule: gateway.Rule{Kind: gateway.Refuse}, read: goesOn, write: goesOn},
}

// leg is how a region with the fault answers an operation.
func (f *matrixFault) leg(write bool, latency time.Duration) twinLeg {
	leg := f.read
	if write {
		leg = f.write
	}
	leg.after = f.extra
	if f.latency {
		leg.after += latency
	}
	return leg
}

var latencies = map[string]time.Duration{A: 3 * ms, B: 20 * ms, C: 41 * ms}

// TestHedgeMatrix puts every operation through every fault of the first region,
// and through those of the second that matter, with and without preferred
// regions: the answer is whole, the regions and the time are the twin's, no
// region is asked twice, and nothing is left behind.
func TestHedgeMatrix(t *testing.T) {
	for _, op := range matrixOps {
		for _, preferred := range [][]string{nil, {B, C, A}} {
			t.Run(fmt.Sprintf("%s/%d preferred", op.name, len(preferred)), func(t *testing.T) {
				for _, first := range matrixFaults {
					for _, second := range matrixFaults {
						if !slices.Contains([]string{"none", "slow", "503", "429/3200", "hang"}, second.name) {
							continue
						}
						s := setup{policy: hedgedAt(100 * ms), hedged: true, preferred: preferred}
						s.policy.Hedge.Step, s.policy.Hedge.Writes = 50*ms, true
						s.gateway = gateway.Options{Account: fmt.Sprintf("matrix%d", accounts.Add(1)), MultiWrite: op.write, Latency: latencies}
						list := []string{A, B, C}
						if preferred != nil {
							list = preferred
						}
						twin := twinRace{
							list: list, home: A, threshold: 100 * ms, step: 50 * ms, hedges: 2, until: 10 * time.Second,
							leg: map[string]twinLeg{
								list[0]: first.leg(op.write, latencies[list[0]]),
								list[1]: second.leg(op.write, latencies[list[1]]),
								list[2]: final,
							},
						}
						last := twin.leg[list[2]]
						last.after = latencies[list[2]]
						twin.leg[list[2]] = last
						inMatrix(t, s, func(w *world) {
							for i, f := range []matrixFault{first, second} {
								if f.rule.Region == "" {
									f.rule.Region = list[i]
								}
								w.Inject(f.rule)
							}
							says, asked, took := twin.run()
							w.requireMatrix(op.call, says, lettersOf(strings.Split(asked, " ")), took, first.name+" then "+second.name)
						})
					}
				}
			})
		}
	}
}

// inMatrix runs a test in a world whose item "1" is large, and whose ranges
// azcosmos knows already.
func inMatrix(t *testing.T, s setup, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		w.prepareMatrix()
		test(w)
	})
}

func (w *world) prepareMatrix() {
	w.Helper()
	_, err := w.container.UpsertItem(w.Context(), key("a"), fmt.Appendf(nil, `{"id":"1","pk":"a","text":%q}`, text), nil)
	require.NoError(w, err)
	for _, op := range matrixOps[3:5] {
		require.NoError(w, op.call(w.Context(), w.container))
	}
	w.ResetLog()
}

// requireMatrix makes the call and requires the answer ("whole"), the regions,
// the virtual time, and that nothing is left in flight when it returns.
func (w *world) requireMatrix(call func(context.Context, *azcosmos.ContainerClient) error, says, asked string, took time.Duration, what string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
	defer cancel()
	start := time.Now()
	err := call(ctx, w.container)
	elapsed := time.Since(start)
	got := "whole"
	if err != nil {
		got = outcomeOf(&http.Response{StatusCode: 200}, err)
	}
	require.Equal(w, asked, w.data(), what)
	require.Equal(w, says, got, "%s: %v", what, err)
	require.Equal(w, took, elapsed, what)
	synctest.Wait()
	now, _ := w.InFlight()
	require.Zero(w, now, what)
	require.Zero(w, hedgesRunning(), what)
}

// hedgesRunning counts the goroutines of hedges.
func hedgesRunning() int {
	buffer := make([]byte, 1<<20)
	return strings.Count(string(buffer[:runtime.Stack(buffer, true)]), "hedgeLeg")
}
