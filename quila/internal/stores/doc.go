// Package stores holds what a model remembers: key features that neurons recall, a
// look-up memory of facts, a persona, the levels of memory that their pages move
// between, and a folder for what has no room.
//
// # Cold folder
//
// A cold [Folder] keeps what a store has no room for in a folder: blocks of
// records, each one zstd frame in a file of its own, and an index from a
// record's key to its place.
//
//	f, err := stores.OpenCold(stores.ColdConfig{Dir: dir})
//	err = f.Put(7, records, raw)          // block 7 is on disk
//	b, err := f.Get(key)                  // one block is read
//	err = f.Archive()                     // slow, small frames for what stays
//	err = f.Close()                       // writes the index
//
//	Folder  the blocks of a folder
//	Record  a key and where its bytes lie in a block
//	Stats   what was read, written, rebuilt and found damaged
//
// A file is named for its block and holds, inside the frame:
//
//	"QCLD"  u32 version  u32 level  u32 n  n × {u64 key, u32 offset, u32 length}  raw bytes
//
// so that the blocks alone are the whole truth. A block is on disk before Put
// returns (package durable): a kill loses nothing that was acknowledged. The
// index, a B-link tree in memory, is written by Close and deleted by the first
// change after Open. One that is missing, damaged or of other blocks is rebuilt by
// reading all blocks; those that are damaged are named in [ColdStats] and left alone.
//
// A block that is written while a session uses it is compressed at level 3, one
// that was archived at level 19.
//
// # Engrams
//
// An [EngramTable] is a memory of facts that is looked up by the last codes of a
// text, in a time that does not depend on its size (§9.6, [R-9.8]). Name and shape
// are those of X. Cheng et al., Conditional Memory via Scalable Lookup, arXiv
// 2601.07372.
//
//	rows, n := stores.Probes(codes, bits, &mul)   // eight rows, whatever the size
//	k, v, g := t.Rows(…)                           // what a port adds to its keys and values
//
//	Probes      the rows of a suffix: four hashes of two codes, four of three
//	EngramTable       2^bits rows in half precision, in pages of a [Memory]
//	Gate        W_k e as keys, g·W_v e as values, g by how well the state fits
//	ClosedBook  the loss that teaches the table: logits from its rows alone
//
//	codes … 84 72 69 ──▶ canonical: 116 104 101
//	                     2 codes │            │ 3 codes
//	                  probes 0–3 ▼            ▼ probes 4–7
//	table  [row] [row] [row] [row] [row] [row] [row] [row]
//	            W_k ──▶ keys      W_v, gate ──▶ values
//
// In inference the table is read-only. Its pages may lie on disk until the rows of
// a context are asked for [EngramTable.Prefetch]. Training works on a copy in the float
// type of the tape.
//
// # Key features
//
// A [KFE] remembers key features: for each neuron a library of states that it
// was in, each under the direction that led to it (§9.2, §20).
//
//	s, err := stores.NewKFE(cfg, stores.KFEOptions{Memory: m})
//	r := stores.NewKFEReader[float32](s)
//	r.Recall(neuron, session, hMid, hKFE, nil)   // many at once, while a tick runs
//	s.Offer(neuron, offer)                       // step 10
//	err = s.Commit(turn)                         // after the tick: what was noted is done
//	err = s.EndTurn(turn)                        // soft deletions are decided
//
//	KFE      the libraries of a model, their pages, the eviction policy
//	Library  the entries of one neuron and their index
//	KFEEntry an embedding of unit norm, a snapshot, and what is known of both
//	KFEReader recall, in float32 or float64
//	Recalled what a recall found, for its gradient
//
// # Life of an entry
//
//	offer ──gates──▶ live ◀────────────────────────┐
//	        │          │ L5 full and score low,    │ recalled with weight ≥ 1/top_k,
//	      merge        │ or evidence A, B          │ or idle for K turns without A, B
//	   cos > .97       ▼                           │
//	                shadow ────────────────────────┘
//	                   │ idle for K turns and A or B
//	                   ▼
//	                deleted, its node in the index too
//
// A shadow takes part in search and softmax and adds nothing. Evidence
// is A, the entry had a part in an answer that was punished, or B, it had one in a
// contradiction.
//
// # Where entries are
//
// What is known of entries, and the index over their embeddings, stays in RAM.
// Embedding and snapshot, in half precision, lie in pages of 256 entries that
// a [Memory] moves between L2, L3 and L5 by a score: four terms, each
// normalized inside its level, weighted .4, .2, .2, .2; a page counts as its best
// entry. In training an entry that is missed soon after it was evicted moves the
// weights towards its features.
//
// # Concurrency
//
// Recall changes nothing but a list of what it found, so that neurons and sessions
// recall at once and results do not depend on their order. Commit, which needs the
// store alone, applies the lists by neuron and session: counts, shadows that come
// back, new entries, pages that move.
//
// # Persona
//
// A [Vector] keeps the one vector that is a model's manner, across calls and
// restarts (§19, [R-19.1]).
//
//	v, err := stores.OpenPersona(stores.PersonaConfig{Dim: 64, Path: path, Warn: warn})
//	x := v.Values()        // memory of the file itself
//	err = v.Set(x)         // on disk when it returns
//
//	Vector  the values and where they are kept
//	Medium  NVRAM, File or RAM
//
// Non-volatile memory is found as a file system that is mounted with direct access
// (DAX), or named in [PersonaConfig.NVRAM]: a folder on one, or a device. There the values
// that are read are the stored ones. Without it a file is mapped and synced, and
// without a path they are in RAM alone; both say once that the persistence is less.
//
// The file has two slots and a change is written to the older one, with a
// number and a checksum over all of it. Whenever the power fails, one slot is
// whole: the last one whose Set returned, or the one after it.
//
//	slot 0  "QPRS" version  number  dim  CRC-32C  values …
//	slot 1  "QPRS" version  number  dim  CRC-32C  values …      the larger number counts
//
// # Levels of memory
//
// A [Memory] holds the bytes of Quila's stores, page by page, in five levels
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
// Only the arrows are legal; anything else is a [moveError].
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
package stores
