package policy

import (
	"sync"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
)

// maxOpenings bounds what is remembered for the state page. When a region is
// lost for a hundred thousand partitions, the page shows the oldest ones only.
const maxOpenings = 4 * maxListed

// opening is why and since when a region is not healthy for a partition: the
// breaker itself needs no such memory.
type opening struct {
	since time.Time // the first opening, since when it has not been healthy
	cause breaker.Cause
}

// unwellKey is a record of the breaker.
type unwellKey struct {
	key    breaker.Key
	region breaker.Region
	write  bool
}

// openings remembers the causes of the oldest openings. The zero value is ready.
type openings struct {
	mutex sync.Mutex // guards known
	known map[unwellKey]opening
}

// note keeps what a transition says.
func (o *openings) note(t breaker.Transition, now time.Time) {
	k := unwellKey{t.Key, t.Region, t.Write}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	was, known := o.known[k]
	switch {
	case t.To == breaker.Healthy || t.To == breaker.HealthyWithFailures:
		delete(o.known, k)
	case known:
		o.known[k] = opening{was.since, t.Cause}
	case len(o.known) < maxOpenings:
		if o.known == nil {
			o.known = make(map[unwellKey]opening)
		}
		o.known[k] = opening{now, t.Cause}
	}
}

// forget drops what is known of a region that has left the account.
func (o *openings) forget(r breaker.Region) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for k := range o.known {
		if k.region == r {
			delete(o.known, k)
		}
	}
}

// of returns what is known of a record; false if that is nothing.
func (o *openings) of(e breaker.Entry) (opening, bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	was, known := o.known[unwellKey{e.Key, e.Region, e.Write}]
	return was, known
}
