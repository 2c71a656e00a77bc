package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// World is everything that a run is made of, as values: the account, the
// client, what its callers do, and what happens to the service meanwhile. The
// same world is the same run; see the package comment for what that means with
// many callers. Its JSON is the script that a failure shrinks to.
type World struct {
	Seed    uint64   `json:"seed"`           // of the gateway's probabilities, and the world's name
	Cold    bool     `json:"cold,omitempty"` // the first call finds the first events in force; else one read comes before them
	Account Account  `json:"account"`
	Client  Client   `json:"client"`
	Callers [][]Call `json:"callers"`
	Events  []Event  `json:"events,omitempty"`
}

// Account is the service's side at the start.
type Account struct {
	Regions           []string            `json:"regions"` // in the service's order; the first is the write region
	MultiWrite        bool                `json:"multiWrite,omitempty"`
	PartitionFailover *bool               `json:"partitionFailover,omitempty"`
	HedgingDisabled   *bool               `json:"hedgingDisabled,omitempty"`
	Ranges            int                 `json:"ranges,omitempty"`
	Latency           map[string]Duration `json:"latency,omitempty"`
	Lag               map[string]Duration `json:"lag,omitempty"` // nil: no replication lag
}

// Client is the options of the client and of the middleware. Zero fields are
// the defaults of package policy.
type Client struct {
	Regional       string   `json:"regional,omitempty"` // the region whose endpoint the client is given; "" the global one
	Preferred      []string `json:"preferred,omitempty"`
	Excluded       []string `json:"excluded,omitempty"`
	MaxAttempts    int      `json:"maxAttempts,omitempty"`
	AttemptTimeout Duration `json:"attemptTimeout,omitempty"`
	RepeatWrites   bool     `json:"repeatWrites,omitempty"`
	Bind           bool     `json:"bind,omitempty"`

	NoBreaker     bool     `json:"noBreaker,omitempty"`
	ReadFailures  int      `json:"readFailures,omitempty"`
	WriteFailures int      `json:"writeFailures,omitempty"`
	SlowWins      int      `json:"slowWins,omitempty"`
	OpenFor       Duration `json:"openFor,omitempty"`
	MaxOpenFor    Duration `json:"maxOpenFor,omitempty"`
	ResetAfter    Duration `json:"resetAfter,omitempty"`
	RateWindow    Duration `json:"rateWindow,omitempty"`

	Failover      int      `json:"failover,omitempty"` // a ppaf.Mode
	Timeouts      int      `json:"timeouts,omitempty"`
	TimeoutWindow Duration `json:"timeoutWindow,omitempty"`

	NoHedge     bool     `json:"noHedge,omitempty"`
	Threshold   Duration `json:"threshold,omitempty"`
	Step        Duration `json:"step,omitempty"`
	MaxHedges   int      `json:"maxHedges,omitempty"`
	HedgeWrites bool     `json:"hedgeWrites,omitempty"`
	MaxInFlight int      `json:"maxInFlight,omitempty"`
}

// Durations are latencies or lags as the gateway has them; nil stays nil.
func Durations(m map[string]Duration) map[string]time.Duration {
	if m == nil {
		return nil
	}
	out := make(map[string]time.Duration, len(m))
	for name, d := range m {
		out[name] = time.Duration(d)
	}
	return out
}

// Call is one call of a caller.
type Call struct {
	Wait     Duration  `json:"wait,omitempty"` // since the caller's last call
	Op       Op        `json:"op"`
	Key      int       `json:"key"`  // of the partition
	Item     int       `json:"item"` // within the partition
	Deadline Duration  `json:"deadline"`
	Cancel   Duration  `json:"cancel,omitempty"`   // when the caller cancels; 0: never
	Session  bool      `json:"session,omitempty"`  // with the caller's session token
	Silent   bool      `json:"silent,omitempty"`   // nobody records it: it goes the straight way
	Excluded *[]string `json:"excluded,omitempty"` // of the request; nil: the client's
	Hedge    HedgeCall `json:"hedge,omitempty"`
	// Threshold of a call with Hedge on; 0: the client's.
	Threshold Duration `json:"threshold,omitempty"`
}

