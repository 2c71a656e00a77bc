package policy_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// readings counts the reads of containers and of ranges in the log.
func (w *circuitWorld) readings() (containers, ranges int) {
	for _, e := range w.Log() {
		switch e.Operation {
		case "container/read":
			containers++
		case "pkranges":
			ranges++
		}
	}
	return containers, ranges
}

// bound binds the client and waits for the first reading of the ranges of items.
func (w *circuitWorld) bound() {
	w.Helper()
	w.ha.Bind(w.client)
	w.times(1, readKey, w.container, w.p1)
	containers, ranges := w.readings()
	require.Equal(w, [2]int{1, 2}, [2]int{containers, ranges})
}

// forced is what one reading past azcosmos's cache costs: the container twice,
// as azcosmos reads it too, and the ranges until 304.
var forced = [2]int{2, 2}

// pages is a rule for what Bind reads: containers and ranges.
func pages(r gateway.Rule) gateway.Rule {
	r.Operations = []string{"container/read", "pkranges"}
	return r
}

// TestBindReadsRangesOnce: one reading for each container that is used, in the
// background and by nobody waited for; the partitions are known by range then.
func TestBindReadsRangesOnce(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.Inject(pages(gateway.Rule{Delay: 2 * time.Second}))
		w.ha.Bind(w.client)
		w.times(20, readKey, w.container, w.p1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		containers, ranges := w.readings()
		require.Equal(w, 1, containers)
		require.Equal(w, 2, ranges, "azcosmos reads until 304")
		w.times(20, readKey, w.container, w.p1)
		w.times(20, queryAll, w.container, w.p1)
		containers, ranges = w.readings()
		require.Zero(w, containers+ranges)
		w.sick(A)
		w.times(1, readKey, w.container, w.p1)
		require.Equal(w, "range", w.knownBy())
	})
}

// TestBindAgainAndNil: a second Bind replaces the first, nil does nothing.
func TestBindAgainAndNil(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.ha.Bind(nil)
		w.times(1, readKey, w.container, w.p1)
		containers, _ := w.readings()
		require.Zero(w, containers)
		other, _ := w.newClient(setup{})
		other.Close()
		w.ha.Bind(other)
		w.ha.Bind(w.client)
		w.times(3, readKey, w.container, w.p1)
		containers, ranges := w.readings()
		require.Equal(w, [2]int{1, 2}, [2]int{containers, ranges})
		w.ha.Bind(nil)
		w.times(3, readKey, w.other, w.p1)
		containers, _ = w.readings()
		require.Equal(w, 1, containers, "still bound")
	})
}

// TestBindThatFails: whatever keeps the ranges from being read, requests go on,
// the breaker counts by key, and there is one reading in 30 s.
func TestBindThatFails(t *testing.T) {
	tests := []struct {
		name string
		rule gateway.Rule
		most int // reads of the container within the 31 s of the test
	}{
		{"401", gateway.Rule{Status: 401}, 2},
		{"404", gateway.Rule{Status: 404}, 2},
		{"503 everywhere", gateway.Rule{Status: 503}, 2 * 3},
		{"not JSON", gateway.Rule{Status: 200, Body: "<html>"}, 2},
		{"empty", gateway.Rule{Status: 200, Body: "{}"}, 2},
		{"hangs", gateway.Rule{Kind: gateway.Hang}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				bad := w.Inject(pages(test.rule))
				w.ha.Bind(w.client)
				w.ResetLog()
				for range 31 {
					w.one(w.Context(), readKey, w.container, w.p1)
					time.Sleep(time.Second)
				}
				containers, _ := w.readings()
				require.Positive(w, containers)
				require.LessOrEqual(w, containers, test.most)
				fault := w.sick(A)
				w.open(readKey, 10)
				require.NotEqual(w, "range", w.knownBy())
				fault.Remove()

				// The reading succeeds as soon as it can.
				bad.Remove()
				time.Sleep(time.Minute)
				w.times(1, readKey, w.container, w.p2)
				containers, ranges := w.readings()
				require.Equal(w, [2]int{1, 2}, [2]int{containers, ranges})
				time.Sleep(time.Minute)
				w.times(1, readKey, w.container, w.p2)
				containers, _ = w.readings()
				require.Zero(w, containers, "read for good")
			})
		})
	}
}

