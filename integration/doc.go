// Package integration is the end-to-end tests: an azcosmos client with the
// middleware, over real sockets, HTTP/1.1 and TLS with HTTP/2, against the
// multi-region gateway of package gateway in front of its in-process store and
// of a real emulator. It holds no code that an application could import.
//
// README.md maps the scenarios that the other SDKs test to the tests here and
// in policy/.
package integration
