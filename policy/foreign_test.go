package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// answerHeaders are the headers of an answer that anybody reads: the middleware, azcosmos or azcore.
var answerHeaders = []string{
	"X-Ms-Substatus", "X-Ms-Request-Charge", "X-Ms-Documentdb-Partitionkeyrangeid", "X-Ms-Continuation", "Etag",
	"X-Ms-Session-Token", "Retry-After", "X-Ms-Retry-After-Ms", "X-Ms-Activity-Id", "Content-Type",
}

// FuzzAnswers: one region answers everything about items and containers with a status, headers and a body that are anybody's
// guess. No call outlives its deadline, the caller gets what that region or a healthy one gave, the state can be shown and
// tells none of it, and when the region is well again so is everything.
func FuzzAnswers(f *testing.F) {
	f.Add(uint16(503), uint8(0), false, "1002\n1.5\n0\n\n\n\n\n\n\n", "")
	f.Add(uint16(429), uint8(1), true, "3200\nNaN\n\nmore\n\n0:-1#1\n-1\n99999999999999", `{"Documents":[]}`)
	f.Add(uint16(410), uint8(2), false, "1002\n\nno range", `{"_rid":"x"`)
	f.Add(uint16(403), uint8(3), false, "3", "")
	f.Add(uint16(200), uint8(7), true, "\n-1\n\x00\n\xff", "<html>")
	f.Add(uint16(404), uint8(5), false, "1002\n", "null")
	f.Add(uint16(302), uint8(4), true, "", `{"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"zz"}]}`)
	f.Fuzz(func(t *testing.T, status uint16, account uint8, metadata bool, values, body string) {
		code := 200 + int(status)%400
		header := http.Header{}
		for i, value := range strings.SplitN(values, "\n", len(answerHeaders)) {
			header.Set(answerHeaders[i], value)
		}
		var odd atomic.Bool
		s := setup{hedged: account&4 != 0, policy: hedgedAt(100 * ms)}
		failover := account&2 != 0
		s.gateway = gateway.Options{
			Account: fmt.Sprintf("foreign%d", accounts.Add(1)), MultiWrite: account&1 != 0, PartitionFailover: &failover, Ranges: 2,
		}
		s.change = func(o *azcosmos.ClientOptions) {
			next := o.Transport
			o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
				about := strings.Contains(r.URL.Path+"/", "/docs/") || metadata && strings.HasPrefix(r.URL.Path, "/dbs/")
				if !odd.Load() || !about || letterOfHost(r.URL.Host) != "A" {
					return next.Do(r)
				}
				return &http.Response{
					StatusCode: code, Status: http.StatusText(code), Request: r, Header: header.Clone(), ProtoMajor: 1, ProtoMinor: 1,
					Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
				}, nil
			})
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, s)
			w.warm()
			odd.Store(true)
			w.ha.Bind(w.client)
			ctx := azpolicy.WithRetryOptions(t.Context(), azpolicy.RetryOptions{MaxRetries: 1, RetryDelay: ms})
			for range 3 {
				for _, c := range []call{read, query, upsert, readContainer} {
					w.foreign(ctx, c, code)
				}
			}
			synctest.Wait()
			w.requireShown(header.Get("X-Ms-Documentdb-Partitionkeyrangeid"))
			odd.Store(false)
			pass(time.Hour)
			for _, c := range []call{read, query, upsert} {
				got, took := w.do(t.Context(), c)
				require.Equal(t, "200", got)
				require.Less(t, took, time.Second)
			}
			w.ha.Close()
		})
	})
}

// foreign makes a call while a region answers with the status, and requires that it ends in time: with that, with the answer
// of a healthy region, or with the error of a body that azcosmos could not read.
func (w *world) foreign(ctx context.Context, c call, status int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	got, took := w.do(ctx, c)
	require.LessOrEqual(w, took, 20*time.Second)
	code, _, _ := strings.Cut(got, "/")
	require.Contains(w, []string{fmt.Sprint(status), "200", "error", "deadline"}, code)
}

// requireShown requires that the state marshals and is a page, without a text of a header.
func (w *world) requireShown(secret string) {
	w.Helper()
	encoded, err := json.Marshal(w.ha.State())
	require.NoError(w, err)
	page := httptest.NewRecorder()
	telemetry.Handler(w.ha.State).ServeHTTP(page, httptest.NewRequestWithContext(w.Context(), "GET", "/", nil))
	require.Equal(w, http.StatusOK, page.Code)
	if len(secret) > 20 {
		require.NotContains(w, string(encoded), secret)
		require.NotContains(w, page.Body.String(), secret)
	}
}
