package policy_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// repeating is the caller's leave to carry writes out twice.
var repeating = policy.Options{Retry: policy.RetryOptions{RepeatWrites: true}}

// Azure/azure-sdk-for-java#15304: a write whose delivery is not known is not
// repeated, whatever broke; only with the caller's leave, and only where
// another region takes it.
func TestReport77_WriteOfUnknownDeliveryIsNotRepeated(t *testing.T) {
	for _, kind := range []gateway.Kind{gateway.Close, gateway.Reset, gateway.StreamReset, gateway.Lost, gateway.LostStream} {
		executed := 0
		if kind == gateway.Lost || kind == gateway.LostStream {
			executed = 1
		}
		tests := []struct {
			account    gateway.Options
			options    policy.Options
			outcome    string
			regions    string
			executions int
		}{
			{single, policy.Options{}, "error", "A", executed},
			{multi, policy.Options{}, "error", "A", executed},
			{single, repeating, "error", "A", executed},
			// Carried out twice where the first region did it: a create that
			// was lost on its way back meets its own item.
			{multi, repeating, map[int]string{0: "201", 1: "409"}[executed], "A B", 1},
		}
		for _, test := range tests {
			t.Run(kind.String(), func(t *testing.T) {
				inWorld(t, setup{gateway: test.account, policy: test.options}, func(w *world) {
					w.Inject(fault(A, kind))
					w.expect(create, test.outcome, test.regions, 0)
					require.Len(w, w.store.Executions("items", "new"), test.executions)
					require.Empty(w, w.store.Repeated())
				})
			})
		}
	}
}

// Azure/azure-sdk-for-go#26821: 500, 502 and 504. The design decides otherwise:
// a read goes to the next region at once, without a second try in the first.
func TestReport79_ServerErrorsMoveReadsOnly(t *testing.T) {
	for _, code := range []int{500, 502, 504} {
		for _, account := range []gateway.Options{single, multi} {
			inWorld(t, setup{gateway: account, policy: noBreaker}, func(w *world) {
				w.Inject(status(A, code, 0))
				for _, o := range []call{read, query} {
					w.expect(o, "200", "A B", 0)
				}
				for _, o := range itemWrites {
					w.expect(o.call, fmt.Sprint(code), "A", 0)
				}
				require.Len(w, w.store.Executions("", ""), 1) // the item itself
			})
		}
	}
}

// Azure/azure-sdk-for-java#37419: one deadline over all repeats of a 429.
func TestReport85_ThrottlingDoesNotOutliveTheDeadline(t *testing.T) {
	for _, o := range []call{read, upsert} {
		inWorld(t, setup{}, func(w *world) {
			w.Inject(gateway.Rule{Status: 429, SubStatus: 3200, Header: map[string]string{"x-ms-retry-after-ms": "100"}})
			ctx, cancel := context.WithTimeout(w.Context(), 250*time.Millisecond)
			defer cancel()
			w.expectWith(ctx, o, "deadline", "A A A", 250*time.Millisecond)
		})
	}
}

// Azure/azure-sdk-for-go#17780: the body can be read after the attempt's
// context has ended, with a timeout of ours and with one of azcore's.
func TestReport87_BodyOutlivesTheAttempt(t *testing.T) {
	tests := map[string]setup{
		"AttemptTimeout": {policy: policy.Options{Retry: policy.RetryOptions{AttemptTimeout: time.Second}}},
		"TryTimeout":     {change: func(o *azcosmos.ClientOptions) { o.Retry.TryTimeout = time.Second }},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, s, func(w *world) {
				w.Inject(status(A, 503, 0))
				response, err := w.container.ReadItem(w.Context(), key("a"), "1", nil)
				require.NoError(w, err)
				pass(time.Minute)
				body, err := io.ReadAll(response.RawResponse.Body)
				require.NoError(w, err)
				require.Equal(w, string(response.Value), string(body))
				require.Contains(w, string(body), `"id":"1"`)
			})
		})
	}
}

// Azure/azure-cosmos-dotnet-v3#4390: 410/1022 and 429/3092 fail over at once
// where another region may be asked; ordinary throttling stays.
func TestReport89_UnavailablePartitionFailsOver(t *testing.T) {
	for _, fault := range []gateway.Rule{status(A, 410, 1022), status(A, 429, 3092)} {
		refused := fmt.Sprintf("%d/%d", fault.Status, fault.SubStatus)
		inWorld(t, setup{gateway: multi}, func(w *world) {
			w.Inject(fault)
			w.expect(upsert, "200", "A B", 0)
			w.expect(read, "200", "A B", 0)
		})
		inWorld(t, setup{}, func(w *world) {
			w.Inject(fault)
			w.expect(upsert, refused, "A", 0)
			w.expect(read, "200", "A B", 0)
			require.Len(w, w.store.Executions("", ""), 1) // the item itself
		})
	}
	inWorld(t, setup{gateway: multi}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Status: 429, SubStatus: 3200, Hits: 2, Header: map[string]string{"x-ms-retry-after-ms": "20"}})
		w.expect(upsert, "200", "A A A", 40*time.Millisecond)
	})
}

