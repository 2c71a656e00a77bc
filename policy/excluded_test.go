package policy_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// TestExcludedByRequest: a request's list replaces the client's; an empty one,
// or one of blanks, clears it. Names are compared without case and separators.
func TestExcludedByRequest(t *testing.T) {
	tests := []struct {
		name      string
		client    []string
		request   []string // nil: the request has no list
		preferred []string
		expected  string
	}{
		{"nobody", nil, nil, nil, "A"},
		{"the client", []string{A}, nil, nil, "B"},
		{"the request", nil, []string{A}, nil, "B"},
		{"replaced, not merged", []string{A}, []string{B}, nil, "A"},
		{"replaced by more", []string{A}, []string{A, B}, nil, "C"},
		{"cleared", []string{A}, []string{}, nil, "A"},
		{"cleared by blanks", []string{A}, []string{"", "  "}, nil, "A"},
		{"other spelling", nil, []string{"northcentralus", "WEST-us"}, nil, "C"},
		{"unknown is ignored", []string{A}, []string{"Atlantis"}, nil, "A"},
		{"within the preference", nil, []string{B}, []string{B, C}, "C"},
		{"the whole preference", nil, []string{B, C}, []string{B, C}, "A"},
		{"everything", nil, []string{A, B, C}, []string{C, B}, "A"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := setup{gateway: multi, preferred: test.preferred, policy: policy.Options{ExcludedRegions: test.client}}
			inWorld(t, s, func(w *world) {
				ctx := w.Context()
				if test.request != nil {
					ctx = regions.WithExcluded(ctx, test.request...)
				}
				for _, o := range []call{read, query, upsert, batch} {
					w.expectWith(ctx, o, "200", test.expected, 0)
				}
			})
		})
	}
}

// TestExcludedOnEveryOperation: reads of items on both kinds of account, and
// writes on a multi-write account, obey the client's list and the request's.
// A write on a single-write account has no other place to go.
func TestExcludedOnEveryOperation(t *testing.T) {
	check := func(t *testing.T, o named, account gateway.Options, byClient, byRequest string) {
		ok := []string{"200", "201", "204"}
		name := strings.ToLower(o.name + strings.ReplaceAll(t.Name()[len("TestExcludedOnEveryOperation/"):], "/", ""))
		account.Account = "x" + name
		inWorld(t, setup{gateway: account, policy: policy.Options{ExcludedRegions: []string{A}}}, func(w *world) {
			got, _ := w.do(w.Context(), o.call)
			require.Contains(w, ok, got)
			require.Equal(w, byClient, w.data())
		})
		account.Account = "y" + name
		inWorld(t, setup{gateway: account}, func(w *world) {
			got, _ := w.do(regions.WithExcluded(w.Context(), A, B), o.call)
			require.Contains(w, ok, got)
			require.Equal(w, byRequest, w.data())
		})
	}
	for _, o := range itemReads {
		t.Run("single/"+o.name, func(t *testing.T) { check(t, o, single, "B", "C") })
		t.Run("multi/"+o.name, func(t *testing.T) { check(t, o, multi, "B", "C") })
	}
	for _, o := range itemWrites {
		t.Run("single/"+o.name, func(t *testing.T) { check(t, o, single, "A", "A") })
		t.Run("multi/"+o.name, func(t *testing.T) { check(t, o, multi, "B", "C") })
	}
}

// TestExcludedOnRetries: an excluded region is not what a retry goes to.
func TestExcludedOnRetries(t *testing.T) {
	inWorld(t, setup{gateway: multi, policy: noBreaker}, func(w *world) {
		w.Inject(status(A, 503, 0))
		ctx := regions.WithExcluded(w.Context(), B)
		for _, o := range []call{read, query, upsert, batch} {
			w.expectWith(ctx, o, "200", "A C", 0)
		}
		w.Inject(status(C, 503, 0))
		for _, o := range []call{read, query, upsert, batch} {
			w.expectWith(ctx, o, "503", "A C", 0)
			w.expect(o, "200", "A B", 0)
		}
	})
}

