package policy

import (
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// partitions is what is known of the partitions of an account's containers. It
// is fed by the answers that pass through, and by a bound client.
type partitions struct {
	scope   uint64                                    // of the account, for the identities; see scopeOf
	maps    atomic.Pointer[map[string]*partition.Map] // by container link; copied on each write
	learned *partition.Learned                        // ranges of logical keys, where there is no map
	scopes  atomic.Pointer[map[string]uint64]         // of containers that were made anew, by link; copied on each write

	mutex      sync.Mutex // guards the writes of maps and scopes, and what follows
	containers map[string]containerFacts

	namesMutex sync.RWMutex      // guards names; a request never waits for a range map that is being made
	names      map[uint64]string // container links by the identity of what was unwell in them
}

// containerFacts is a container whose ranges may not be known yet.
type containerFacts struct {
	rid        string
	definition partition.Definition
	ranges     []partition.Range
}

// maxContainers bounds what is kept for containers that come and go.
const maxContainers = 10_000

var scopeSeed = maphash.MakeSeed()

func newPartitions(account string) *partitions {
	p := &partitions{
		scope:      maphash.String(scopeSeed, account),
		learned:    partition.NewLearned(0),
		containers: make(map[string]containerFacts),
		names:      make(map[uint64]string),
	}
	p.maps.Store(&map[string]*partition.Map{})
	p.scopes.Store(&map[string]uint64{})
	return p
}

// mapOf is the range map of a container, nil while it is not known.
func (p *partitions) mapOf(link string) *partition.Map { return (*p.maps.Load())[link] }

// watch learns from the answer to a read of a container or of its ranges. An
// incremental answer tells what has changed since an earlier one.
func (p *partitions) watch(info request.Info, incremental bool, response *http.Response) {
	if response == nil || response.StatusCode != http.StatusOK || info.ContainerLink == "" {
		return
	}
	container := info.Resource == request.ResCollection && info.Operation == request.OpRead
	ranges := info.Resource == request.ResPartitionKeyRange && info.Operation == request.OpReadFeed
	if !container && !ranges {
		return
	}
	content, err := runtime.Payload(response)
	if err != nil {
		return
	}
	if container {
		_ = p.learnContainer(info.ContainerLink, content)
		return
	}
	if rid, list, err := partition.ParseRanges(content); err == nil {
		_ = p.learnRanges(info.ContainerLink, rid, list, incremental)
	}
}

// learnContainer takes over a container answer. A container that was made anew
// under its old name starts without ranges.
func (p *partitions) learnContainer(link string, content []byte) error {
	rid, definition, err := partition.ParseContainer(content)
	if err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	facts := p.containers[link]
	if facts.rid != "" && facts.rid != rid {
		facts = containerFacts{}
		p.replace(link, nil)
		p.renew(link)
	}
	facts.rid, facts.definition = rid, definition
	return p.settle(link, facts)
}

// learnRanges takes over an answer that holds ranges of a container: the first
// page of all of them, or more of them.
func (p *partitions) learnRanges(link, rid string, ranges []partition.Range, more bool) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	facts := p.containers[link]
	if facts.rid != "" && rid != "" && facts.rid != rid {
		// Of another container by that name, which a container answer has to tell first.
		facts.ranges = nil
		p.keep(link, facts)
		p.replace(link, nil)
		return nil
	}
	if facts.rid == "" {
		facts.rid = rid
	}
	if more {
		ranges = slices.Concat(facts.ranges, ranges)
	}
	facts.ranges = ranges
	return p.settle(link, facts)
}

// learnFeed takes over all ranges of a container, as bounds without ids.
func (p *partitions) learnFeed(link string, ranges []partition.Range) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if sameBounds(p.mapOf(link), ranges) {
		return nil // the map there is may know the ids as well
	}
	facts := p.containers[link]
	facts.ranges = ranges
	return p.settle(link, facts)
}

func sameBounds(m *partition.Map, ranges []partition.Range) bool {
	if m == nil || m.Len() != len(ranges) {
		return false
	}
	for i, r := range ranges {
		if at := m.At(i); at.Min != r.Min || at.Max != r.Max {
			return false
		}
	}
	return true
}

// settle makes the range map as soon as definition and ranges are there. A
// picture with gaps keeps the map there was. The caller holds the mutex.
func (p *partitions) settle(link string, facts containerFacts) error {
	p.keep(link, facts)
	defined := facts.definition != partition.Definition{}
	if !defined || len(facts.ranges) == 0 {
		return nil
	}
	made, err := partition.NewMap(facts.rid, facts.definition, facts.ranges)
	if err == nil {
		p.replace(link, made)
	}
	return err
}

func (p *partitions) keep(link string, facts containerFacts) {
	if _, known := p.containers[link]; known || len(p.containers) < maxContainers {
		p.containers[link] = facts
	}
}

// replace publishes a container's map; nil takes it away.
func (p *partitions) replace(link string, m *partition.Map) {
	before := *p.maps.Load()
	after := maps.Clone(before)
	switch {
	case m == nil:
		delete(after, link)
	case before[link] != nil || len(before) < maxContainers:
		after[link] = m
	}
	p.maps.Store(&after)
}

// forget drops a container's ranges: they have changed.
func (p *partitions) forget(link string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if facts, known := p.containers[link]; known {
		facts.ranges = nil
		p.containers[link] = facts
	}
	if p.mapOf(link) != nil {
		p.replace(link, nil)
	}
}

// renew gives a container that was made anew under its old name a scope of its
// own: what is known by name only must not be inherited either. The caller
// holds the mutex.
func (p *partitions) renew(link string) {
	after := maps.Clone(*p.scopes.Load())
	if _, known := after[link]; known || len(after) < maxContainers {
		after[link] = p.scopeOf(link) + 1
		p.scopes.Store(&after)
	}
}

// scopeOf is the scope of a container's identities.
func (p *partitions) scopeOf(link string) uint64 {
	if scope, renewed := (*p.scopes.Load())[link]; renewed {
		return scope
	}
	return p.scope
}
