//go:build !unix

package main

import "time"

var began = time.Now()

// cpuTime is the time of day, where the process's share of the processors cannot be had.
func cpuTime() time.Duration { return time.Since(began) }