// TestExcludedMetadata: metadata reads put excluded regions last instead of
// dropping them, whoever excludes.
func TestExcludedMetadata(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		excluded := regions.WithExcluded(w.Context(), A, B)
		w.expectWith(excluded, readContainer, "200", "C", 0)
		w.expect(readContainer, "200", "A", 0)
		w.ha.SetExcludedRegions(A)
		w.expect(readContainer, "200", "B", 0)
		w.expectWith(excluded, readContainer, "200", "C", 0)
		w.Inject(gateway.Rule{Region: C, Operations: []string{"meta"}, Status: 503})
		w.expectWith(excluded, readContainer, "200", "C A", 0)
		w.Inject(gateway.Rule{Region: B, Operations: []string{"meta"}, Status: 503})
		w.expect(readContainer, "200", "B C A", 0)
	})
}

// TestExcludedAtRunTime: concurrent requests see one list or the other, and a
// request's own list is not touched by changes of the client's.
func TestExcludedAtRunTime(t *testing.T) {
	inWorld(t, setup{gateway: multi, policy: policy.Options{ExcludedRegions: []string{A}}}, func(w *world) {
		var own, clients sync.WaitGroup
		stop := make(chan struct{})
		own.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					w.ha.SetExcludedRegions([][]string{{A}, {A, B}, {"nowhere", A}}[i%3]...)
				}
			}
		})
		byRequest := regions.WithExcluded(w.Context(), B, C)
		for range 4 {
			clients.Go(func() {
				for range 25 {
					got, _ := w.do(byRequest, query) // only these go to A
					require.Equal(w, "200", got)
					got, _ = w.do(w.Context(), read)
					require.Equal(w, "200", got)
					got, _ = w.do(w.Context(), upsert)
					require.Equal(w, "200", got)
				}
			})
		}
		clients.Wait()
		close(stop)
		own.Wait()
		require.Equal(w, strings.Repeat("A ", 99)+"A", w.regionsOf("query"))
		require.NotContains(w, w.regionsOf("read")+w.regionsOf("upsert"), "A")
	})
}

// TestExcludedNamesAreCopied: the caller keeps its slices.
func TestExcludedNamesAreCopied(t *testing.T) {
	options := []string{A}
	inWorld(t, setup{gateway: multi, policy: policy.Options{ExcludedRegions: options}}, func(w *world) {
		options[0] = B
		w.expect(read, "200", "B", 0)
		list := []string{B}
		w.ha.SetExcludedRegions(list...)
		list[0] = A
		w.expect(read, "200", "A", 0)
		ctx := regions.WithExcluded(w.Context(), list...)
		list[0] = B
		w.expectWith(ctx, read, "200", "B", 0)
	})
}

// TestExcludedUnknownNames: each is told once, with its value, however many
// requests, lists and topologies follow, and used as soon as the account has it.
func TestExcludedUnknownNames(t *testing.T) {
	var log bytes.Buffer
	options := policy.Options{
		PreferredRegions: []string{"Lemuria", A, B, C},
		ExcludedRegions:  []string{"Atlantis"},
		Telemetry:        telemetry.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))},
	}
	inWorld(t, setup{gateway: two(true), policy: options}, func(w *world) {
		var clients sync.WaitGroup
		for range 10 {
			clients.Go(func() {
				got, _ := w.do(w.Context(), read)
				require.Equal(w, "200", got)
			})
		}
		clients.Wait()
		w.ha.SetExcludedRegions("Atlantis", "Mu")
		w.expect(read, "200", "A", 0)
		w.ha.SetExcludedRegions("Mu", A, C)
		w.expect(upsert, "200", "B", 0)
		w.SetRegions(A, B, C)
		w.awaitRefresh()
		w.expect(upsert, "200", "B", 0)
		w.Inject(status(B, 503, 0)) // C is known by now, and excluded
		w.expect(upsert, "503", "B", 0)
		synctest.Wait()
		for _, name := range []string{"Lemuria", "Atlantis", "Mu", C} {
			require.Equal(w, 1, strings.Count(log.String(), `"region":"`+name+`"`), "%s in %s", name, log.String())
		}
		require.NotContains(w, log.String(), `"region":"`+A)
	})
}
