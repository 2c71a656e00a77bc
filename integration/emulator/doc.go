// Package emulator gives a test a Cosmos DB emulator, or an account, to talk to.
//
// What it gives is decided by the environment:
//
//	COSMOS_EMULATOR_ENDPOINT        that emulator or account, used as it is
//	COSMOS_EMULATOR_KEY             its key; default: the well-known key of the emulators
//	AZURE_COSMOS_CONNECTION_STRING  the same in one, "AccountEndpoint=…;AccountKey=…;", when there is no COSMOS_EMULATOR_ENDPOINT
//	COSMOS_EMULATOR_INSECURE_TLS    1: its certificate is not checked; for a loopback endpoint it never is
//	COSMOS_EMULATOR                 required: a test that can have no emulator fails; unset: it is skipped, and says why
//
// With neither endpoint nor connection string it is @vercel/cosmosdb-server from npm, at the version that server/ pins. It is
// installed without scripts on first use, into a folder of the user's cache that is named after the pinned contents, and
// started on a free port of 127.0.0.1. One is shared by all tests of a test binary and ends with it: it holds the other end of
// a pipe, which the kernel closes when the binary ends, however it ends.
//
// Emulators differ from the service, and from each other, in what they can do. Capabilities says what this one can,
// found by asking it, so that a test skips by capability and never by name. The questions are asked in a database of their own, which is deleted
// afterwards; on an account they cost the request units of about twenty requests and one container for a moment.
//
// An emulator has one region. Package gateway makes several of it.
package emulator
