package policy

import (
	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

// resolve names the partition of a request as well as it is known: by its
// range id, by the range map, by the range that its key was last answered
// from, or by the key alone.
func (p *partitions) resolve(info request.Info) (partition.ID, partition.Known) {
	id, known := partition.Resolve(
		p.scopeOf(info.ContainerLink), info.ContainerLink, p.mapOf(info.ContainerLink), info.RangeID, info.PartitionKey)
	if known == partition.ByLogicalKey {
		if ranged, ok := p.learned.Lookup(id); ok {
			return ranged, partition.ByRangeID
		}
	}
	return id, known
}

// earlier are the identities that a partition has without a range map: of the
// range id or the key in the request, and of the range that the key was last
// answered from. Those there are none of are the zero one.
func (p *partitions) earlier(info request.Info) (ids [2]partition.ID) {
	var known partition.Known
	ids[0], known = partition.Resolve(p.scopeOf(info.ContainerLink), info.ContainerLink, nil, info.RangeID, info.PartitionKey)
	if known == partition.ByLogicalKey {
		ids[1], _ = p.learned.Lookup(ids[0])
	}
	return ids
}

// byKey is the identity of a logical key by itself, without what is known of ranges.
func (p *partitions) byKey(info request.Info) partition.ID {
	id, _ := partition.Resolve(p.scopeOf(info.ContainerLink), info.ContainerLink, nil, "", info.PartitionKey)
	return id
}

// seen notes the range id of an answer to a request by key, and reports whether
// it shows that the container's ranges are not what we took them for. id is the
// identity of the range, zero when the key stays by itself: under a range map
// that cannot place it, a key that cannot be decoded or that spans ranges.
func (p *partitions) seen(info request.Info, rangeID string) (moved bool, id partition.ID) {
	scope, link, m := p.scopeOf(info.ContainerLink), info.ContainerLink, p.mapOf(info.ContainerLink)
	if m == nil {
		moved = p.learned.Learn(p.byKey(info), rangeID)
		id, _ = partition.Resolve(scope, link, nil, rangeID, "")
		return moved, id
	}
	byKey, known := partition.Resolve(scope, link, m, "", info.PartitionKey)
	if known == partition.ByEPK {
		id = byKey
	}
	if !m.HasIDs() {
		// A map of bounds learns which id answers from where.
		return known == partition.ByEPK && p.learned.Learn(byKey, rangeID), id
	}
	byID, _ := partition.Resolve(scope, link, m, rangeID, "")
	_, listed := m.ByID(rangeID)
	return !listed || (known == partition.ByEPK && byKey != byID), id
}

// name remembers which container an identity belongs to, for people to read.
func (p *partitions) name(id partition.ID, link string) {
	p.namesMutex.RLock()
	_, known := p.names[id.Container]
	p.namesMutex.RUnlock()
	if known {
		return
	}
	p.namesMutex.Lock()
	defer p.namesMutex.Unlock()
	if len(p.names) < maxContainers {
		p.names[id.Container] = link
	}
}

// describe says for people which partition an identity stands for: the
// container's link, and the range, or a hash of the logical key, never the key.
func (p *partitions) describe(id partition.ID) (container, where string) {
	p.namesMutex.RLock()
	container = p.names[id.Container]
	p.namesMutex.RUnlock()
	return container, partition.Describe(id, p.mapOf(container))
}
