//go:build unix && !linux

package main

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used of the processors so far: unlike the time of day it does not count the turns of others
// on a shared machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
