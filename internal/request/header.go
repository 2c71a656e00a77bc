package request

import "strings"

// Header keys in the canonical form that http.Header stores them in, so that a
// map can be indexed with them directly; see [Get].
const (
	HeaderActivityID           = "X-Ms-Activity-Id"                       // set once per operation, the same for all its attempts
	HeaderAllowTentativeWrites = "X-Ms-Cosmos-Allow-Tentative-Writes"     // on every request to a multi-write account
	HeaderAuthorization        = "Authorization"                          // present from the authorization policy on
	HeaderChangeFeed           = "A-Im"                                   // A-IM: Incremental Feed
	HeaderConsistencyLevel     = "X-Ms-Consistency-Level"                 // per-request consistency
	HeaderContentType          = "Content-Type"                           // application/query+json for queries
	HeaderContinuation         = "X-Ms-Continuation"                      // page token, on requests and responses
	HeaderDate                 = "X-Ms-Date"                              // part of the shared-key signature
	HeaderETag                 = "Etag"                                   // on responses
	HeaderHubRegionOnly        = "X-Ms-Cosmos-Hub-Region-Processing-Only" // asks the partition's write region and no other
	HeaderIfMatch              = "If-Match"                               // conditional write
	HeaderIfNoneMatch          = "If-None-Match"                          // position in a change feed
	HeaderIsBatch              = "X-Ms-Cosmos-Is-Batch-Request"           // mark of a transactional batch
	HeaderIsUpsert             = "X-Ms-Documentdb-Is-Upsert"              // mark of an upsert
	HeaderMaxItemCount         = "X-Ms-Max-Item-Count"                    // page size
	HeaderPartitionKey         = "X-Ms-Documentdb-Partitionkey"           // see ParsePartitionKey
	HeaderPartitionKeyRangeID  = "X-Ms-Documentdb-Partitionkeyrangeid"    // bare id, on requests and on document responses
	HeaderQuery                = "X-Ms-Documentdb-Query"                  // mark of a query
	HeaderRequestCharge        = "X-Ms-Request-Charge"                    // request units, on responses
	HeaderRequestDuration      = "X-Ms-Request-Duration-Ms"               // milliseconds in the service, on responses
	HeaderRetryAfter           = "Retry-After"                            // seconds or a date, on responses
	HeaderRetryAfterMS         = "X-Ms-Retry-After-Ms"                    // milliseconds, on 429 responses
	HeaderSessionToken         = "X-Ms-Session-Token"                     // on requests and responses
	HeaderSubStatus            = "X-Ms-Substatus"                         // decimal, on responses
	HeaderVersion              = "X-Ms-Version"                           // version of the REST API
)

// Get returns the first value of the header, "" if there is none. The key must
// be in canonical form, as the Header constants are: unlike http.Header.Get it
// is used as it stands. A nil header has no values.
func Get(header map[string][]string, canonicalKey string) string {
	if values := header[canonicalKey]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// The forms on the wire of the request headers that Classify reads: the keys of
// a header map that was written without http.Header.
const (
	wireChangeFeed          = "a-im"
	wireContinuation        = "x-ms-continuation"
	wireIfNoneMatch         = "if-none-match"
	wireIsBatch             = "x-ms-cosmos-is-batch-request"
	wireIsUpsert            = "x-ms-documentdb-is-upsert"
	wirePartitionKey        = "x-ms-documentdb-partitionkey"
	wirePartitionKeyRangeID = "x-ms-documentdb-partitionkeyrangeid"
	wireQuery               = "x-ms-documentdb-query"
	wireSessionToken        = "x-ms-session-token"
)

// either is Get with the form on the wire as a second choice.
func either(header map[string][]string, canonicalKey, wireKey string) string {
	if v := Get(header, canonicalKey); v != "" {
		return v
	}
	return Get(header, wireKey)
}

// marked reports whether a boolean header says true. azcosmos writes "True" for
// some and "true" for others.
func marked(header map[string][]string, canonicalKey, wireKey string) bool {
	return strings.EqualFold(either(header, canonicalKey, wireKey), "true")
}
