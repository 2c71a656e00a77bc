package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// javaRegions is the Java SDK's test of applicable regions: for what a request
// excludes, and for what the breaker has opened, oldest first, the regions in
// the order of contact. Its "global endpoint" is the hub, A, here.
var (
	javaThree = map[string]map[string]string{
		"":      {"": "A B C", "A": "B C", "B": "A C", "C": "A B", "A B": "C A"},
		"A":     {"": "B C", "A": "B C", "C": "B C", "B": "C B", "A B": "C B"},
		"A B":   {"": "C", "A": "C", "B": "C", "A B": "C", "C": "A C"},
		"A B C": {"": "A", "A": "A", "B": "A", "C": "A", "A B": "A"},
	}
	javaTwo = map[string]map[string]string{
		"":    {"": "A B", "A": "B A", "B": "A B"},
		"A":   {"": "B", "A": "B", "B": "A B"},
		"A B": {"": "A", "A": "A", "B": "A"},
	}
	javaOne      = map[string]map[string]string{"": {"": "A"}, "A": {"": "A"}}
	javaHub      = map[string]map[string]string{"": {"": "A"}, "A": {"": "A"}, "A B": {"": "A"}}
	javaAccounts = []struct {
		name    string
		account gateway.Options
		op      keyed
		word    string
		rows    map[string]map[string]string
	}{
		{"MW3 read", multi, readKey, "readop", javaThree},
		{"MW3 write", multi, upsertKey, "write", javaThree},
		{"SW3 read", single, readKey, "readop", javaThree},
		{"SW3 write", single, upsertKey, "write", javaHub},
		{"MW2 read", two(true), readKey, "readop", javaTwo},
		{"MW2 write", two(true), upsertKey, "write", javaTwo},
		{"SW2 read", two(false), readKey, "readop", javaTwo},
		{"SW2 write", two(false), upsertKey, "write", javaHub},
		{"one region, read", gateway.Options{Regions: []string{A}}, readKey, "readop", javaOne},
		{"one region, write", gateway.Options{Regions: []string{A}, MultiWrite: true}, upsertKey, "write", javaOne},
	}
)

// TestPeersJavaRegions plays javaRegions with preferred regions and without: an
// operation that is answered 503 everywhere asks the row's regions.
func TestPeersJavaRegions(t *testing.T) {
	for _, account := range javaAccounts {
		for excluded, rows := range account.rows {
			for opened, want := range rows {
				for _, preferred := range [][]string{nil, {A, B, C}} {
					name := fmt.Sprintf("%s/without %q opened %q/%d preferred", account.name, excluded, opened, len(preferred))
					t.Run(name, func(t *testing.T) {
						inCircuit(t, setup{gateway: account.account, preferred: preferred}, func(w *circuitWorld) {
							for _, region := range namesOf(opened) {
								w.openOnly(region, account.op, account.word)
							}
							w.Inject(gateway.Rule{Container: "items", Operations: []string{account.word}, Status: 503})
							start := time.Now()
							outcome, asked := w.ask(regions.WithExcluded(w.Context(), namesOf(excluded)...), 1, account.op)
							require.Equal(w, "503", outcome)
							require.Equal(w, want, asked)
							require.Zero(w, time.Since(start))
							require.Empty(w, w.store.Repeated())
						})
					})
				}
			}
		}
	}
}

// namesOf are the regions of some letters.
func namesOf(letters string) []string {
	names := map[string]string{"A": A, "B": B, "C": C, "D": D}
	var list []string
	for letter := range strings.FieldsSeq(letters) {
		list = append(list, names[letter])
	}
	return list
}

// openOnly lets the breaker open one region, a second after what was before.
func (w *circuitWorld) openOnly(region string, op keyed, word string) {
	w.Helper()
	pass(time.Second)
	var others []string
	for _, other := range []string{A, B, C} {
		if other != region {
			others = append(others, other)
		}
	}
	fault := w.Inject(gateway.Rule{Region: region, Container: "items", Operations: []string{word}, Status: 503})
	for range 10 {
		if len(w.unwellIn(region)) == 0 {
			w.ask(regions.WithExcluded(w.Context(), others...), 1, op)
		}
	}
	fault.Remove()
	require.Len(w, w.unwellIn(region), 1)
}

