package policy_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// TestBadOptions: one error, which names the first bad field and its value.
func TestBadOptions(t *testing.T) {
	tests := []struct {
		options policy.Options
		field   string
		value   string // as the text shows it
	}{
		{policy.Options{PreferredRegions: []string{""}}, "PreferredRegions[0]", `""`},
		{policy.Options{PreferredRegions: []string{A, " \t"}}, "PreferredRegions[1]", `" \t"`},
		{policy.Options{PreferredRegions: []string{" - "}}, "PreferredRegions[0]", `" - "`}, // nothing is left to compare
		{policy.Options{ExcludedRegions: []string{A, B, ""}}, "ExcludedRegions[2]", `""`},
		{policy.Options{Retry: policy.RetryOptions{MaxAttempts: -1}}, "Retry.MaxAttempts", "-1"},
		{policy.Options{Retry: policy.RetryOptions{AttemptTimeout: -time.Second}}, "Retry.AttemptTimeout", "-1s"},
		{policy.Options{Breaker: breaker.Options{ReadFailures: -3}}, "Breaker.ReadFailures", "-3"},
		{policy.Options{Breaker: breaker.Options{OpenFor: -time.Minute}}, "Breaker.OpenFor", "-1m0s"},
		{policy.Options{Failover: ppaf.Options{Timeouts: 12}}, "Failover.Timeouts", "12"},
		{policy.Options{Hedge: hedge.Options{Step: -time.Second}}, "Hedge.Step", "-1s"},
		{ // in the order of the struct
			policy.Options{Breaker: breaker.Options{SlowWins: -1}, Hedge: hedge.Options{Step: -1}, Failover: ppaf.Options{Mode: 3}},
			"Breaker.SlowWins", "-1",
		},
		{ // the first one only
			policy.Options{PreferredRegions: []string{""}, ExcludedRegions: []string{""}, Retry: policy.RetryOptions{MaxAttempts: -1}},
			"PreferredRegions[0]", `""`,
		},
	}
	for _, test := range tests {
		t.Run(test.field, func(t *testing.T) {
			ha, err := policy.New(test.options)
			require.Nil(t, ha)
			var bad *policy.OptionError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, test.field, bad.Field)
			require.Contains(t, err.Error(), "policy.Options."+test.field+" ")
			require.Contains(t, err.Error(), ", got "+test.value)
			require.NotContains(t, err.Error(), "\n", "one error")
		})
	}
	for _, good := range []policy.Options{{}, {PreferredRegions: []string{A, A}, ExcludedRegions: []string{}}, {PreferredRegions: []string{"Atlantis"}}} {
		ha, err := policy.New(good)
		require.NoError(t, err)
		ha.Close()
	}
}

// TestDuplicateRegions are dropped, however they are spelled: each region is
// asked once.
func TestDuplicateRegions(t *testing.T) {
	options := policy.Options{PreferredRegions: []string{B, "westus", "West-US", A, B, A}, ExcludedRegions: []string{C, C}}
	inWorld(t, setup{policy: options}, func(w *world) {
		w.Inject(gateway.Rule{Status: 503})
		w.expect(read, "503", "B A", 0)
	})
}

// TestOptionsAreCopied: the caller's slices may change after New.
func TestOptionsAreCopied(t *testing.T) {
	preferred, excluded := []string{B, A}, []string{B}
	inWorld(t, setup{policy: policy.Options{PreferredRegions: preferred, ExcludedRegions: excluded}}, func(w *world) {
		preferred[0], preferred[1], excluded[0] = C, C, A
		w.expect(read, "200", "A", 0)
		w.ha.SetExcludedRegions()
		w.expect(read, "200", "B", 0)
	})
}

func newMiddleware(t *testing.T, o policy.Options) *policy.Middleware {
	t.Helper()
	ha, err := policy.New(o)
	require.NoError(t, err)
	t.Cleanup(ha.Close)
	return ha
}

// nothing is a policy of the application.
type nothing struct{}

func (nothing) Do(r *azpolicy.Request) (*http.Response, error) { return r.Next() }

// TestApply: both policies last, slices copied, the rest as it was.
func TestApply(t *testing.T) {
	ha := newMiddleware(t, policy.Options{})
	ha.Apply(nil) // nothing happens

	perCall, perRetry := make([]azpolicy.Policy, 1, 4), make([]azpolicy.Policy, 1, 4)
	perCall[0], perRetry[0] = nothing{}, nothing{}
	preferred := []string{B, A}
	one := azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{PerCallPolicies: perCall, PerRetryPolicies: perRetry, Transport: transportFunc(instant)},
		PreferredRegions: preferred,
	}
	other := one // shares the slices
	ha.Apply(&one)
	ha.Apply(&other)
	for _, list := range [][]azpolicy.Policy{one.PerCallPolicies, other.PerCallPolicies, one.PerRetryPolicies, other.PerRetryPolicies} {
		require.Len(t, list, 2)
		require.Equal(t, nothing{}, list[0])
	}
	require.NotEqual(t, one.PerCallPolicies[1], other.PerCallPolicies[1])
	require.NotEqual(t, one.PerRetryPolicies[1], other.PerRetryPolicies[1])
	require.Nil(t, perCall[:2][1], "the caller's array is not written to")
	require.Nil(t, perRetry[:2][1])
	require.Equal(t, []string{B, A}, preferred)

	// A second Apply, of the same Middleware or another, leaves them as they are.
	first := one
	ha.Apply(&one)
	newMiddleware(t, policy.Options{PreferredRegions: []string{C}}).Apply(&one)
	require.Equal(t, first.PerCallPolicies, one.PerCallPolicies)
	require.Equal(t, first.PerRetryPolicies, one.PerRetryPolicies)

	// What the caller appends afterwards to one does not reach the other.
	one.PerCallPolicies = append(one.PerCallPolicies, nothing{})
	require.Len(t, other.PerCallPolicies, 2)
}

