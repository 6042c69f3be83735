// Package watch measures how long the calls of nodes take, and says when one
// took too long.
//
//	call in time     nothing                        the row ends
//	too long         the host silences the block    one more in a row
//	three in a row   the node is suspended          it is called no more, until Resume
//
// The clock is the runtime's monotonic one: it may be read on a thread that Go
// does not schedule, and nothing here allocates, locks or writes a pointer.
package watch