// TestPeersEffectivePreferredRegions: the Python SDK's rows: what a client with
// preferred regions, or none, on the global endpoint or on a region's own, reads
// from and writes to. On a single-write account a region's own endpoint is no
// preference for that region; on a multi-write account it is.
func TestPeersEffectivePreferredRegions(t *testing.T) {
	regional := gateway.New(single).RegionEndpoint(B)
	tests := []struct {
		name      string
		account   gateway.Options
		endpoint  string
		preferred string
		reads     string
		writes    string
	}{
		{"global, none", single, "", "", "A B C", "A"},
		{"global, A B", single, "", "A B", "A B", "A"},
		{"global, B C", single, "", "B C", "B C", "A"},
		{"regional, none", single, regional, "", "A", "A"},
		{"regional, its own", single, regional, "B", "B", "A"},
		{"regional, others", single, regional, "C A", "C A", "A"},
		{"regional, others in order", single, regional, "A C", "A C", "A"},
		{"regional, none, multi-write", multi, regional, "", "B", "B"},
		{"regional, others, multi-write", multi, regional, "C A", "C A", "C A"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := setup{gateway: test.account, endpoint: test.endpoint, preferred: namesOf(test.preferred), policy: noBreaker}
			inWorld(t, s, func(w *world) {
				w.expect(read, "200", test.reads[:1], 0)
				w.expect(upsert, "200", test.writes[:1], 0)
				w.Inject(gateway.Rule{Status: 503})
				w.expect(read, "503", test.reads, 0)
				w.expect(query, "503", test.reads, 0)
				w.expect(upsert, "503", test.writes, 0)
				require.Len(w, w.store.Executions("items", "1"), 2)
			})
		})
	}
}

// D is a fourth region.
const D = "East US"

// uneven is an account whose regions differ for reads and writes, as those of
// the peers' tests of their location caches do.
type uneven struct {
	reads, writes string // letters
}

// inUneven runs a test in a world of four regions whose account tells others
// for reads than for writes. The breaker is off.
func inUneven(t *testing.T, u uneven, preferred, excluded string, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := setup{gateway: gateway.Options{Regions: []string{A, B, C, D}, MultiWrite: true}, preferred: namesOf(preferred), policy: noBreaker}
		s.policy.ExcludedRegions = namesOf(excluded)
		w := newWorld(t, s)
		type location struct {
			Name     string `json:"name"`
			Endpoint string `json:"databaseAccountEndpoint"`
		}
		locations := func(letters string) (list []location) {
			for _, name := range namesOf(letters) {
				list = append(list, location{name, w.RegionEndpoint(name)})
			}
			return list
		}
		body, err := json.Marshal(map[string]any{
			"id": "acct", "readableLocations": locations(u.reads), "writableLocations": locations(u.writes), "enableMultipleWriteLocations": true,
		})
		require.NoError(t, err)
		w.Inject(gateway.Rule{Operations: []string{"account"}, Status: 200, Body: string(body)})
		w.warm()
		test(w)
	})
}

// asks makes a call and requires its outcome and the regions it asks, at once.
func (w *world) asks(c call, outcome, asked string, excluded ...string) {
	w.Helper()
	ctx := w.Context()
	if excluded != nil {
		ctx = regions.WithExcluded(ctx, excluded...)
	}
	w.ResetLog()
	got, took := w.do(ctx, c)
	require.Equal(w, asked, strings.ReplaceAll(w.contacted(), D, "D"))
	require.Equal(w, outcome, got)
	require.Zero(w, took)
}

// everywhere is asks while every region answers 503.
func (w *world) everywhere(c call, asked string, excluded ...string) {
	w.Helper()
	f := w.Inject(gateway.Rule{Status: 503})
	w.asks(c, "503", asked, excluded...)
	f.Remove()
}

// mark lets a call find that regions refuse connections.
func (w *world) mark(c call, word, letters string) {
	w.Helper()
	for _, region := range namesOf(letters) {
		w.Inject(gateway.Rule{Region: region, Operations: []string{word}, Kind: gateway.Refuse, Hits: 1})
	}
	_, _ = w.do(w.Context(), c)
	synctest.Wait()
}

