// Package tier holds the bytes of Quila's stores, page by page, in five levels
// of memory:
//
//	L1  staging of a kernel          a quota inside L2
//	L2  a device's memory            managed: the driver moves it
//	L3  RAM, hot                     KFE pages, working-memory queues
//	L4  RAM or SSD by need           SCT, Engram, indexes
//	L5  files                        zstd blocks of package cold
//
//	      stage         promote        load
//	L1 ◀───────── L2 ◀─────────── L3 ◀────────────── L5
//	   ─────────▶    ───────────▶    ──────────────▶
//	                  demote     L3 ◀──▶ L4 ◀──▶ L5     write
//
// Only the arrows are legal; anything else is a [MoveError].
//
//	Memory  the account, the folder and the device that the stores of a model share
//	Group   pages with quotas and a score of their own: KFE, a channel of NMDB, …
//	Page    a piece of memory with a tag and a level
//	Device  what a machine with a device is told: allocations, advice, prefetches
//
// Package memory of the engine keeps the account and decides: a group is one of its
// cascades, each page an owned tensor, RAM is reserved in the account of the
// process before it is taken. Without a device L1 and L2 are quotas inside RAM:
// the same states, the same decisions, and the same calls for a [Device] that only
// writes them down.
//
// # Concurrency
//
// A group may be used by several goroutines. The bytes of a page belong to whoever
// uses the group: they must not be read while the page moves.
package tier
