// Package arena holds the memory of a running graph: one range of addresses
// outside Go's heap that grows and never moves.
//
//	reserved   ├───────────────────────────────────────────────── 64 GiB ┤
//	committed  ├──────────────── 1, 2, 4, 8 … MiB ┤ faults when touched
//	used       ├ carve ┤g├ carve ┤g├ carve ┤g┤
//
// An [Arena] reserves addresses first, as many as the system lets it, and asks
// for memory only when carves need it, doubling what it has. So carves are
// contiguous, and their addresses hold until [Arena.Close], which nodes
// written in C rely on: they keep pointers. The garbage collector neither
// scans nor moves any of it.
//
// A carve starts on a cache line. Behind each is a guard of a cache line that
// nobody may write: [Arena.Check] finds guards that were, and names the carve
// in front, which is how a node that writes too many frames is caught.
//
// In real time nothing may grow: after [Arena.Freeze] all memory in use is
// resident, and what would need more is an error until [Arena.Thaw]. Carving is for one
// goroutine at a time; the memory is for whoever it is given to.
package arena
