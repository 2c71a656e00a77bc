package policy_test

import (
	"testing"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// status is a fault that answers with a status instead of executing.
func status(region string, code, sub int) gateway.Rule {
	return gateway.Rule{Region: region, Status: code, SubStatus: sub}
}

// fault is a fault of a kind.
func fault(region string, kind gateway.Kind) gateway.Rule {
	return gateway.Rule{Region: region, Kind: kind}
}

// TestRoad walks every row of the judge's table that needs neither breaker nor
// PPAF nor hedging: the regions contacted, the answer, the virtual time, and
// how often the store carried the call out.
func TestRoad(t *testing.T) {
	type column struct{ outcome, regions string }
	const second = time.Second
	rows := []struct {
		name             string
		fault            gateway.Rule // of region A
		readSW, readMW   column
		writeMW, writeSW column
		took             time.Duration // of the single-write write; the others take none
	}{
		{"no fault", gateway.Rule{Region: C, Status: 503}, column{"200", "A"}, column{"200", "A"}, column{"200", "A"}, column{"200", "A"}, 0},
		{"304", status(A, 304, 0), column{"304", "A"}, column{"304", "A"}, column{"304", "A"}, column{"304", "A"}, 0},
		{"400", status(A, 400, 0), column{"400", "A"}, column{"400", "A"}, column{"400", "A"}, column{"400", "A"}, 0},
		{"401", status(A, 401, 0), column{"401", "A"}, column{"401", "A"}, column{"401", "A"}, column{"401", "A"}, 0},
		{"403", status(A, 403, 0), column{"403", "A"}, column{"403", "A"}, column{"403", "A"}, column{"403", "A"}, 0},
		{"403/3", status(A, 403, 3), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"403/3", "A A A A A"}, 5 * second},
		{"403/1008", status(A, 403, 1008), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"403/1008", "A A A A A"}, 5 * second},
		{"404", status(A, 404, 0), column{"404", "A"}, column{"404", "A"}, column{"404", "A"}, column{"404", "A"}, 0},
		{"404/1002", status(A, 404, 1002), column{"404/1002", "A"}, column{"200", "A B"}, column{"200", "A B"}, column{"404/1002", "A"}, 0},
		{"404/1003", status(A, 404, 1003), column{"404/1003", "A"}, column{"404/1003", "A"}, column{"404/1003", "A"}, column{"404/1003", "A"}, 0},
		{"405", status(A, 405, 0), column{"405", "A"}, column{"405", "A"}, column{"405", "A"}, column{"405", "A"}, 0},
		{"408", status(A, 408, 0), column{"200", "A B"}, column{"200", "A B"}, column{"408", "A"}, column{"408", "A"}, 0},
		{"408/21013", status(A, 408, 21013), column{"408/21013", "A"}, column{"408/21013", "A"}, column{"408/21013", "A"}, column{"408/21013", "A"}, 0},
		{"409", status(A, 409, 0), column{"409", "A"}, column{"409", "A"}, column{"409", "A"}, column{"409", "A"}, 0},
		{"410/1000", status(A, 410, 1000), column{"410/1000", "A"}, column{"410/1000", "A"}, column{"410/1000", "A"}, column{"410/1000", "A"}, 0},
		{"410/1002", status(A, 410, 1002), column{"410/1002", "A"}, column{"410/1002", "A"}, column{"410/1002", "A"}, column{"410/1002", "A"}, 0},
		{"410/1007", status(A, 410, 1007), column{"410/1007", "A"}, column{"410/1007", "A"}, column{"410/1007", "A"}, column{"410/1007", "A"}, 0},
		{"410/1008", status(A, 410, 1008), column{"410/1008", "A"}, column{"410/1008", "A"}, column{"410/1008", "A"}, column{"410/1008", "A"}, 0},
		{"410/1022", status(A, 410, 1022), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"410/1022", "A"}, 0},
		{"410", status(A, 410, 0), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"410", "A"}, 0},
		{"412", status(A, 412, 0), column{"412", "A"}, column{"412", "A"}, column{"412", "A"}, column{"412", "A"}, 0},
		{"413", status(A, 413, 0), column{"413", "A"}, column{"413", "A"}, column{"413", "A"}, column{"413", "A"}, 0},
		{"422", status(A, 422, 0), column{"422", "A"}, column{"422", "A"}, column{"422", "A"}, column{"422", "A"}, 0},
		{"429/3092", status(A, 429, 3092), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"429/3092", "A"}, 0},
		{"449", status(A, 449, 0), column{"449", "A"}, column{"449", "A"}, column{"449", "A"}, column{"449", "A"}, 0},
		{"451", status(A, 451, 7), column{"451/7", "A"}, column{"451/7", "A"}, column{"451/7", "A"}, column{"451/7", "A"}, 0},
		{"500", status(A, 500, 0), column{"200", "A B"}, column{"200", "A B"}, column{"500", "A"}, column{"500", "A"}, 0},
		{"501", status(A, 501, 0), column{"501", "A"}, column{"501", "A"}, column{"501", "A"}, column{"501", "A"}, 0},
		{"502", status(A, 502, 0), column{"200", "A B"}, column{"200", "A B"}, column{"502", "A"}, column{"502", "A"}, 0},
		{"503", status(A, 503, 0), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"503", "A"}, 0},
		{"504", status(A, 504, 0), column{"200", "A B"}, column{"200", "A B"}, column{"504", "A"}, column{"504", "A"}, 0},
		{"505", status(A, 505, 0), column{"505", "A"}, column{"505", "A"}, column{"505", "A"}, column{"505", "A"}, 0},
		{"507", status(A, 507, 0), column{"200", "A B"}, column{"200", "A B"}, column{"507", "A"}, column{"507", "A"}, 0},
		{"refused", fault(A, gateway.Refuse), column{"200", "A B"}, column{"200", "A B"}, column{"200", "A B"}, column{"error", "A A"}, 0},
		{"reset", fault(A, gateway.Reset), column{"200", "A B"}, column{"200", "A B"}, column{"error", "A"}, column{"error", "A"}, 0},
		{"closed", fault(A, gateway.Close), column{"200", "A B"}, column{"200", "A B"}, column{"error", "A"}, column{"error", "A"}, 0},
		{"stream reset", fault(A, gateway.StreamReset), column{"200", "A B"}, column{"200", "A B"}, column{"error", "A"}, column{"error", "A"}, 0},
	}
	for _, row := range rows {
		columns := []struct {
			name  string
			multi bool
			call  call
			want  column
		}{
			{"single-write read", false, read, row.readSW},
			{"multi-write read", true, read, row.readMW},
			{"single-write query", false, query, row.readSW},
			{"multi-write write", true, upsert, row.writeMW},
			{"single-write write", false, upsert, row.writeSW},
		}
		for _, c := range columns {
			t.Run(row.name+"/"+c.name, func(t *testing.T) {
				inWorld(t, setup{gateway: gateway.Options{MultiWrite: c.multi}}, func(w *world) {
					w.Inject(row.fault)
					took := row.took
					if c.name != "single-write write" {
						took = 0
					}
					w.expect(c.call, c.want.outcome, c.want.regions, took)
				})
			})
		}
	}
}
