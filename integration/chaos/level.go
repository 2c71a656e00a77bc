package chaos

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// level is what a process holds.
type level struct {
	goroutines  int
	descriptors int    // open files; -1 where the system does not tell
	heap        uint64 // bytes in use after a collection
}

// Margin is what a level may have risen by in the end: no goroutine, no descriptor,
// and eight megabytes of the heap. Two things hold memory after a round that are not
// ours: azcosmos keeps caches by endpoint for as long as the process lives, and each
// round has endpoints of its own; net/http keeps some HTTP/2 connections that were
// closed for the 90 s after which an idle one would be.
var Margin = struct {
	Goroutines, Descriptors int
	Heap                    uint64
}{0, 0, 8 << 20}

// measure takes the level, once the goroutines are down to a number or have had
// their time to end.
func measure(goroutines int) level {
	settle(goroutines)
	runtime.GC()
	runtime.GC() // what has a finalizer or was pooled goes at the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return level{runtime.NumGoroutine(), descriptors(), m.HeapAlloc}
}

// settleTime is how long what was closed may take to end.
const settleTime = 10 * time.Second

// settle waits until there are no more goroutines than that, and tells whether it
// came to it. Nothing tells of a goroutine's end: it has to look.
func settle(goroutines int) bool {
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for runtime.NumGoroutine() > goroutines {
		select {
		case <-look.C:
		case <-limit.C:
			return false
		}
	}
	return true
}

// descriptors counts the open files of the process.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}

// risen tells what has not come back, "" for nothing.
func risen(before, after level) string {
	switch {
	case after.goroutines > before.goroutines+Margin.Goroutines:
		return fmt.Sprintf("%d goroutines, %d before", after.goroutines, before.goroutines)
	case after.descriptors > before.descriptors+Margin.Descriptors:
		return fmt.Sprintf("%d open file descriptors, %d before", after.descriptors, before.descriptors)
	case after.heap > before.heap+Margin.Heap:
		return fmt.Sprintf("%d KB on the heap, %d KB before", after.heap>>10, before.heap>>10)
	default:
		return ""
	}
}

// stacks are those of all goroutines.
func stacks() []byte {
	b := make([]byte, 4<<20)
	return b[:runtime.Stack(b, true)]
}