// HedgeCall is what a call says about hedging.
type HedgeCall string

// What a call can say about hedging.
const (
	HedgeAsClient HedgeCall = ""
	HedgeOn       HedgeCall = "on"
	HedgeOff      HedgeCall = "off"
)

// Op is a call of azcosmos.
type Op string

// The operations. The writes are those from Create to Batch.
const (
	Create     Op = "create"
	Upsert     Op = "upsert"
	Replace    Op = "replace"
	Patch      Op = "patch"
	Delete     Op = "delete"
	Batch      Op = "batch"
	Read       Op = "read"
	Query      Op = "query"      // of one partition, in pages
	CrossQuery Op = "crossquery" // of all partitions
	ReadMany   Op = "readmany"
	ChangeFeed Op = "changefeed"
	Container  Op = "container" // reads the container's properties
)

// Write reports whether the operation changes items.
func (o Op) Write() bool {
	switch o {
	case Create, Upsert, Replace, Patch, Delete, Batch:
		return true
	default:
		return false
	}
}

// Event is something that happens to the service, or to the client's options,
// from At until At + For. For 0 is until the world heals.
type Event struct {
	At     Duration `json:"at"`
	For    Duration `json:"for,omitempty"`
	Do     Action   `json:"do"`
	Region string   `json:"region,omitempty"`
	Range  int      `json:"range,omitempty"`   // the position of a range among those there are
	Names  []string `json:"names,omitempty"`   // of regions
	On     *bool    `json:"on,omitempty"`      // of Multi, Failover, NoHedging; nil: the flag is left out
	Delay  Duration `json:"latency,omitempty"` // of Latency
	Rule   *Rule    `json:"rule,omitempty"`    // of Fault
}

// Action is what an event does.
type Action string

// The actions, with what ends them.
const (
	Fault     Action = "fault"     // a rule of the gateway; removed
	Down      Action = "down"      // a region's endpoint is gone; it comes back
	Latency   Action = "latency"   // a region is slow; it is as before
	Move      Action = "move"      // a range's writes move to Region; they move back
	Elect     Action = "elect"     // a range has no write region; then it is in Region
	Split     Action = "split"     // stays
	Primary   Action = "primary"   // the account's writes move to Region; stays
	Regions   Action = "regions"   // the account has Names; stays
	Multi     Action = "multi"     // the account becomes multi-write, or not; stays
	Failover  Action = "failover"  // the account's flag of partition failover; stays
	NoHedging Action = "nohedging" // the account's flag that disables hedging; stays
	Exclude   Action = "exclude"   // the client excludes Names; stays
)

// Rule is a rule of the gateway in short.
type Rule struct {
	Region      string   `json:"region,omitempty"`
	Operations  []string `json:"operations,omitempty"`
	Key         int      `json:"key,omitempty"` // of a partition, from 1; 0: all
	Kind        string   `json:"kind"`          // of the gateway, or "delay"
	Status      int      `json:"status,omitempty"`
	Sub         int      `json:"sub,omitempty"`
	Delay       Duration `json:"delay,omitempty"`
	Hits        int      `json:"hits,omitempty"`
	Probability float64  `json:"probability,omitempty"`
}

// Duration is a time.Duration that JSON shows as "1.5s".
type Duration time.Duration

// MarshalText writes it as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Script is the world as the file that reproduces it.
func (w World) Script() []byte {
	b, err := json.MarshalIndent(w, "", "\t")
	if err != nil {
		return fmt.Appendf(nil, "%q", err) // it holds nothing that cannot be marshalled
	}
	return append(b, '\n')
}

// ReadScript reads a world from a file.
func ReadScript(name string) (World, error) {
	var w World
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &w)
	}
	return w, err
}

// keys is how many partition keys the calls use.
func (w World) keys() int {
	n := 1
	for _, calls := range w.Callers {
		for _, c := range calls {
			n = max(n, c.Key+1)
		}
	}
	return n
}

// uses reports whether some call is one of ops.
func (w World) uses(ops ...Op) bool {
	for _, calls := range w.Callers {
		for _, c := range calls {
			if slices.Contains(ops, c.Op) {
				return true
			}
		}
	}
	return false
}
