package hedge_test

import (
	"context"
	"fmt"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
)

// A read of the critical path is hedged early, and to one other region only; a report that can wait is not hedged.
func ExampleWith() {
	ctx := context.Background()
	urgent := hedge.With(ctx, hedge.Options{Threshold: 100 * time.Millisecond, MaxHedges: 1})
	patient := hedge.Off(ctx)

	client := hedge.Options{Step: 250 * time.Millisecond} // policy.Options.Hedge
	for _, ctx := range []context.Context{ctx, urgent, patient} {
		request, given := hedge.FromContext(ctx)
		o := client.Merge(request, given)
		fmt.Println(o.Disabled, o.Threshold, o.Step, o.MaxHedges)
	}
	// Output:
	// false 0s 250ms 0
	// false 100ms 250ms 1
	// true 0s 250ms 0
}

// A race is told what happens and says what to do.
func ExampleRace() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return start.Add(d) }
	query := hedge.Query{Document: true, Candidates: 2}
	schedule, _ := hedge.Plan(hedge.Options{Threshold: 200 * time.Millisecond}, query, start, time.Time{}, false)

	race := hedge.MakeRace(schedule)
	wait, _ := race.Next(start)
	fmt.Println("set the timer to", wait)
	if race.Tick(after(200*time.Millisecond)) == hedge.Start {
		fmt.Println("hedge", race.Sent())
	}
	if race.Ended(1, hedge.Final(200, 0)) == hedge.Return {
		fmt.Println(race.State(), "leg", race.Winner(), "slow", race.Slow())
	}
	// Output:
	// set the timer to 200ms
	// hedge 1
	// hedge_won leg 1 slow true
}
