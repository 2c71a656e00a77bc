// Package telemetry tells what the middleware decided and did, through the
// OpenTelemetry API and an slog.Logger. It decides nothing.
//
// # Spans
//
// One span per routed operation, named "{operation} {container}" as the
// semantic conventions ask, and one child per attempt, named "attempt
// {region}", with the reason it was made for. A read of metadata (a container,
// its partition key ranges) has spans only when it had to leave its first
// region: azcosmos reads metadata in the background too, where a span would be
// a root that belongs to nobody.
//
//	span       attribute                                       meaning
//	operation  db.system.name, db.operation.name, db.namespace, db.collection.name, server.address
//	operation  cosmos.ha.applicable_regions                    the regions that may be asked, in order
//	operation  cosmos.ha.rule                                  the rule of package regions that made the list
//	operation  azure.cosmosdb.operation.contacted_regions      the regions that were asked, in order
//	attempt    cosmos.ha.region                                the region asked
//	attempt    cosmos.ha.reason                                initial, next_region, session, failover
//	both       db.response.status_code, azure.cosmosdb.response.sub_status_code, error.type
//
// The shared names are those of the semantic conventions v1.43.0 for Azure
// Cosmos DB (status: development); azcosmos 1.5.0 itself still writes older
// ones, on spans of its own. Partition key values, item ids and tokens are
// never recorded.
//
// # Cost
//
// Nothing is recorded, and nothing allocated, while the provider is the API's
// no-op one, or OpenTelemetry's global one before an SDK is installed, and for
// a request whose parent span is not sampled.
package telemetry
