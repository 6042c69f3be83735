// Package scan finds libraries of C nodes and their descriptions without
// loading any into this process.
//
//	folders, in order ──▶ *.amp.so ──▶ NAME.amp.json beside it ──▶ manifest
//	                                   else the cache           ──▶ manifest, or quarantined
//	                                   else a child loads it    ──▶ manifest, or quarantined; both are remembered
//
//	for each type and major version of the ABI the first library counts;
//	the others are listed as shadowed
//
// A child that crashes, or exceeds [Limit], leaves its library quarantined
// until the file changes: cache entries are keyed by path, size, time and
// checksum. The child is the program itself, started with [Config].Command,
// which must end up in [Serve].
package scan
