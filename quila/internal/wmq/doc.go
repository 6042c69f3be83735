// Package wmq is a Thinker's working-memory queue: what it found worth keeping
// while it thinks (§9.4, [R-9.6]).
//
//	q, err := wmq.New[float32](wmq.Config{Dim: d, Hot: 512, Cold: 4096, Enqueue: .3}, m, "thinker_0")
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
package wmq
