package telemetry

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// The most attribute sets that are kept, and so the most series, of one family
// of metrics. What comes later is counted under "other".
const (
	maxAttemptSets   = 2000
	maxOperationSets = 2000
	maxDecisionSets  = 1000
)

// sets holds prebuilt attribute sets by what they say. Reading takes no lock;
// a new one is added by copying, which happens as often as there are sets.
type sets[K comparable, V any] struct {
	known  atomic.Pointer[map[K]*set[K, V]]
	recent [recentSets]atomic.Pointer[set[K, V]] // most uses find theirs here, without a hash
	mutex  sync.Mutex                            // of the writers
	most   int
	build  func(K) V
	rest   *set[K, V] // of all that comes after the most
}

const recentSets = 64

// set is one attribute set, made up as its instruments want it.
type set[K comparable, V any] struct {
	key   K
	value V
}

func newSets[K comparable, V any](most int, rest K, build func(K) V) *sets[K, V] {
	s := &sets[K, V]{most: most, build: build, rest: &set[K, V]{rest, build(rest)}}
	s.known.Store(&map[K]*set[K, V]{})
	return s
}

// get returns the set of a key. place is any number that tends to differ among
// keys.
func (s *sets[K, V]) get(k K, place int) V {
	recent := &s.recent[uint(place)%recentSets]
	if last := recent.Load(); last != nil && last.key == k {
		return last.value
	}
	found := (*s.known.Load())[k]
	if found == nil {
		found = s.add(k)
	}
	recent.Store(found)
	return found.value
}

func (s *sets[K, V]) add(k K) *set[K, V] {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := *s.known.Load()
	if found := known[k]; found != nil {
		return found
	}
	if len(known) >= s.most {
		return s.rest
	}
	more := maps.Clone(known)
	more[k] = &set[K, V]{k, s.build(k)}
	s.known.Store(&more)
	return more[k]
}

// place of a key among the recent ones: what costs next to nothing to look at.
func (k attemptKey) place() int {
	return 31*len(k.region) + 7*len(k.operation) + 3*len(k.reason) + int(k.result.status) + len(k.result.class)
}

func (k operationKey) place() int {
	return 31*len(k.container) + 7*len(k.operation) + 3*len(k.database) + int(k.result.status) + len(k.result.class)
}

// result is how an attempt or operation ended, with few values.
type result struct {
	status uint16 // 0: no answer; unusualStatus: none of the service's
	sub    uint32 // 0: none, or an unusual one
	class  string // without an answer
}

// unusualStatus stands for every status that the service does not give.
const unusualStatus = 1

// bounded brings a Result down to the values that a metric may have.
func (r Result) bounded() result {
	if r.Status == 0 {
		return result{class: boundedClass(r.Class)}
	}
	b := result{status: unusualStatus}
	switch r.Status {
	case 200, 201, 202, 204, 207, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 422, 424, 429, 449,
		500, 501, 502, 503, 504, 505:
		b.status = uint16(r.Status)
	}
	switch r.SubStatus {
	case 3, 1000, 1002, 1003, 1007, 1008, 1013, 1022, 3088, 3092, 3200, 5300, 20001, 21013:
		b.sub = uint32(r.SubStatus)
	}
	return b
}

func boundedClass(class string) string {
	switch class {
	case ErrorNotSent, ErrorLostReply, ErrorTimeout, ErrorCancelled, ErrorLost:
		return class
	default:
		return other
	}
}

// attributes are those of the conventions for a result.
func (r result) attributes() (list []attribute.KeyValue) {
	switch r.status {
	case 0:
		return []attribute.KeyValue{semconv.ErrorTypeKey.String(r.class)}
	case unusualStatus:
		return []attribute.KeyValue{semconv.DBResponseStatusCode(other)}
	}
	status := statusText(int(r.status))
	list = append(list, semconv.DBResponseStatusCode(status))
	if r.sub != 0 {
		list = append(list, semconv.AzureCosmosDBResponseSubStatusCode(int(r.sub)))
	}
	if r.status >= 400 {
		list = append(list, semconv.ErrorTypeKey.String(status))
	}
	return list
}

// attemptKey is what tells attempts apart.
type attemptKey struct {
	region, operation string
	reason            Reason
	result            result
}

// attemptSets are the options of the instruments that an attempt touches:
// slices, because a variadic call would make one.
type attemptSets struct {
	count    []metric.AddOption
	duration []metric.RecordOption
}

func buildAttempt(k attemptKey) attemptSets {
	where := []attribute.KeyValue{AttrRegion.String(k.region), semconv.DBOperationName(k.operation)}
	all := append(append(where[:2:2], AttrReason.String(string(k.reason))), k.result.attributes()...)
	return attemptSets{count: adding(all...), duration: recording(where...)}
}

// operationKey is what tells operations apart.
type operationKey struct {
	operation, database, container string
	result                         result
}

// operationSets are the options of the instruments that an operation touches.
type operationSets struct {
	duration, charge, contacted []metric.RecordOption
	extra                       []metric.AddOption
}

func buildOperation(k operationKey) operationSets {
	what := []attribute.KeyValue{semconv.DBSystemNameAzureCosmosDB, semconv.DBOperationName(k.operation)}
	if k.database != "" {
		what = append(what, semconv.DBNamespace(k.database))
	}
	if k.container != "" {
		what = append(what, semconv.DBCollectionName(k.container))
	}
	all := append(slices.Clip(what), k.result.attributes()...)
	name := semconv.DBOperationName(k.operation)
	return operationSets{
		duration: recording(all...), charge: recording(all...),
		contacted: recording(name), extra: adding(name),
	}
}

// decisionKey is what tells decisions of one kind apart: some of its fields.
type decisionKey struct {
	kind                                               Kind
	region, access, operation, from, to, cause, result string
}

func buildDecision(k decisionKey) []metric.AddOption {
	var list []attribute.KeyValue
	for _, a := range []attribute.KeyValue{
		AttrRegion.String(k.region), AttrAccess.String(k.access), semconv.DBOperationNameKey.String(k.operation),
		AttrFrom.String(k.from), AttrTo.String(k.to), AttrCause.String(k.cause), AttrResult.String(k.result),
	} {
		if a.Value.AsString() != "" {
			list = append(list, a)
		}
	}
	return adding(list...)
}

func adding(list ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(list...))}
}

func recording(list ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(list...))}
}
