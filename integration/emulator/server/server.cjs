// Starts the emulator on a free port of 127.0.0.1, says which on standard output, and ends when standard input closes: it
// cannot outlive the process that holds the other end, however that process dies.
"use strict";

const { createHttpServer } = require("@vercel/cosmosdb-server");

// The command-line program closes the connection after every answer; the library can keep it.
const server = createHttpServer({ keepAlive: true });

// A connection that the server closes while a request is on its way looks like a failed region.
server.keepAliveTimeout = 0;

server.on("error", (err) => {
  console.error(err.message);
  process.exit(1);
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: server.address().port }));
});

process.stdin.on("close", () => process.exit(0));
process.stdin.resume();
