package main

import (
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// The regions of every scenario, in the service's order. The application runs in home and prefers it; the write region is the
// first one.
const (
	hub  = "North Central US"
	home = "West US"
	far  = "Central US"
)

// Round trips. The global endpoint is an alias of the hub.
const (
	nearby  = 5 * time.Millisecond
	distant = 25 * time.Millisecond
)

// threshold is that of hedging in all scenarios, for all who hedge.
const threshold = 500 * time.Millisecond

// deadline is each caller's.
const deadline = 5 * time.Second

// scenario is something that happens to an account under load.
type scenario struct {
	name, what string
	row        string        // what a README calls it
	because    string        // why atMost is more than round trips, if it is
	write      bool          // the load is upserts, else point reads
	failover   bool          // the account has per-partition automatic failover
	sick       bool          // only one partition is concerned
	cold       bool          // the fault is there before the clients are
	strike     func(*stage)  // begins the fault, at the first request
	after      time.Duration // how long after the fault the service has moved the write region, 0: at once
	move       func(*stage)  // what the service does then; nil: nothing
	usual      time.Duration // of a request, when nothing is wrong
	atMost     time.Duration // our promise for the first success: see doc.go
}

// sickRange is the partition of scenarios that concern one of them.
const sickRange = "0"

// reads are the operations that a sick region fails: those on items, in home.
func (st *stage) fail(r gateway.Rule) {
	r.Region, r.Operations = home, []string{"readop"}
	st.gateway.Inject(r)
}

// stall makes one request in a hundred take 0.2 to 2 s longer, in ten steps.
func (st *stage) stall() {
	for i := range 10 {
		d := 200*time.Millisecond + time.Duration(i)*200*time.Millisecond
		st.fail(gateway.Rule{Kind: gateway.Slow, Delay: d, Probability: 0.001})
	}
}

// loseHub takes the write region away, and the global endpoint with it.
func (st *stage) loseHub() {
	st.gateway.Down(hub)
	st.gateway.Down(gateway.Global)
}

// scenarios are the rows of the fourth table.
func scenarios() []scenario {
	const first, next = nearby, distant
	return []scenario{
		{
			name: "healthy", row: "nothing is wrong",
			what: "nothing is wrong; point reads", strike: func(*stage) {}, usual: first, atMost: first,
		}, {
			name: "refused", row: "the first region refuses connections",
			what:   "the first region refuses connections; point reads",
			strike: func(st *stage) { st.gateway.Down(home) }, usual: first, atMost: first + next,
		}, {
			name: "503", row: "the first region answers 503",
			what:   "the first region answers 503; point reads",
			strike: func(st *stage) { st.fail(gateway.Rule{Status: 503}) }, usual: first, atMost: first + next,
		}, {
			name: "hang", row: "the first region never answers",
			what:   "the first region takes requests and never answers; point reads",
			strike: func(st *stage) { st.fail(gateway.Rule{Kind: gateway.Hang}) }, usual: first, atMost: threshold + next,
		}, {
			name: "slow 1 %", row: "1 % of its answers take 0.2 to 2 s longer",
			what:   "one request in a hundred takes 0.2 to 2 s longer in the first region; point reads",
			strike: (*stage).stall, usual: first, atMost: first + next,
		}, {
			name: "one sick partition", row: "one of 16 partitions answers 503 there",
			what: "one of 16 partitions answers 503 in the first region; point reads", sick: true,
			strike: func(st *stage) { st.fail(gateway.Rule{Range: sickRange, Status: 503}) }, usual: first, atMost: first + next,
		}, {
			name: "moved partition", row: "one of 16 partitions' writes have moved (PPAF)",
			what:  "single-write account with per-partition automatic failover: the service moves the writes of one of 16 partitions to the second region; upserts",
			write: true, failover: true, sick: true,
			strike: func(st *stage) { st.gateway.MoveRange(containerID, sickRange, home) }, usual: distant, atMost: distant + nearby,
		}, {
			name: "write region moved", row: "the account's write region has moved",
			what: "single-write account: the service makes another region the write region, the old one answers 403/3; upserts", write: true,
			strike: func(st *stage) { st.gateway.SetWriteRegion(far) }, usual: distant, atMost: 2*distant + accountRead,
		}, {
			name: "write region lost", row: "the write region is lost, and moves after 5.4 s",
			what: "single-write account: the write region refuses connections, and so does the global endpoint; 5.4 s later the service has moved both; upserts. " +
				"What began before that nobody could have served", write: true,
			strike: (*stage).loseHub, after: 5400 * time.Millisecond, move: func(st *stage) {
				st.gateway.SetWriteRegion(far)
				st.gateway.Up(gateway.Global)
			}, usual: distant,
			// A write that fails at once just after the move may find that the account was read just before it. It waits for the
			// next read, which is the one extra round trip, and then makes its own.
			atMost: betweenAccountReads + accountRead + distant, because: "1 s of it until the account may be read again",
		}, {
			name: "dead global endpoint at start", row: "the global endpoint is dead at the start",
			what: "the global endpoint refuses connections before the client is made; point reads", cold: true,
			strike: func(st *stage) { st.gateway.Down(gateway.Global) }, usual: first + accountRead, atMost: first + accountRead + next,
		},
	}
}

// accountRead is the round trip of an account read, which a client makes before its first request, and for a write region that
// it does not know.
const accountRead = distant

// betweenAccountReads is the least time between two reads of the account by the middleware.
const betweenAccountReads = time.Second
