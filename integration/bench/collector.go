package main

import (
	"runtime"
	"runtime/debug"
)

// collectorCost is what the garbage collector costs for each byte that an application allocates, in ns of CPU time: plain
// azcosmos reads with the collector at work as it is by default, and then with none, round after round. In an application it
// depends on the heap, but is as good as the same for all who allocate there.
func collectorCost(e effort) (float64, error) {
	transport, regions := newInstant(3)
	a, err := instantApp(plain, transport, regions)
	if err != nil {
		return 0, err
	}
	defer a.close()
	release, err := company()
	if err != nil {
		return 0, err
	}
	defer release()
	r := operationOf(plain.name, "ReadItem", a)
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var perByte []float64
	for range e.rounds/200 + 1 {
		var took [2]float64
		var bytes uint64
		for i, percent := range []int{100, -1} {
			debug.SetGCPercent(percent)
			runtime.GC()
			if err := r.run(warmUp); err != nil {
				return 0, err
			}
			before := allocated()
			s, err := timed(r, 20*e.perTurn)
			if err != nil {
				return 0, err
			}
			took[i], bytes = s.cpu, allocated()-before
		}
		perByte = append(perByte, (took[0]-took[1])/float64(max(bytes, 1)))
	}
	return max(median(perByte), 0), nil
}
