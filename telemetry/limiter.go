package telemetry

import "time"

// The limits of log lines of one kind.
const (
	lineBurst = 50
	lineEvery = time.Second // one more line may be written
)

// limiter lets through a burst, and one more each lineEvery; it counts what it
// holds back. It is a value without a clock; the zero value is ready.
type limiter struct {
	spent      int       // of the burst
	since      time.Time // lineEvery before the next spent line is regained
	suppressed int
}

// allow reports whether a line may be written at now, and how many were held
// back since the last one that was.
func (l *limiter) allow(now time.Time) (suppressed int, ok bool) {
	// A clock that was set back regains nothing and loses nothing.
	if regained := int(now.Sub(l.since) / lineEvery); regained > 0 {
		l.spent = max(0, l.spent-regained)
		l.since = l.since.Add(time.Duration(regained) * lineEvery)
	}
	if l.spent == 0 || now.Before(l.since) {
		l.since = now
	}
	if l.spent == lineBurst {
		l.suppressed++
		return 0, false
	}
	l.spent++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}
