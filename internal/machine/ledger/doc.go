// Package ledger counts the bytes of one memory: what they are held for, and
// within which limit.
//
//	Account      one memory: a limit, and what is held of it
//	Use          what bytes are for: weights, keys and values, scratch, …
//	Reservation  bytes that are held until they are released
//	Process      the account of this process, whose limit is the machine's and
//	             its control groups'; every account of RAM is a part of it
//	Recent       values that were computed last, as far as an account has room
//	Block        a large piece of memory outside Go's heap, of pages of 4 KiB
//	             (caches, which grow) or 2 MiB (weights and scratch)
//	Guard        ends a program before it is killed for memory that nobody reserved
//
// Whoever takes a large piece of memory reserves it first; [NewBlock] does
// both. So what is held never exceeds the limit by a new reservation, and one
// that has no room fails with an [*Error] that has both numbers before a byte is
// touched.
//
//	limit  ├──────────────────────────────────────────┤
//	held   ├ program ┼ weights ┼ ring ┼ cache ┤  free
//
// The limit may change while memory is held, because it is what other processes
// leave. It may fall below what is held: then [Account.Over] says how many bytes
// have to be given back, and nothing new can be reserved.
package ledger
