package policy

import (
	"encoding/json"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var decimal = regexp.MustCompile(`^[+-]?[0-9]+$`)

// twinSubStatus reads a sub-status by the letter: a decimal number that an int can hold, else 0.
func twinSubStatus(value string) int {
	n, ok := new(big.Int).SetString(value, 10)
	if !ok || !decimal.MatchString(value) || !n.IsInt64() || strconv.IntSize < 64 && n.BitLen() > 31 {
		return 0
	}
	return int(n.Int64())
}

// FuzzResponseHeaders: whatever stands in the headers that the middleware reads of an answer, the sub-status is the number
// that is written there or 0, a charge is finite and not negative, and no kind of request is judged in a way of its own for
// a sub-status that the table does not know.
func FuzzResponseHeaders(f *testing.F) {
	for _, value := range []string{"", "0", "1002", "+1008", "-3", "3092 ", "1e3", "0x3", "1_000", "9223372036854775808", "NaN", "Inf", "-0", "1.5e300", "２１"} {
		f.Add(503, value, value)
	}
	f.Add(403, "3", "2.86")
	f.Add(410, "1022", "1e-400")
	f.Fuzz(func(t *testing.T, status int, sub, charge string) {
		header := http.Header{"X-Ms-Substatus": {sub}, "X-Ms-Request-Charge": {charge}}
		require.Equal(t, twinSubStatus(sub), subStatus(header))
		require.Zero(t, subStatus(nil))

		response := &http.Response{StatusCode: status, Header: header}
		o := observe(t.Context(), response, nil)
		require.Equal(t, status, o.status)
		if status < http.StatusBadRequest {
			require.Zero(t, o.sub, "only errors have one")
		}
		r := resultOf(response, nil)
		require.GreaterOrEqual(t, r.Charge, 0.0)
		_, err := json.Marshal(r.Charge)
		require.NoError(t, err, "it is a number")

		for k := singleWriteRead; k <= singleWriteWrite; k++ {
			for _, repeat := range []bool{false, true} {
				v := judge(k, o, repeat)
				require.LessOrEqual(t, v.action, findPrimary)
				if !decidesARow[o.sub] {
					plain := o
					plain.sub = 0
					require.Equal(t, judge(k, plain, repeat), v)
				}
				if k.write() && !repeat && status >= 500 && status != http.StatusServiceUnavailable {
					require.NotEqual(t, next, v.action, "a write that was perhaps carried out is not repeated")
				}
			}
		}
	})
}

// decidesARow are the sub-statuses of the table, of whatever status.
var decidesARow = map[int]bool{
	subWriteForbidden: true, subAccountNotFound: true, subSessionNotAvailable: true, subNameCacheStale: true,
	subCompletingSplit: true, subSystemUnavailable: true, subLatencyNotMet: true,
}