// TestApplySetsTheTransport: only where there is none, one for each Apply, with
// azcosmos's own limits.
func TestApplySetsTheTransport(t *testing.T) {
	ha := newMiddleware(t, policy.Options{})
	var o azcosmos.ClientOptions
	ha.Apply(&o)
	client, ok := o.Transport.(*http.Client)
	require.True(t, ok)
	require.Equal(t, 65*time.Second, client.Timeout)
	transport, ok := client.Transport.(*http.Transport)
	require.True(t, ok)
	require.Equal(t, 1000, transport.MaxIdleConns)
	require.Equal(t, 100, transport.MaxIdleConnsPerHost)
	require.True(t, transport.ForceAttemptHTTP2)
	require.NotNil(t, transport.Proxy)

	own := &http.Client{}
	given := azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: own}}
	ha.Apply(&given)
	require.Same(t, own, given.Transport)
}

// TestPreferredRegionsPrecedence: Options.PreferredRegions win over the
// client's; that they differ is told once.
func TestPreferredRegionsPrecedence(t *testing.T) {
	tests := []struct {
		name          string
		ours, clients []string
		regions       string
		told          int
	}{
		{"only the client's", nil, []string{B, C}, "B C", 0},
		{"only ours", []string{C, B}, nil, "C B", 0},
		{"the same", []string{B, C}, []string{"westus", "CENTRAL US"}, "B C", 0},
		{"the same with a duplicate", []string{B, C}, []string{B, B, C}, "B C", 0},
		{"another order", []string{C, B}, []string{B, C}, "C B", 1},
		{"other regions", []string{C}, []string{A, B}, "C", 1},
		{"neither", nil, nil, "A B", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			options := policy.Options{
				PreferredRegions: test.ours,
				Telemetry:        telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			}
			inWorld(t, setup{policy: options, preferred: test.clients}, func(w *world) {
				fault := w.Inject(status(map[byte]string{'A': A, 'B': B, 'C': C}[test.regions[0]], 503, 0))
				outcome := "200"
				if len(test.regions) == 1 {
					outcome = "503"
				}
				for range 3 {
					w.expect(read, outcome, test.regions, 0)
				}
				fault.Remove()
				require.Equal(w, test.told, strings.Count(log.String(), "preferred regions"), log.String())
			})
		})
	}
}

// TestWiringByHand: the two policies, appended by the application itself, do
// what Apply does, with the preferred regions of Options.
func TestWiringByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ha *policy.Middleware
		s := setup{plain: true, policy: policy.Options{PreferredRegions: []string{B, A}}}
		s.change = func(o *azcosmos.ClientOptions) {
			options := s.policy
			options.Transport = o.Transport
			ha = newMiddleware(t, options)
			o.PerCallPolicies = append(o.PerCallPolicies, ha.PerCall())
			o.PerRetryPolicies = append(o.PerRetryPolicies, ha.PerRetry())
		}
		w := newWorld(t, s)
		w.Down(gateway.Global) // the account is found by the names of the preferred regions
		w.warm()
		w.expect(read, "200", "B", 0)
		w.Inject(status(B, 503, 0))
		w.expect(read, "200", "B A", 0)
		w.RemoveAll()
		w.SetWriteRegion(C)
		w.expect(upsert, "200", "A C", 0)
		ha.SetExcludedRegions(B)
		w.expect(query, "200", "A", 0)
		for _, r := range []string{A, B, C} {
			w.Down(r)
		}
		w.expect(read, "error", "A", 0)

		// The policies are one pair, however often they are asked for: Apply
		// knows them and adds no second one.
		o := azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{PerRetryPolicies: []azpolicy.Policy{ha.PerRetry()}}}
		ha.Apply(&o)
		require.Len(t, o.PerRetryPolicies, 1)
		require.Empty(t, o.PerCallPolicies)
	})
}

// TestOneOptionsForSeveralClients: the options of one Apply serve clients of
// the same account and of different ones.
func TestOneOptionsForSeveralClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newWorld(t, setup{})
		two := newWorld(t, setup{gateway: gateway.Options{Account: "other", MultiWrite: true}})
		o := &azcosmos.ClientOptions{PreferredRegions: []string{B, C}}
		o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, "other") {
				return two.Transport().Do(r)
			}
			return one.Transport().Do(r)
		})
		newMiddleware(t, policy.Options{}).Apply(o)
		sibling := *one
		for _, w := range []*world{one, &sibling, two} {
			credential, err := azcosmos.NewKeyCredential(accountKey)
			require.NoError(t, err)
			w.client, err = azcosmos.NewClientWithKey(w.Endpoint(), credential, o)
			require.NoError(t, err)
			t.Cleanup(w.client.Close)
			w.container, err = w.client.NewContainer("db", "items")
			require.NoError(t, err)
		}
		one.warm()
		two.warm()
		one.Inject(status(B, 503, 0))
		one.expect(read, "200", "B C", 0)
		one.RemoveAll()
		one.Down(B)
		one.expect(read, "200", "B C", 0)
		sibling.expect(read, "200", "C", 0) // knows what the first one learned
		one.expect(upsert, "200", "A", 0)
		two.expect(read, "200", "B", 0) // another account
		two.expect(upsert, "200", "B", 0)
	})
}
