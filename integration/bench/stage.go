package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// partitionCount is how many partitions the container has, and keyCount how many logical keys the load is about.
const (
	partitionCount = 16
	keyCount       = 128
)

// stage is an account of its own for one contender in one scenario.
type stage struct {
	gateway  *gateway.Gateway
	endpoint string
	tap      *tap
	virtual  bool
	close    func() error
	sick     []int // the keys whose partition is the sick one
	well     []int // the others
}

// tap counts the requests for items, those that were refused among them.
type tap struct {
	next  http.RoundTripper
	items atomic.Int64
}

// RoundTrip implements [http.RoundTripper].
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/docs") {
		t.items.Add(1)
	}
	return t.next.RoundTrip(r)
}

// newStage sets an account up, in memory for virtual time or behind loopback listeners, with the container and its items.
func newStage(sc scenario, virtual bool) (*stage, error) {
	store := gateway.NewStore()
	store.CreateContainer(databaseID, containerID, "/pk")
	o := gateway.Options{
		Regions: []string{hub, home, far}, Ranges: partitionCount, Upstream: store, LogLimit: -1, Seed: 7,
	}
	if sc.failover {
		o.PartitionFailover = &sc.failover
	}
	st := &stage{gateway: gateway.New(o), virtual: virtual, close: func() error { return nil }}
	st.endpoint, st.tap = st.gateway.Endpoint(), &tap{next: st.gateway.RoundTripper()}
	if !virtual {
		l, err := st.gateway.Listen(gateway.TLSHTTP2)
		if err != nil {
			return nil, err
		}
		st.endpoint, st.tap.next, st.close = l.Endpoint(), l.Client().Transport, l.Close
	}
	if err := st.furnish(); err != nil {
		return nil, fmt.Errorf("furnish: %w", err)
	}
	for region, d := range map[string]time.Duration{hub: distant, home: nearby, far: distant, gateway.Global: distant} {
		st.gateway.SetLatency(region, d)
	}
	return st, nil
}

// furnish makes the items, and sorts their keys by partition.
func (st *stage) furnish() error {
	a, err := plain.build(st.setting())
	if err != nil {
		return err
	}
	defer a.close()
	for i := range keyCount {
		if err := a.upsert(context.Background(), partitionName(i), itemOf(partitionName(i), "1")); err != nil {
			return err
		}
		if st.gateway.RangeOf(containerID, "["+strconv.Quote(partitionName(i))+"]") == sickRange {
			st.sick = append(st.sick, i)
		} else {
			st.well = append(st.well, i)
		}
	}
	if len(st.sick) == 0 {
		return fmt.Errorf("no key of %d is in partition %s", keyCount, sickRange)
	}
	return nil
}

func (st *stage) setting() setting {
	return setting{
		endpoint: st.endpoint, preferred: []string{home, hub, far}, transport: st.tap, threshold: threshold, virtual: st.virtual,
	}
}
