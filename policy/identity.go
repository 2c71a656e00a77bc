package policy

import (
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// resolve names the partition of a request as well as it is known: by its
// range id, by the range map, by the range that its key was last answered
// from, or by the key alone.
func (p *partitions) resolve(info request.Info) (partition.ID, partition.Known) {
	id, known := partition.Resolve(p.scope, info.ContainerLink, p.mapOf(info.ContainerLink), info.RangeID, info.PartitionKey)
	if known == partition.ByLogicalKey {
		if ranged, ok := p.learned.Lookup(id); ok {
			return ranged, partition.ByRangeID
		}
	}
	return id, known
}

// seen notes the range id of an answer to a request by key. It returns the
// identity of that range, and whether the answer shows that the container's
// ranges are not what we took them for.
func (p *partitions) seen(info request.Info, rangeID string) (moved bool, id partition.ID) {
	m := p.mapOf(info.ContainerLink)
	if m == nil {
		key, _ := partition.Resolve(p.scope, info.ContainerLink, nil, "", info.PartitionKey)
		moved = p.learned.Learn(key, rangeID)
		id, _ = partition.Resolve(p.scope, info.ContainerLink, nil, rangeID, "")
		return moved, id
	}
	byKey, known := partition.Resolve(p.scope, info.ContainerLink, m, "", info.PartitionKey)
	byID, _ := partition.Resolve(p.scope, info.ContainerLink, m, rangeID, "")
	_, listed := m.ByID(rangeID)
	return m.HasIDs() && (!listed || (known == partition.ByEPK && byKey != byID)), byID
}

// name remembers which container an identity belongs to, for people to read.
func (p *partitions) name(id partition.ID, link string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, known := p.names[id.Container]; !known && len(p.names) < maxContainers {
		p.names[id.Container] = link
	}
}

// describe says for people which partition an identity stands for: the
// container's link, and the range, or a hash of the logical key, never the key.
func (p *partitions) describe(id partition.ID) (container, where string) {
	p.mutex.Lock()
	container = p.names[id.Container]
	p.mutex.Unlock()
	return container, partition.Describe(id, p.mapOf(container))
}
