package partition

import (
	"encoding/json"
	"strings"
)

// Kind is how a container distributes its partition keys.
type Kind uint8

// The kinds of a [Definition].
const (
	KindHash      Kind = iota // one hash over the key; the default
	KindMultiHash             // hierarchical: one hash per component
	KindRange                 // legacy: the key itself, unhashed
)

// Definition is a container's partition key definition, as far as EPKs depend on it. The zero value is a Hash
// definition of version 1 with an unknown number of paths.
type Definition struct {
	Kind    Kind // default KindHash
	Version int  // 1 or 2; 0 means 1; MultiHash and Range are the same in both
	Paths   int  // number of paths; 0 or less: unknown, so components are not counted and nothing is a prefix
}

// valid says whether EPKs can be computed under d.
func (d Definition) valid() bool {
	return d.Kind <= KindRange && d.Version >= 0 && d.Version <= 2
}

// prefix says whether n components are a proper prefix of a hierarchical key.
func (d Definition) prefix(n int) bool {
	return d.Kind == KindMultiHash && n < d.Paths
}

// accepts says whether a key may have n components. None at all is the empty key, which every definition has.
func (d Definition) accepts(n int) bool {
	if d.Paths <= 0 || n == 0 || n == d.Paths {
		return true
	}
	return d.prefix(n)
}

// container is the part of a container answer that matters here.
type container struct {
	RID          string `json:"_rid"`
	PartitionKey *struct {
		Paths   []string `json:"paths"`
		Kind    string   `json:"kind"`
		Version int      `json:"version"`
	} `json:"partitionKey"`
}

// ParseContainer reads the RID and the partition key definition from the body of a container answer. A missing kind is
// Hash, a missing version 1. The error is a [*ParseError]: not JSON, no _rid, no definition (a container without
// partition key), no paths, or a kind or version this package does not know.
func ParseContainer(body []byte) (rid string, def Definition, err error) {
	var c container
	if err := json.Unmarshal(body, &c); err != nil {
		return "", Definition{}, &ParseError{Subject: "container", Reason: "not a container's JSON", Err: err}
	}
	switch {
	case c.RID == "":
		return "", Definition{}, &ParseError{Subject: "container", Reason: "no _rid"}
	case c.PartitionKey == nil:
		return "", Definition{}, &ParseError{Subject: "container", Reason: "no partitionKey"}
	case len(c.PartitionKey.Paths) == 0:
		return "", Definition{}, &ParseError{Subject: "container", Reason: "no paths"}
	}
	kind, ok := parseKind(c.PartitionKey.Kind)
	def = Definition{Kind: kind, Version: c.PartitionKey.Version, Paths: len(c.PartitionKey.Paths)}
	if !ok || !def.valid() {
		return "", Definition{}, &ParseError{Subject: "container", Reason: "unknown kind or version of partition key"}
	}
	return c.RID, def, nil
}

func parseKind(s string) (Kind, bool) {
	switch {
	case s == "", strings.EqualFold(s, "Hash"):
		return KindHash, true
	case strings.EqualFold(s, "MultiHash"):
		return KindMultiHash, true
	case strings.EqualFold(s, "Range"):
		return KindRange, true
	}
	return 0, false
}
