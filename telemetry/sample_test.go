package telemetry_test

import (
	"fmt"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// night is when the sample state was taken.
var night = time.Date(2026, 3, 14, 2, 17, 42, 0, time.UTC)

func before(d time.Duration) time.Time { return night.Add(-d) }

// sampleState is an account in the middle of a partial outage of its write region.
func sampleState() telemetry.State {
	yes, no := true, false
	s := telemetry.State{
		At: night, Excluded: []string{"UK South"},
		Hedging: telemetry.HedgingState{InFlight: 7, Limit: 64, Sent: 1312, Raced: 1290, Won: 1107, WinRate: 0.858, Withheld: 12},
		Accounts: []telemetry.AccountState{{
			Endpoint: "orders-prod.documents.azure.com", Since: before(26 * time.Hour), Confirmed: before(41 * time.Second),
			PartitionFailover: &yes, HedgingDisabled: &no,
			Regions: []telemetry.RegionState{
				{Name: "North Central US", Host: "orders-prod-northcentralus.documents.azure.com:443", Readable: true, Writable: true, Primary: true, Open: 41, Reads: telemetry.Share{Attempts: 18210, Failed: 1907, Part: 0.31}, Writes: telemetry.Share{Attempts: 9120, Failed: 610, Part: 0.88}},
				{Name: "West US", Host: "orders-prod-westus.documents.azure.com:443", Readable: true, Reads: telemetry.Share{Attempts: 39870, Failed: 3, Part: 0.69}, Writes: telemetry.Share{Attempts: 1204, Part: 0.12}},
				{Name: "UK South", Host: "orders-prod-uksouth.documents.azure.com:443", Readable: true, UnwellReads: new(before(72 * time.Second)), TrialReads: new(before(42 * time.Second)), Reads: telemetry.Share{Attempts: 2, Failed: 2}},
			},
			UnwellCount: 44, OpenCount: 41, OverrideCount: 3,
		}},
	}
	account := &s.Accounts[0]
	for i := range 9 {
		p := telemetry.PartitionState{
			Container: "dbs/shop/colls/orders", Partition: fmt.Sprintf("range [05C1%dFFF.., 05C1%dFFF..)", i, i+1), Region: "North Central US",
			State: "Unavailable", Cause: "consecutive failures", Failures: 10, Since: before(time.Duration(200-12*i) * time.Second), Unwell: before(time.Duration(200-12*i) * time.Second),
			NextProbe: new(night.Add(time.Duration(4*i-3) * time.Second)),
		}
		switch i {
		case 1:
			p.Cause, p.Probing = "probe failed", true
		case 2:
			p.Cause = "slow wins"
		case 7, 8:
			p.State, p.Cause, p.NextProbe, p.Failures = "HealthyTentative", "probe succeeded", nil, 0
		}
		account.Unwell = append(account.Unwell, p)
	}
	for i, region := range []string{"West US", "West US", ""} {
		o := telemetry.OverrideState{Container: "dbs/shop/colls/orders", Partition: fmt.Sprintf("key #1a2b3c4d5e%02d", i), Region: region}
		if region == "" {
			o.Slow, o.Timeouts = "North Central US", 4
		}
		account.Overrides = append(account.Overrides, o)
	}
	s.Decisions = sampleDecisions()
	return s
}

func sampleDecisions() []telemetry.DecisionState {
	list := []telemetry.DecisionState{
		{Decision: telemetry.Decision{Kind: telemetry.KindRetry, At: before(0), Operation: "read_item", Container: "dbs/shop/colls/orders", From: "North Central US", To: "West US", Cause: "503", Change: "next_region"}, Since: before(58 * time.Second), Count: 812},
		{Decision: telemetry.Decision{Kind: telemetry.KindHedgeWon, At: before(time.Second), Operation: "query_items", Container: "dbs/shop/colls/orders", Region: "West US", From: "North Central US"}, Since: before(44 * time.Second), Count: 207},
		{Decision: telemetry.Decision{Kind: telemetry.KindBreaker, At: before(9 * time.Second), Container: "dbs/shop/colls/orders", Region: "North Central US", From: "HealthyWithFailures", To: "Unavailable", Cause: "consecutive failures", Failures: 10}, Since: before(66 * time.Second), Count: 41},
		{Decision: telemetry.Decision{Kind: telemetry.KindProbe, At: before(14 * time.Second), Container: "dbs/shop/colls/orders", Partition: "range [05C11FFF.., 05C12FFF..)", Region: "North Central US", Cause: "failure"}, Count: 1},
		{Decision: telemetry.Decision{Kind: telemetry.KindOverride, At: before(31 * time.Second), Container: "dbs/shop/colls/orders", Partition: "key #1a2b3c4d5e00", To: "West US", Change: "set", Cause: "confirmation"}, Count: 1},
		{Decision: telemetry.Decision{Kind: telemetry.KindHealth, At: before(72 * time.Second), Region: "UK South", Change: "marked", Cause: "not_sent"}, Count: 1},
		{Decision: telemetry.Decision{Kind: telemetry.KindRefresh, At: before(73 * time.Second), Account: "orders-prod.documents.azure.com", Cause: "timeout", Detail: "context deadline exceeded"}, Count: 1},
		{Decision: telemetry.Decision{Kind: telemetry.KindTopology, At: before(26 * time.Hour), Account: "orders-prod.documents.azure.com", To: "North Central US", Detail: "readable North Central US, West US, UK South; writable North Central US; partition failover"}, Count: 1},
	}
	for i := range list {
		if list[i].Since.IsZero() {
			list[i].Since = list[i].At
		}
		list[i].Text = list[i].String()
	}
	return list
}
