// Package request says what an HTTP request means to Azure Cosmos DB.
//
// azcosmos keeps what it knows about a request to itself, but method, escaped
// path and headers say it all. [Classify] reads them; it never fails and never
// allocates. The table covers every request azcosmos v1.5.0 makes, and the list
// reads (GET of a feed) that the service has beside them:
//
//	path                        GET                        POST             PUT      PATCH  DELETE
//	"" or /                     DatabaseAccount Read
//	/dbs                        Database ReadFeed          Create, Query¹
//	/dbs/{d}                    Database Read                                               Delete
//	/dbs/{d}/colls              Collection ReadFeed        Create, Query¹
//	/dbs/{d}/colls/{c}          Collection Read                             Replace         Delete
//	/dbs/{d}/colls/{c}/docs     Document ReadFeed²         ³
//	/dbs/{d}/colls/{c}/docs/{i} Document Read                               Replace  Patch  Delete
//	/dbs/{d}/colls/{c}/pkranges PartitionKeyRange ReadFeed
//	/offers                     Offer ReadFeed             Query¹
//	/offers/{o}                 Offer Read                                  Replace
//
//	¹ with x-ms-documentdb-query: True
//	² the change feed, if A-IM is present
//	³ Document Batch with x-ms-cosmos-is-batch-request, else Query with x-ms-documentdb-query,
//	  else Upsert with x-ms-documentdb-is-upsert, else Create
//
// Everything else is [ResUnknown] and [OpUnknown]: the caller lets it pass
// untouched. That includes paths with empty segments (only one trailing slash is
// forgiven, azcosmos sends it for offers), stored procedures, triggers, users
// and permissions, and accounts behind a path prefix.
//
// A request is a write if it is a POST, PUT, PATCH or DELETE, except a POST that
// is marked as a query. A batch is a write even if every operation in it reads;
// one that carries both marks is a write too, the safe reading.
//
// A mark is set if its value is "true" in any case. azcosmos sets every header
// through http.Header.Set or Add, so keys are looked up in their canonical form
// first (the Header constants); a policy of the application may have written
// the map directly, so the lower-case form on the wire is looked up second.
// Other spellings are not seen.
//
// [ParsePartitionKey] reads the partition key header.
//
// Everything here is a function of its arguments and safe for concurrent use.
package request
