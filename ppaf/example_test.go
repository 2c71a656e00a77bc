package ppaf_test

import (
	"fmt"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// A partition's write region has moved from East (0) to West (1). The write that finds out needs two attempts.
func Example() {
	names := []string{"East", "West", "North"}
	readable, now := regions.MakeList(0, 1, 2), time.Now()
	store := ppaf.NewStore(ppaf.Options{Mode: ppaf.On})
	store.Apply(ppaf.Account{Primary: 0, Readable: readable}, now)

	send := func(r regions.Index) ppaf.Answer {
		if names[r] == "West" {
			return ppaf.Confirmed
		}
		return ppaf.Refused
	}
	write := func(k ppaf.Key) {
		candidates := store.Start(k, now).Candidates(0, readable, 0)
		region := candidates.First()
		token := store.Begin(region)
		search := ppaf.NewSearch(candidates, token, time.Time{})
		for {
			answer := send(region)
			fmt.Println(names[region], answer)
			if c, ok := store.Observe(k, region, token, answer, now); ok {
				fmt.Println("override", c.Kind())
			}
			step := search.Next(region, answer, now)
			if step.Action != ppaf.Ask {
				return // a real one also waits and begins another round, when told to
			}
			region = step.Region
			token = store.Begin(region)
		}
	}
	write(ppaf.Key{Container: 1, Range: 7})
	write(ppaf.Key{Container: 1, Range: 7})
	// Output:
	// East refused
	// West confirmed
	// override set
	// West confirmed
}

func ExampleOptions_Validate() {
	fmt.Println(ppaf.Options{Timeouts: 50}.Validate())
	// Output: ppaf: Timeouts must be at most 11, got 50
}
