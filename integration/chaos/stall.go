package chaos

import "time"

// watchStalls begins to look for stalls of the machine: for how long goroutines
// that could run were not run. What it returns ends it, and tells the longest. That
// much is added to [Slack]: a request cannot do better than a timer.
func watchStalls() (longest func() time.Duration) {
	stop, told := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		defer func() { told <- most }()
		for {
			due := time.Now().Add(stallStep)
			t := time.NewTimer(stallStep)
			select {
			case <-t.C:
				most = max(most, time.Since(due))
			case <-stop:
				t.Stop()
				return
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-told
	}
}

const stallStep = 10 * time.Millisecond
