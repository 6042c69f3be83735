// Package checkpoint saves where every tensor was, its preferred tier and its
// last plan, so that a later process, on this machine or another, resumes from
// there.
//
//	            ┌────────── checkpoint.meta ──────────┐
//	Manager ─▶ Save   id, tier, bytes, cache key       Restore ─▶ Manager
//	            │     desired tier, last plan          │  │
//	            │                                      │  ├─▶ drift: what could not be restored as saved
//	persistent cache ─────── bytes, hashes ────────────┘  └─▶ PlanWarmStart: what to do about it
//
// A [Manifest] holds no bytes: it refers to entries of the persistent cache. By
// default [Save] writes none and reports the tensors whose bytes would not
// survive; with Materialize it first writes the missing entries.
//
// A [Model] beside the manifest says what the tensors are of, which files outside
// the cache have their bytes, and which conversations keys and values belong to.
//
// A save writes its files first, syncs them at once and renames them in steps; a
// kill leaves the old checkpoint or the new. [Clean] removes what else it leaves,
// for whoever has the directory's [Lock]. [Nearby] tells which entries of a cache
// must stay.
//
// [Restore] never puts a tensor into VRAM, because the machine may have none.
// Such tensors are restored to RAM, and a [Report] says how each differs from
// what was desired. Lazily restored tensors are read on first use; [Materialize]
// prefetches them in the order of next use.
//
// [PlanWarmStart] decides for each entry, deterministically:
//
//	a restore that was degraded    DegradeSafe   to where it is
//	VRAM desired, GPU there        HintPromote   to VRAM
//	VRAM desired, none there       DegradeSafe   to RAM
//	RAM desired, on the SSD        HintPromote   to RAM
//	everything else                Keep
//
// Its decisions are hints. It moves nothing.
//
// # The folder
//
// A [Folder] is what "atenia checkpoint" works on: it saves the tensors of a
// model or of a cache as a checkpoint, inspects, verifies and restores one, and
// collects cache entries that no checkpoint refers to.
//
//	DIR/checkpoint.meta     the manifest: tiers, desired tiers, plans
//	DIR/checkpoint.*.sums   hashes of the bytes
//	DIR/checkpoint.*.model  what the tensors are of, and where else their bytes are
//	DIR/cache/              the bytes, unless another cache is given
package checkpoint