// TestBindGapsAndOverlaps: ranges that do not cover everything once are no map:
// requests go on, and the breaker counts by key.
func TestBindGapsAndOverlaps(t *testing.T) {
	for name, body := range map[string]string{
		"gap":     `{"_rid":"x","PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"1F"},{"id":"1","minInclusive":"2F","maxExclusive":"FF"}]}`,
		"overlap": `{"_rid":"x","PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"2F"},{"id":"1","minInclusive":"1F","maxExclusive":"FF"}]}`,
		"none":    `{"_rid":"x","PartitionKeyRanges":[]}`,
		"no end":  `{"_rid":"x","PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"1F"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				found, _ := w.store.Lookup(w.Context(), "db", "items")
				body := strings.Replace(body, `"x"`, strconv.Quote(found.RID), 1)
				w.Inject(gateway.Rule{Operations: []string{"pkranges"}, Status: 200, Body: body, Hits: 1})
				w.Inject(gateway.Rule{Operations: []string{"pkranges"}, Status: 304})
				w.ha.Bind(w.client)
				w.sick(A)
				w.open(readKey, 10)
				require.NotEqual(w, "range", w.knownBy())
				require.Equal(w, "A A", w.times(2, readKey, w.container, w.p2))
			})
		})
	}
}

// TestBindClosedClient: a bound client that was closed harms nobody.
func TestBindClosedClient(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		closed, _ := w.newClient(setup{})
		w.ha.Bind(closed)
		closed.Close()
		w.times(1, readKey, w.container, w.p1)
		w.sick(A)
		w.open(readKey, 10)
		time.Sleep(time.Minute)
		require.Equal(w, "A A", w.times(2, readKey, w.container, w.p2))
	})
}

// TestBindPanickingTransport: a transport that panics while ranges are read
// harms no request.
func TestBindPanickingTransport(t *testing.T) {
	change := func(o *azcosmos.ClientOptions) {
		next := o.Transport
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/colls/items") {
				panic("transport")
			}
			return next.Do(r)
		})
	}
	inCircuit(t, setup{change: change}, func(w *circuitWorld) {
		w.ha.Bind(w.client)
		w.sick(A)
		w.open(readKey, 10)
	})
}

// TestBindCloseEndsReading: Close ends a reading in flight.
func TestBindCloseEndsReading(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.Inject(gateway.Rule{Operations: []string{"container/read"}, Kind: gateway.Hang})
		w.ha.Bind(w.client)
		w.times(1, readKey, w.container, w.p1)
		require.Equal(w, 1, w.inFlight())
		w.ha.Close()
		synctest.Wait()
		require.Zero(w, w.inFlight())
		w.times(1, readKey, w.container, w.p1)
		time.Sleep(time.Minute)
		w.times(1, readKey, w.container, w.p1)
		require.Zero(w, w.inFlight(), "nothing is read any more")
	})
}

func (w *circuitWorld) inFlight() int {
	now, _ := w.InFlight()
	return now
}

// TestBindGone: 410 of a partition counts for nothing, and makes one reading
// past azcosmos's cache for each container and 30 s.
func TestBindGone(t *testing.T) {
	for _, sub := range []int{1000, 1002, 1007, 1008} {
		inCircuit(t, setup{}, func(w *circuitWorld) {
			w.bound()
			gone := w.Inject(gateway.Rule{Container: "items", Status: 410, SubStatus: sub})
			time.Sleep(time.Minute)
			w.ResetLog()
			var callers sync.WaitGroup
			for range 50 {
				callers.Go(func() { _, _ = readKey(w.Context(), w.container, w.p1) })
			}
			callers.Wait()
			synctest.Wait()
			containers, ranges := w.readings()
			require.Equal(w, [2]int{containers, ranges}, forced)
			require.Empty(w, w.unwell())
			for range 29 {
				time.Sleep(time.Second)
				_, _ = readKey(w.Context(), w.container, w.p1)
				synctest.Wait()
			}
			containers, ranges = w.readings()
			require.Equal(w, [2]int{containers, ranges}, forced, "not more often than every 30 s")
			time.Sleep(time.Second)
			_, _ = readKey(w.Context(), w.container, w.p1)
			synctest.Wait()
			containers, _ = w.readings()
			require.Equal(w, 2*forced[0], containers)

			gone.Remove()
			time.Sleep(time.Minute)
			w.times(1, readKey, w.container, w.p1)
			w.sick(A)
			w.times(1, readKey, w.container, w.p1)
			require.Equal(w, "range", w.knownBy())
		})
	}
}

// TestBindSplit: an answer from a range that the map does not have makes one
// reading; what was counted for the parent goes to no child; of the children,
// the one that is well never leaves A. So it is for every later split.
func TestBindSplit(t *testing.T) {
	inCircuit(t, setup{gateway: gateway.Options{Ranges: 1}}, func(w *circuitWorld) {
		w.bound()
		for round := range 3 {
			time.Sleep(time.Minute)
			parent := w.sick(A)
			w.open(readKey, 10)
			require.Equal(w, "range", w.knownBy())
			w.Split("items", w.rangeOf(w.p1))
			parent.Remove()
			sibling := w.keyOutside(w.rangeOf(w.p1))
			_, err := upsertKey(w.Context(), w.container, sibling)
			require.NoError(w, err)
			w.ResetLog()

			// The answer of B names a child: the map is read anew.
			w.one(w.Context(), readKey, w.container, w.p1)
			synctest.Wait()
			containers, ranges := w.readings()
			require.Equal(w, [2]int{containers, ranges}, forced, "round %d", round)

			// The parent's records are nobody's; p1's child is sick, its sibling is not.
			child := w.sick(A)
			require.Equal(w, repeat("A B", 10)+" B B", w.times(12, readKey, w.container, w.p1), "round %d", round)
			require.Equal(w, repeat("A", 12), w.times(12, readKey, w.container, sibling), "round %d", round)
			child.Remove()
			time.Sleep(time.Hour)
			w.times(1, readKey, w.container, w.p1)
			time.Sleep(time.Minute)
			w.times(1, readKey, w.container, w.p1)
			require.Empty(w, w.unwell(), "all of it lapses")
		}
	})
}

// TestBindRangesOfAnotherClient: azcosmos remembers ranges for the whole
// process. When a client without our policies has read them, only the bounds
// are known; a split is seen none the less.
func TestBindRangesOfAnotherClient(t *testing.T) {
	inCircuit(t, setup{gateway: gateway.Options{Ranges: 1}}, func(w *circuitWorld) {
		_, plain := w.newClient(setup{plain: true})
		_, err := plain.ReadFeedRanges(w.Context(), nil)
		require.NoError(w, err)
		w.ha.Bind(w.client)
		w.times(1, readKey, w.container, w.p1)
		containers, ranges := w.readings()
		require.Equal(w, [2]int{1, 0}, [2]int{containers, ranges})

		fault := w.sick(A)
		w.open(readKey, 10)
		require.Equal(w, "range", w.knownBy())
		time.Sleep(time.Minute)
		w.Split("items", w.rangeOf(w.p1))
		fault.Remove()
		w.one(w.Context(), readKey, w.container, w.p1)
		synctest.Wait()
		w.sick(A)
		w.ResetLog()
		sibling := w.keyOutside(w.rangeOf(w.p1))
		_, err = upsertKey(w.Context(), w.container, sibling)
		require.NoError(w, err)
		require.Equal(w, repeat("A B", 10)+" B", w.times(11, readKey, w.container, w.p1))
		require.Equal(w, "A A", w.times(2, readKey, w.container, sibling))
	})
}

// TestBindSplitWhileReading: a 410 that comes while the ranges are read from
// azcosmos's cache is not lost: what was read is not used, and read again.
func TestBindSplitWhileReading(t *testing.T) {
	inCircuit(t, setup{}, func(w *circuitWorld) {
		w.Inject(pages(gateway.Rule{Delay: time.Second}))
		w.ha.Bind(w.client)
		w.times(1, readKey, w.container, w.p1) // a reading of 3 s begins
		time.Sleep(2500 * time.Millisecond)
		w.Inject(gateway.Rule{Container: "items", Operations: []string{"read"}, Status: 410, SubStatus: 1002, Hits: 1})
		_, _ = readKey(w.Context(), w.container, w.p1)
		time.Sleep(5 * time.Second)
		fault := w.sick(A)
		w.times(1, readKey, w.container, w.p1)
		require.NotEqual(w, "range", w.knownBy())
		fault.Remove()
		time.Sleep(time.Minute)
		w.times(1, readKey, w.container, w.p1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		containers, ranges := w.readings()
		require.Equal(w, [2]int{containers, ranges}, forced, "read again")
		w.sick(A)
		w.times(1, readKey, w.container, w.p1)
		found := false
		for _, u := range w.ha.State().Accounts[0].Unwell {
			found = found || strings.HasPrefix(u.Partition, "range [")
		}
		require.True(w, found, "known by range")
	})
}

// recreate deletes the container "items" and makes it anew under its name.
func (w *circuitWorld) recreate() {
	w.Helper()
	_, err := w.container.Delete(w.Context(), nil)
	require.NoError(w, err)
	database, err := w.client.NewDatabase("db")
	require.NoError(w, err)
	_, err = database.CreateContainer(w.Context(), azcosmos.ContainerProperties{
		ID:                     "items",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	require.NoError(w, err)
	_, err = upsertKey(w.Context(), w.container, w.p1)
	require.NoError(w, err)
}

// TestRecreatedContainer: a container that was made anew under its old name
// inherits nothing from the moment on that its RID has passed, with Bind and
// without; a bound client reads its ranges.
func TestRecreatedContainer(t *testing.T) {
	for _, k := range knowledges {
		t.Run(k.name, func(t *testing.T) {
			inCircuit(t, setup{}, func(w *circuitWorld) {
				w.prepare(k, readKey)
				_, err := w.container.Read(w.Context(), nil)
				require.NoError(w, err)
				fault := w.sick(A)
				w.open(readKey, 10)
				fault.Remove()
				w.recreate()
				time.Sleep(10 * time.Second)
				require.Equal(w, "B", w.times(1, readKey, w.container, w.p1), "nobody knows yet")
				_, err = w.container.Read(w.Context(), nil)
				require.NoError(w, err)
				require.Equal(w, "A A", w.times(2, readKey, w.container, w.p1))
				time.Sleep(time.Minute)
				w.times(1, readKey, w.container, w.p1)
				w.sick(A)
				w.open(readKey, 10)
				known := []string{}
				for _, u := range w.ha.State().Accounts[0].Unwell {
					known = append(known, strings.Fields(u.Partition)[0]+" "+strings.Fields(u.Partition)[1])
				}
				require.Len(w, known, 2, "the old container's record, and the new one's")
				if k.bind {
					require.Contains(w, strings.Join(known, ","), "range [", "the ranges were read again")
				}
			})
		})
	}
}