// TestPeersLocationCache: the rows of the Python SDK's location cache, and what
// each says here: reads from A, B, D, writes to A, B, C.
func TestPeersLocationCache(t *testing.T) {
	account := uneven{reads: "A B D", writes: "A B C"}
	play := func(name, preferred, excluded string, test func(w *world)) {
		t.Run(name, func(t *testing.T) { inUneven(t, account, preferred, excluded, test) })
	}
	play("a marked region is last", "A B", "", func(w *world) {
		w.mark(read, "readop", "A")
		w.everywhere(read, "B A")
		w.asks(read, "200", "B")
		w.asks(upsert, "200", "A") // marked for reads only
	})
	play("a marked region rather than an excluded one", "A B", "", func(w *world) {
		w.mark(read, "readop", "A")
		w.asks(read, "200", "A", B)
		w.everywhere(read, "A", B)
	})
	play("two marked for writes", "A B C", "", func(w *world) {
		w.mark(upsert, "write", "A B")
		w.everywhere(upsert, "C A B")
		w.asks(read, "200", "A")
	})
	play("all marked and excluded, read", "A D", "", func(w *world) {
		w.mark(read, "readop", "A D")
		w.asks(read, "200", "A", A, D)
	})
	play("all marked and excluded, write", "A B", "", func(w *world) {
		w.mark(upsert, "write", "A B")
		w.asks(upsert, "200", "A", A, B) // the hub by its name, never the client's endpoint
	})
	play("a mark outlives a refresh", "A B", "", func(w *world) {
		w.ResetLog()
		w.mark(read, "readop", "A")
		require.Equal(w, []string{gateway.Global}, w.AccountReads(), "the refresh")
		w.asks(read, "200", "B")
	})
	play("no endpoint twice", "A B D A B", "", func(w *world) {
		w.everywhere(read, "A B D")
		w.everywhere(upsert, "A B")
	})
	play("the request's list replaces the client's", "A B", "A B", func(w *world) {
		w.asks(read, "200", "A") // all excluded: the primary
		w.asks(read, "200", "B", A)
		w.asks(upsert, "200", "B", A)
	})
	play("spelling", "", "", func(w *world) {
		w.asks(read, "200", "D", "north-central-us", " west_us ")
		w.asks(read, "200", "A", "", "  ")
	})
	t.Run("an excluded and an opened region", func(t *testing.T) {
		// Python asks the opened region. Here it comes after the primary, to which the rules fall back, excluded or not.
		inCircuit(t, setup{gateway: two(true), preferred: []string{A, B}}, func(w *circuitWorld) {
			w.openOnly(B, readKey, "readop")
			w.Inject(gateway.Rule{Container: "items", Operations: []string{"readop"}, Status: 503})
			outcome, asked := w.ask(regions.WithExcluded(w.Context(), A), 1, readKey)
			require.Equal(w, "503 A B", outcome+" "+asked)
		})
	})
}

// TestPeersExcludedRegions: the Java SDK's rows: reads from A, B, C, D, writes
// to A, B, C, the first three preferred, or none.
func TestPeersExcludedRegions(t *testing.T) {
	tests := []struct {
		name                       string
		client                     string
		request                    []string
		readP, read, writeP, write string
	}{
		{"two", "A B", nil, "C", "C D", "C", "C"},
		{"two, by the request", "", []string{A, B}, "C", "C D", "C", "C"},
		{"and an unknown one", "A B", []string{A, B, "Atlantis"}, "C", "C D", "C", "C"},
		{"none", "", nil, "A B C", "A B C D", "A B C", "A B C"},
		{"an empty list clears the client's", "A B", []string{}, "A B C", "A B C D", "A B C", "A B C"},
		{"the request's replaces the client's", "A B", []string{B}, "A C", "A C D", "A C", "A C"},
	}
	for _, test := range tests {
		for preferred, want := range map[string][2]string{"A B C": {test.readP, test.writeP}, "": {test.read, test.write}} {
			t.Run(fmt.Sprintf("%s/%d preferred", test.name, len(namesOf(preferred))), func(t *testing.T) {
				inUneven(t, uneven{reads: "A B C D", writes: "A B C"}, preferred, test.client, func(w *world) {
					w.everywhere(read, want[0], test.request...)
					w.everywhere(query, want[0], test.request...)
					w.everywhere(upsert, want[1], test.request...)
					w.asks(read, "200", want[0][:1], test.request...)
					w.asks(upsert, "200", want[1][:1], test.request...)
					require.Empty(w, w.store.Repeated())
				})
			})
		}
	}
}
