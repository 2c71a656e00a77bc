// Package traces reads a failover back from Jaeger, as an engineer on call would: the drill runs and exports its traces, and
// Jaeger's HTTP API is asked for the operation, its attempts in order, their regions and their reasons.
//
// It is a module of its own, so that Jaeger is nobody's dependency; and Jaeger is pinned in jaeger.mod beside go.mod, so that
// it is built with the versions that it was released with. The tests build it, which takes minutes and some 3 GB of caches the
// first time, start it on free ports of 127.0.0.1 with its storage in memory, and stop it, so they are skipped unless
//
//	JAEGER=required go -C integration/traces test -v ./...
package traces
