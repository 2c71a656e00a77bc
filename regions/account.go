package regions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Region is one location of an account as the service gives it.
type Region struct {
	Name     string // as the service spells it, "West US 3"
	Endpoint string // URL of the region's own endpoint, "https://acct-westus3.documents.azure.com:443/"
}

// Account is what the account read says about regions, as given: [NewTopology] does the cleaning.
type Account struct {
	// ID is the account's id. It is informative only: regional endpoints answer with ids of their own.
	ID string
	// Readable and Writable are the regions in the service's order; the first writable one is the primary.
	Readable, Writable []Region
	// MultiWrite: every writable region takes writes (enableMultipleWriteLocations). Absent is false.
	MultiWrite bool
	// PartitionFailover is enablePerPartitionFailoverBehavior; nil when the answer does not have it: no change.
	PartitionFailover *bool
	// HedgingDisabled is disableCrossRegionalHedging; nil when the answer does not have it: no change.
	HedgingDisabled *bool
}

// ErrNotAccount says that a body is no account answer at all, such as an HTML page of a proxy.
var ErrNotAccount = errors.New("not the JSON object of an account")

// ErrNoRegion says that an account has not one region with a name and a usable endpoint.
var ErrNoRegion = errors.New("no usable region")

// AccountError is the refusal of an account answer. It is this package's decision, not the service's; the caller
// keeps the topology it has.
type AccountError struct {
	Field string // the JSON field, "body" for the answer as a whole
	Value string // the beginning of what it held
	Err   error  // wraps [ErrNotAccount] or [ErrNoRegion]
}

// Error says who refused what, and why.
func (e *AccountError) Error() string {
	return fmt.Sprintf("azcosmos-ha/regions: account answer refused: %s: %v (got %q)", e.Field, e.Err, e.Value)
}

// Unwrap returns the reason.
func (e *AccountError) Unwrap() error { return e.Err }

// ParseAccount reads the JSON of an account read. Fields that are missing or of an odd type are taken as absent, list
// entries that are no objects as regions without a name; flags may be JSON booleans or the strings "true" and "false".
// Regions are returned as given, duplicates and unusable endpoints included: [NewTopology] drops those and tells.
//
// The error is an [*AccountError]: [ErrNotAccount] when the body is no JSON object, [ErrNoRegion] when no region of it
// could be used.
func ParseAccount(body []byte) (Account, error) {
	var raw struct {
		ID                json.RawMessage `json:"id"`
		Readable          json.RawMessage `json:"readableLocations"`
		Writable          json.RawMessage `json:"writableLocations"`
		MultiWrite        json.RawMessage `json:"enableMultipleWriteLocations"`
		PartitionFailover json.RawMessage `json:"enablePerPartitionFailoverBehavior"`
		HedgingDisabled   json.RawMessage `json:"disableCrossRegionalHedging"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		err = fmt.Errorf("%w: %w", ErrNotAccount, err)
		return Account{}, &AccountError{Field: "body", Value: head(string(body)), Err: err}
	}
	multi := parseFlag(raw.MultiWrite)
	a := Account{
		ID:                parseString(raw.ID),
		Readable:          parseRegions(raw.Readable),
		Writable:          parseRegions(raw.Writable),
		MultiWrite:        multi != nil && *multi,
		PartitionFailover: parseFlag(raw.PartitionFailover),
		HedgingDisabled:   parseFlag(raw.HedgingDisabled),
	}
	if len(collect(a).order) == 0 {
		return Account{}, noRegion(a)
	}
	return a, nil
}

// noRegion is the error for an account of which no region can be used.
func noRegion(a Account) error {
	value := fmt.Sprintf("%d readable, %d writable: %s", len(a.Readable), len(a.Writable),
		strings.Join(collect(a).dropped, "; "))
	return &AccountError{Field: "readableLocations, writableLocations", Value: head(value), Err: ErrNoRegion}
}

// parseRegions reads a list of locations; nil when it is no list.
func parseRegions(raw json.RawMessage) []Region {
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return nil
	}
	var out []Region
	for _, e := range entries {
		var loc struct {
			Name     json.RawMessage `json:"name"`
			Endpoint json.RawMessage `json:"databaseAccountEndpoint"`
		}
		// An entry of another type stays blank, so that it is told as dropped.
		_ = json.Unmarshal(e, &loc)
		out = append(out, Region{Name: parseString(loc.Name), Endpoint: parseString(loc.Endpoint)})
	}
	return out
}

// parseString reads a JSON string; "" when it is none.
func parseString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // another type is an absent field
	return s
}

// parseFlag reads true, false, "true" or "false"; nil when it is none of these.
func parseFlag(raw json.RawMessage) *bool {
	text := strings.ToLower(strings.TrimSpace(strings.Trim(string(raw), `"`)))
	if text != "true" && text != "false" {
		return nil
	}
	on := text == "true"
	return &on
}

// head cuts a value to what fits into an error message.
func head(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
