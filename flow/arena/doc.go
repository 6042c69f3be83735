// Package arena allocates the memory of a running graph: one range of addresses
// outside Go's heap that grows and never moves.
//
//	reserved   ├───────────────────────────────────────────────── 64 GiB ┤
//	committed  ├──────────────── 1, 2, 4, 8 … MiB ┤ faults when touched
//	used       ├ carve ┤g├ carve ┤g├ carve ┤g┤
//
// An [Arena] reserves address space first, as much as the system allows, and
// commits memory only when carves need it, doubling each time. Carves are
// therefore contiguous, and their addresses stay valid until [Arena.Close].
// Nodes written in C rely on that: they keep pointers. The garbage collector
// neither scans nor moves the memory.
//
// A carve starts on a cache line and is followed by a guard of one cache line.
// [Arena.Check] finds overwritten guards and names the carve before them, which
// identifies a node that writes too many frames.
//
// In real time nothing may grow: after [Arena.Freeze] all memory in use is
// resident, and growth is an error until [Arena.Thaw]. Only one goroutine may
// carve at a time; the carved memory has no such restriction.
package arena