// Azure/azure-sdk-for-go#26820: 429 is azcore's: the same repeats, at the same
// times, as without us, and no mark on the region.
func TestReport91_ThrottlingPassesUntouched(t *testing.T) {
	header := map[string]string{"x-ms-retry-after-ms": "150"}
	for _, plain := range []bool{true, false} {
		inWorld(t, setup{gateway: multi, plain: plain}, func(w *world) {
			throttle := w.Inject(gateway.Rule{Region: A, Status: 429, SubStatus: 3200, Header: header})
			for _, o := range []call{read, upsert} {
				w.expect(o, "429/3200", "A A A A", 450*time.Millisecond)
			}
			throttle.Remove()
			for _, o := range []call{read, upsert} {
				w.expect(o, "200", "A", 0)
			}
		})
	}
}

// Azure/azure-sdk-for-js#26039: a timeout concerns its request only; the next
// one asks the region again.
func TestReport93_TimeoutDoesNotMarkTheRegion(t *testing.T) {
	inWorld(t, setup{gateway: multi}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Status: 408, Hits: 2})
		w.expect(read, "200", "A B", 0)
		w.expect(upsert, "408", "A", 0)
		w.expect(read, "200", "A", 0)
		w.expect(upsert, "200", "A", 0)
	})
	attempt := policy.Options{Retry: policy.RetryOptions{AttemptTimeout: time.Second}}
	inWorld(t, setup{policy: attempt}, func(w *world) {
		w.Inject(gateway.Rule{Region: A, Kind: gateway.Hang, Hits: 1})
		w.expect(alone(read), "200", "A B", time.Second)
		w.expect(read, "200", "A", 0)
	})
}

// Azure/azure-cosmos-dotnet-v3#4181: metadata reads that time out go to the
// next region.
func TestReport95_MetadataTimeoutsMoveOn(t *testing.T) {
	attempt := policy.Options{Retry: policy.RetryOptions{AttemptTimeout: time.Second}}
	tests := []struct {
		name    string
		rule    gateway.Rule
		took    time.Duration // per request that fails
		account gateway.Options
	}{
		{"408", gateway.Rule{Region: A, Status: 408}, 0, gateway.Options{Account: "report95-408"}},
		{"504", gateway.Rule{Region: A, Status: 504}, 0, gateway.Options{Account: "report95-504", MultiWrite: true}},
		{"hang", gateway.Rule{Region: A, Kind: gateway.Hang}, time.Second, gateway.Options{Account: "report95-hang"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, setup{gateway: test.account, policy: attempt}, func(w *world) {
				test.rule.Operations = []string{"meta"}
				w.Inject(test.rule)
				w.expect(readContainer, "200", "A B", test.took)
				w.ResetLog()
				got, took := w.do(w.Context(), changeFeed)
				require.Equal(w, "200", got)
				sent := w.regionsOf("pkranges") // azcosmos reads the ranges until 304
				require.Equal(w, strings.Repeat(" A B", strings.Count(sent, "A"))[1:], sent)
				require.Equal(w, time.Duration(strings.Count(w.contacted(), "A")-1)*test.took, took) // all but the feed itself
			})
		})
	}
}

// Microsoft's guide to resilient applications: these are never retried, and
// 449 only in its region: one attempt of ours, at any region, and no mark.
func TestReport97_FinalAnswersAreNotRetried(t *testing.T) {
	for _, code := range []int{400, 401, 404, 409, 412, 413, 449} {
		for _, account := range []gateway.Options{single, multi} {
			t.Run(fmt.Sprint(code), func(t *testing.T) {
				inWorld(t, setup{gateway: account}, func(w *world) {
					f := w.Inject(status(A, code, 0))
					for _, o := range []call{read, query, upsert, batch} {
						w.expect(o, fmt.Sprint(code), "A", 0)
					}
					f.Remove()
					for _, o := range []call{read, upsert} {
						w.expect(o, "200", "A", 0)
					}
				})
			})
		}
	}
}
