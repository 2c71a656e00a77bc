package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// sample is a report with something of everything.
func sample() *report {
	r := &report{repeated: []count{{ours, 0}, {plain, 2}}}
	refused := fmt.Errorf("send: %w", errors.New("connection refused"))
	answer := &azcore.ResponseError{StatusCode: http.StatusServiceUnavailable, ErrorCode: "ServiceUnavailable"}
	r.add(row{
		phase: "healthy", side: ours, requests: 250, p50: 400 * time.Microsecond, p99: 9960 * time.Microsecond, max: 15 * time.Millisecond,
		contacted: []count{{"West US", 200}, {"Genève", 50}},
	}, nil)
	r.add(row{
		phase: "healthy", side: plain, requests: 250, p50: 380 * time.Microsecond, p99: 10 * time.Millisecond, max: 999 * time.Millisecond,
		contacted: []count{{"West US", 250}},
	}, nil)
	r.add(row{
		phase: "Genève hangs", side: ours, requests: 1000, failed: 50, unknown: 50, p50: 500 * time.Millisecond, p99: time.Second, max: 3 * time.Second,
		contacted: []count{{"West US", 1000}, {"Genève", 50}},
	}, nil)
	r.add(row{
		phase: "Genève hangs", side: plain, requests: 1000, failed: 1000, lost: 950, unknown: 50, p50: 3 * time.Second, p99: 3 * time.Second, max: 3010 * time.Millisecond,
		contacted: []count{{"Genève", 1000}},
	}, []error{refused, answer, refused})
	return r
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	sample().render(&b)
	golden(t, "table.txt", b.String())
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().json(&b))
	golden(t, "table.json", b.String())
	require.True(t, json.Valid(b.Bytes()))
}

// TestPassed: what the exit status stands for is about our side alone.
func TestPassed(t *testing.T) {
	line := func(side string, lost int) report {
		return report{rows: []row{{side: side, requests: 9, failed: lost, lost: lost}}}
	}
	lost, theirs, twice := line(ours, 1), line(plain, 1), line(ours, 0)
	twice.repeated = []count{{ours, 1}}
	require.False(t, lost.passed())
	require.True(t, theirs.passed())
	require.False(t, twice.passed())
	broken := sample()
	require.True(t, broken.passed())
	broken.broken = true
	require.False(t, broken.passed())
}

// TestManyErrors: what is different in each request does not flood the screen.
func TestManyErrors(t *testing.T) {
	r := &report{}
	for i := range 20 {
		r.add(row{phase: "p", side: ours, requests: 1, failed: 1, lost: 1}, []error{fmt.Errorf("error %d\nmore", i)})
	}
	var b bytes.Buffer
	r.conclude(&b)
	require.Contains(t, b.String(), "  1 × p: error 7\n  and 12 other errors\n")
	require.NotContains(t, b.String(), "more")
}
