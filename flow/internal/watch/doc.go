// Package watch measures how long the calls of nodes take and enforces a limit.
//
//	within the limit   nothing                       the count restarts
//	beyond it          the host zeroes the outputs   one more in a row
//	three in a row     the node is suspended         not called until a back-off ends, or Resume
//
// The clock is the runtime's monotonic one, which may be read on a thread that
// Go does not schedule. Nothing here allocates, locks or writes a pointer.
package watch
