package request

import "net/url"

// Info is what a request means. It holds substrings of what [Classify] was
// given and nothing else, so it may be copied and compared freely. The zero
// value is a request that is not known.
type Info struct {
	// Resource and Operation are both known or both unknown.
	Resource  Resource
	Operation Operation

	// Database and Container are the ids as they stand in the path, still
	// escaped; "" if the request has none. Two escaped ids that differ may name
	// the same thing, but azcosmos escapes in one way only.
	// [Info.DatabaseName] and [Info.ContainerName] unescape them.
	Database, Container string

	// ContainerLink is "dbs/{d}/colls/{c}", a part of the path as it stands;
	// "" if the request is not about one container. It is the key under which
	// all that is known about a container is kept.
	ContainerLink string

	// PartitionKey is the partition key header as sent, "" if there is none: a
	// query over all partitions, a request by range, or an item operation with
	// an empty key. It is data of the application: never record it.
	PartitionKey string

	// RangeID is the id of the partition key range that the request is for, as
	// sent by read-many and the change feed; "" if there is none. It is looked
	// for in queries and feeds of documents only: no other request has one.
	RangeID string

	// Continuation reports whether the request continues a query or a feed:
	// x-ms-continuation, or a position in If-None-Match for a change feed. The
	// token may mean something only to the region that gave it.
	Continuation bool

	// SessionToken reports whether the request carries a session token.
	SessionToken bool

	// ChangeFeed reports whether a ReadFeed of documents asks for changes.
	ChangeFeed bool

	// mutating is set for requests that are not known but whose method writes.
	mutating bool
}

// Known reports whether the request is one of the table.
func (i Info) Known() bool { return i.Resource != ResUnknown }

// Write reports whether the request changes something, or may: POST, PUT, PATCH
// and DELETE, except a POST that is marked as a query. A batch is a write. It
// answers for requests that are not known, too, by their method.
func (i Info) Write() bool { return i.mutating || i.Operation.writes() }

// Metadata reports whether the request is known and neither about documents nor
// the account read: databases, containers, partition key ranges, throughput.
func (i Info) Metadata() bool {
	return i.Known() && i.Resource != ResDocument && i.Resource != ResDatabaseAccount
}

// DatabaseName returns the id of the database as the application knows it, ""
// if the request has none. An id whose escapes are broken is returned as it
// stands. It allocates only if there is something to unescape.
func (i Info) DatabaseName() string { return unescape(i.Database) }

// ContainerName returns the id of the container as the application knows it, on
// the same terms as [Info.DatabaseName].
func (i Info) ContainerName() string { return unescape(i.Container) }

func unescape(id string) string {
	if name, err := url.PathUnescape(id); err == nil {
		return name
	}
	return id
}

// operationNamesFor holds the values of db.operation.name. Those of throughput
// do not say whether it is a database's or a container's, since the request does
// not either; read_account and read_partition_key_ranges are in no convention
// (azcosmos uses the latter).
var operationNamesFor = [resourceCount][operationCount]string{
	ResDatabaseAccount: {OpRead: "read_account"},
	ResDatabase: {
		OpCreate:   "create_database",
		OpRead:     "read_database",
		OpDelete:   "delete_database",
		OpQuery:    "query_databases",
		OpReadFeed: "read_all_databases",
	},
	ResCollection: {
		OpCreate:   "create_container",
		OpRead:     "read_container",
		OpReplace:  "replace_container",
		OpDelete:   "delete_container",
		OpQuery:    "query_containers",
		OpReadFeed: "read_all_containers",
	},
	ResDocument: {
		OpCreate:   "create_item",
		OpRead:     "read_item",
		OpUpsert:   "upsert_item",
		OpReplace:  "replace_item",
		OpPatch:    "patch_item",
		OpDelete:   "delete_item",
		OpBatch:    "execute_batch",
		OpQuery:    "query_items",
		OpReadFeed: "read_all_items",
	},
	ResPartitionKeyRange: {OpReadFeed: "read_partition_key_ranges"},
	ResOffer: {
		OpRead:     "read_throughput",
		OpReplace:  "replace_throughput",
		OpQuery:    "query_throughput",
		OpReadFeed: "read_all_throughput",
	},
}

// Name returns the name of the operation for telemetry, a constant such as
// "read_item": the values that the semantic conventions of OpenTelemetry list
// for db.operation.name of Azure Cosmos DB, where they have one. A page of
// ReadManyItems is a query_items, as azcosmos itself calls it. The name of a
// request that is not known is "".
func (i Info) Name() string {
	if i.Resource >= resourceCount || i.Operation >= operationCount {
		return ""
	}
	if i.ChangeFeed {
		return "query_change_feed"
	}
	return operationNamesFor[i.Resource][i.Operation]
}
