package hedge

// Statuses and sub-statuses that decide whether an answer is final. The names of net/http are not used: nothing here
// speaks HTTP.
const (
	statusLowest      = 100
	statusForbidden   = 403
	statusNotFound    = 404
	statusTimeout     = 408
	statusGone        = 410
	statusTooMany     = 429
	statusRetryWith   = 449 // conflicting writes, try again
	statusServerError = 500 // the lowest of them
	statusNotBuilt    = 501
	statusHTTPVersion = 505

	subWriteForbidden      = 3     // 403: not the write region, or not the hub
	subAccountNotFound     = 1008  // 403: the account is not in this region
	subSessionNotAvailable = 1002  // 404: this replica has not seen the session yet
	subLatencyNotMet       = 21013 // 408: the caller's own latency bound, told by the gateway
)

// Final reports whether an answer ends the race: another region would say the same, so waiting for one is of no use. It
// is what the walk of a read returns of its own accord, for reads and writes alike:
//
//	final      < 400 (304 among them); 400, 401, 403, 404, 405, 409, 412, 413, 422 and every other 4xx;
//	           408/21013; 501, 505
//	not final  403/3, 403/1008, 404/1002, other 408, 410, 429, 449, other 5xx
//
// A status below 100 stands for no answer (a transport error), which is not final. sub is the sub-status, 0 if there is none.
func Final(status, sub int) bool {
	switch status {
	case statusForbidden:
		return sub != subWriteForbidden && sub != subAccountNotFound
	case statusNotFound:
		return sub != subSessionNotAvailable
	case statusTimeout:
		return sub == subLatencyNotMet
	case statusGone, statusTooMany, statusRetryWith:
		return false
	case statusNotBuilt, statusHTTPVersion:
		return true
	default:
		return status >= statusLowest && status < statusServerError
	}
}
