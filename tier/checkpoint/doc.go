// Package checkpoint remembers where every tensor was, where it was wanted and
// what was planned for it, so that a process that starts later, on this
// machine or another, begins where the last one stood.
//
//	            ┌────────── checkpoint.meta ──────────┐
//	Manager ─▶ Save   id, tier, bytes, cache key       Restore ─▶ Manager
//	            │     desired tier, last plan          │  │
//	            │                                      │  ├─▶ drift: what could not be as it was
//	persistent cache ─────── bytes, hashes ────────────┘  └─▶ PlanWarmStart: what to do about it
//
// A [Manifest] holds no bytes: they are entries of the persistent cache, which
// it names. [Save] writes none by default and says which tensors have no bytes
// that would survive; with Materialize it writes what is missing first.
//
// [Restore] never puts a tensor into VRAM: the machine may have none. Tensors
// that were there come back in RAM, and the [Report] of such an entry says why
// it is not what was desired. Lazily restored tensors get their bytes when they
// are first needed, [Materialize] fetches them in the order of next use.
//
// [PlanWarmStart] decides per entry, from the same facts always the same way:
//
//	a restore that stepped down    DegradeSafe   to where it is
//	VRAM desired, GPU there        HintPromote   to VRAM
//	VRAM desired, none there       DegradeSafe   to RAM
//	RAM desired, on the SSD        HintPromote   to RAM
//	everything else                Keep
//
// Its decisions are hints. Nothing is moved here.
package checkpoint
