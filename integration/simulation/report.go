package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// Keep writes what there is of a failing run into a folder: the world as a
// script, and what happened, in order. It returns the path of the script.
func Keep(dir, name string, r *Run, violations []Violation) (string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	script := filepath.Join(dir, name+".json")
	if err := os.WriteFile(script, r.Script(), 0o600); err != nil {
		return "", err
	}
	return script, os.WriteFile(filepath.Join(dir, name+".log"), []byte(r.Story(violations)), 0o600)
}

// Story is what happened in a run, for people.
func (r *Run) Story(violations []Violation) string {
	var b strings.Builder
	for _, v := range violations {
		fmt.Fprintf(&b, "%v\n", v)
	}
	b.WriteString("\nrequests, as the gateway saw them:\n")
	for _, line := range r.Lines() {
		b.WriteString(line + "\n")
	}
	b.WriteString("\ncalls:\n")
	for _, c := range r.Results {
		fmt.Fprintf(&b, "%v %s %s key %d item %d: %v after %v\n", c.Start.Sub(r.Live), c.ID, c.Op, c.Key, c.Item, c.Answer, c.End.Sub(c.Start))
	}
	b.WriteString("\nchanges:\n")
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%v %s %v\n", c.At.Sub(r.Live), c.Message, c.Fields)
	}
	return b.String()
}

// Lines is the gateway's log, a line for each request.
func (r *Run) Lines() []string {
	list := make([]string, 0, len(r.Log))
	for _, e := range r.Log {
		list = append(list, r.line(e))
	}
	return list
}

func (r *Run) line(e gateway.Entry) string {
	call := e.Header.Get(callHeader)
	if e.Operation == "account" {
		call = "" // whoever was about
	}
	end := fmt.Sprintf("%d/%d", e.Status, e.SubStatus)
	if e.Cancelled {
		end = "cancelled"
	}
	return strings.TrimSpace(fmt.Sprintf("%v %s %s %s %s %s took %v %s", e.At.Sub(r.Live), call, e.Region, e.Operation, e.Key, end,
		e.Duration.Round(time.Microsecond), e.Fault))
}
