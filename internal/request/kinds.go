package request

// Resource is the kind of thing a request is about. The zero value is unknown.
type Resource uint8

// The resources that azcosmos knows how to ask for.
const (
	ResUnknown           Resource = iota // not in the table: leave the request alone
	ResDatabaseAccount                   // the account itself, source of the topology
	ResDatabase                          // a database, or the list of them
	ResCollection                        // a container, or the list of them
	ResDocument                          // an item, or several
	ResPartitionKeyRange                 // the partition key ranges of a container
	ResOffer                             // provisioned throughput
	resourceCount
)

var resourceNames = [resourceCount]string{
	"Unknown", "DatabaseAccount", "Database", "Collection", "Document", "PartitionKeyRange", "Offer",
}

// String returns the service's name of the resource, "Unknown" for any value
// that is not one of the constants.
func (r Resource) String() string {
	if r < resourceCount {
		return resourceNames[r]
	}
	return resourceNames[ResUnknown]
}

// Operation is what a request does to its resource. The zero value is unknown.
type Operation uint8

// The operations that azcosmos performs.
const (
	OpUnknown  Operation = iota // not in the table: leave the request alone
	OpRead                      // one thing by its id
	OpCreate                    // fails if it exists
	OpUpsert                    // creates or replaces
	OpReplace                   // fails if it does not exist
	OpPatch                     // changes parts, fails if it does not exist
	OpDelete                    // fails if it does not exist
	OpBatch                     // several document operations in one transaction
	OpQuery                     // a page of a query
	OpReadFeed                  // a page of a list or of a change feed
	operationCount
)

var operationNames = [operationCount]string{
	"Unknown", "Read", "Create", "Upsert", "Replace", "Patch", "Delete", "Batch", "Query", "ReadFeed",
}

// String returns the service's name of the operation, "Unknown" for any value
// that is not one of the constants.
func (o Operation) String() string {
	if o < operationCount {
		return operationNames[o]
	}
	return operationNames[OpUnknown]
}

// writes reports whether the operation changes something, or may.
func (o Operation) writes() bool {
	switch o {
	case OpCreate, OpUpsert, OpReplace, OpPatch, OpDelete, OpBatch:
		return true
	default:
		return false
	}
}
