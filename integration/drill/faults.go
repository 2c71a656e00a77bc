package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// fault is what happens to one region in one phase.
type fault struct{ kind, region string }

// kinds are the faults and what they are called in the name of their phase.
var kinds = []struct{ kind, does string }{
	{"refuse", "refuses"},
	{"503", "answers 503"},
	{"hang", "hangs"},
	{"slow", "is slow"},
	{"reset", "resets"},
	{"stream", "resets streams"},
}

// String is the name of the fault's phase.
func (f fault) String() string {
	for _, k := range kinds {
		if k.kind == f.kind {
			return f.region + " " + k.does
		}
	}
	return f.region + " " + f.kind
}

// parseFaults reads a list of kind or kind@region; an empty one is no fault.
func parseFaults(list string, account []string, victim string) ([]fault, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var out []fault
	for word := range strings.SplitSeq(list, ",") {
		kind, region, found := strings.Cut(strings.TrimSpace(word), "@")
		if !found {
			region = victim
		}
		at := indexOf(account, region)
		known := slices.ContainsFunc(kinds, func(k struct{ kind, does string }) bool { return k.kind == kind })
		switch {
		case !known:
			return nil, &flagError{"faults", word, "is none of refuse, 503, hang, slow, reset, stream"}
		case at < 0:
			return nil, &flagError{"faults", word, "is in none of the account's regions: " + strings.Join(account, ", ")}
		}
		out = append(out, fault{kind, account[at]})
	}
	return out, nil
}

// everything is all that an endpoint serves.
var everything = []string{"data", "meta", "account"}

// rule is the fault as the gateway knows it, for one endpoint. Refusals are no rule: the endpoint is taken down.
func (f fault) rule(endpoint string, s settings) gateway.Rule {
	r := gateway.Rule{Region: endpoint, Operations: everything}
	switch f.kind {
	case "503":
		r.Kind, r.Status = gateway.Status, http.StatusServiceUnavailable
	case "hang":
		r.Kind = gateway.Hang
	case "slow":
		r.Kind, r.Delay = gateway.Slow, s.slow
	case "reset":
		r.Kind = gateway.Reset
	case "stream":
		r.Kind = gateway.StreamReset
	}
	return r
}
