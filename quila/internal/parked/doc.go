// Package parked has what only the conformance command reaches today, and the second
// part of the specification waits for: the bus of channels, the tree of a context,
// and a queue of working memory.
//
// # Bus
//
// The [Bus] is that carries what is not a neuron's: the peripheral
// channels of text, images and audio, apart from each other, and the containers
// in which they travel (§9.5, [R-9.7]).
//
//	b, err := parked.OpenBus(parked.BusConfig{Memory: m, Quotas: quotas})
//	err = b.Put(ctx, parked.Text, key, data)
//	data, err = b.Get(ctx, parked.Text, key)
//	err = b.Archive()                     // everything is on disk, small
//
//	Bus        the channels; each has a quota and gives up what it used least recently
//	Channel    Text, Image or Audio; the frames of a video are images
//	Container  CIC, chunks of several channels in one stream of bytes
//
//	        Put ─▶ L3, within the channel's quota ◀── Get
//	                 │ least recently used       ▲
//	                 ▼                           │
//	               L5, zstd 3 ── Archive ─▶ zstd 19
//
// What a channel evicts never takes room from another. What was archived, and
// what went to L5, survives a kill; a page that is in RAM alone does not.
//
// # Containers
//
//	CIC{uint32 version=1; repeated Channel channels=2; repeated Frame frames=3}
//	Channel{uint32 id=1; string name=2; Kind kind=3; uint64 n_chunks=4; map<string,string> meta=5}
//	Frame{uint32 channel=1; uint64 seq=2; bytes chunk=3}
//
// A container has one encoding: fields ascending, channels by id, frames by number
// and channel, maps by key, nothing that has its default value. [Parse] refuses any
// other, so that taking a container apart and putting it together gives the same
// bytes. Chunks are not copied: they are slices of what was parsed.
//
// # Tree of a context
//
// A [Tree] is the tree of a call's context: what the codebook alone says about
// it, before any neuron has read it (§9.3, [R-9.5]).
//
//	b := parked.NewBuilder(codebook, parked.Config{Block: 64}, memory, cache)
//	t, err := b.Build(codes)           // Phase 1: one node a block
//	err = t.Refine([]int{3, 7})        // Phase 3: children of 8 codes
//	hits = t.Query(hits, q, 8)         // Phase 4: the nodes nearest to a need
//	t.Close()                          // the call is over
//
//	Tree     the nodes: span, mean embedding, level, neighbours, children
//	Cache    level-1 nodes of earlier calls, by keys of block prefixes
//	Ngrams   what followed the last codes before, for the Thinkers' queries
//	Band     LOW, MEDIUM or HIGH, how near a block is to the question
//
//	level 1   [0,64) ⇄ [64,128) ⇄ [128,150)        one for each block
//	                    │
//	level 2             [64,72) ⇄ [72,80) ⇄ …      eight codes each
//
// The embedding of a node is the mean of its codes' rows of the codebook, centred
// by the codebook's own mean and of unit length: with random rows, cosines of what
// is not centred crowd around zero and bands do not separate.
//
// A block prefix has a key, SHA-256 of the codebook's id and all codes up to there.
// Two calls whose prefixes have the same key share the nodes of those blocks.
// Children depend on what the call needs and are not shared [R-9.5b].
//
// A tree has one user at a time; a cache may have many.
//
// # Working memory
//
// A [Queue] is a Thinker's working-memory queue: what it found worth keeping
// while it thinks (§9.4, [R-9.6]).
//
//	q, err := parked.NewQueue[float32](parked.QueueConfig{Dim: d, Hot: 512, Cold: 4096, Enqueue: .3}, m, "thinker_0")
//	q.Seed(z, 0)                                 // an empty queue admits nothing
//	relation, err := q.Offer(out, stage, utility, trajectory)
//	hits = q.Retrieve(hits, state, 8, trajectories)
//	q.StageEnd(stage)
//	q.TurnEnd()
//
// An entry is admitted if it is near one that is there: its relation is the
// largest cosine with the hot zone. What does not fit goes down, the lowest
// relation first, among equals the oldest:
//
//	         relation > threshold      overflow            overflow
//	offer ─────────────────────▶ hot ───────────▶ cold ───────────▶ dropped
//	                              ▲───── retrieved ──┘
//	                         stage end │  │ stage end
//	                                   ▼  ▼
//	                           deletion buffer ── turn end ──▶ freed
//
// An entry of the stage that ends leaves both zones; the end of the turn frees it.
// One whose utility is above the threshold stays for exactly one more turn. Nothing
// runs beside: no timer, no goroutine.
//
// Contents lie in memory of package tier: the hot zone in memory that a device
// reads, the rest in RAM. A queue has one user at a time; each Thinker has its own
// [R-9.6d].
package parked
