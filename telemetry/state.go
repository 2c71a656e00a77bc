package telemetry

import "time"

// State is what the middleware knows now. It marshals to JSON. Lists that can
// grow with the number of partitions are cut, and a count tells how many there
// are. Names of accounts, regions and containers are in it, and ranges or hashes
// of partitions; never a partition key, an id of an item, or a token.
type State struct {
	At        time.Time       `json:"at"`
	Excluded  []string        `json:"excluded"` // the clients' excluded regions
	Hedging   HedgingState    `json:"hedging"`
	Accounts  []AccountState  `json:"accounts"`  // by endpoint
	Decisions []DecisionState `json:"decisions"` // the last 200, the newest first
}

// AccountState is one account.
type AccountState struct {
	Endpoint          string           `json:"endpoint"`  // host of the client endpoint
	Since             time.Time        `json:"since"`     // when the topology last changed
	Confirmed         time.Time        `json:"confirmed"` // when the account last gave its topology, changed or not
	Regions           []RegionState    `json:"regions"`   // in the service's order
	MultiWrite        bool             `json:"multiWrite"`
	PartitionFailover *bool            `json:"partitionFailover"` // the account's flag; null: never told
	HedgingDisabled   *bool            `json:"hedgingDisabled"`   // the account's flag; null: never told
	Unwell            []PartitionState `json:"unwell"`            // the opened ones first, of those the oldest
	UnwellCount       int              `json:"unwellCount"`       // of all, listed or not
	OpenCount         int              `json:"openCount"`         // of those that are opened
	Overrides         []OverrideState  `json:"overrides"`         // by container and partition
	OverrideCount     int              `json:"overrideCount"`     // of all, listed or not
}

// OverrideState is what failover holds of one partition. Empty regions are not known.
type OverrideState struct {
	Container string `json:"container"` // its link, "" when it is not known
	Partition string `json:"partition"` // its range, or a hash of the logical partition key
	Region    string `json:"region"`    // that takes its writes; "": the account's write region
	Slow      string `json:"slow"`      // that its writes avoid, because they timed out there
	Hub       string `json:"hub"`       // that reads have found to be its hub
	Timeouts  int    `json:"timeouts"`  // remembered
}

// RegionState is one region of an account.
type RegionState struct {
	Name         string     `json:"name"`
	Host         string     `json:"host"`
	Readable     bool       `json:"readable"`
	Writable     bool       `json:"writable"`
	Primary      bool       `json:"primary"`      // the write region, the first of them
	UnwellReads  *time.Time `json:"unwellReads"`  // since when its endpoint is behind the others; null: it is well
	UnwellWrites *time.Time `json:"unwellWrites"` // the same for writes; a single-write account has no others: there it orders nothing
	TrialReads   *time.Time `json:"trialReads"`   // from when on one request at a time is let through to it again; null: it is well
	TrialWrites  *time.Time `json:"trialWrites"`  // the same for writes; null on a single-write account, too: nothing waits for it
	Open         int        `json:"open"`         // partitions for which the breaker has opened it, reads and writes apart
	Reads        Share      `json:"reads"`
	Writes       Share      `json:"writes"`
}

// Share is a region's part of an account's attempts in the last [TrafficWindow].
type Share struct {
	Attempts uint64  `json:"attempts"`
	Failed   uint64  `json:"failed"` // of them, in a way that says that the region is unwell
	Part     float64 `json:"part"`   // of the account's, 0 to 1
}

// PartitionState is what the circuit breaker holds of one partition in one
// region, for reads or for writes.
type PartitionState struct {
	Container string     `json:"container"` // its link, "" when it is not known
	Partition string     `json:"partition"` // its range, or a hash of the logical partition key
	Region    string     `json:"region"`
	Write     bool       `json:"write"`
	State     string     `json:"state"`
	Cause     string     `json:"cause"`     // of the transition to this state; "" when there was none, or it is not known any more
	Failures  int        `json:"failures"`  // in a row
	Since     time.Time  `json:"since"`     // when this state began
	Unwell    time.Time  `json:"unwell"`    // when the region was opened first and has not been healthy since; Since when that is not known
	NextProbe *time.Time `json:"nextProbe"` // when the next probe is due; null: the region is not opened
	Probing   bool       `json:"probing"`
}
