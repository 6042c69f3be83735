// Package kfe remembers key features: for each neuron a library of states that it
// was in, each under the direction that led to it (§9.2, §20).
//
//	s, err := kfe.New(cfg, kfe.Options{Memory: m})
//	r := kfe.NewReader[float32](s)
//	r.Recall(neuron, session, hMid, hKFE, nil)   // many at once, while a tick runs
//	s.Offer(neuron, offer)                       // step 10
//	err = s.Commit(turn)                         // after the tick: what was noted is done
//	err = s.EndTurn(turn)                        // soft deletions are decided
//
//	Store    the libraries of a model, their pages, the eviction policy
//	Library  the entries of one neuron and their index
//	Entry    an embedding of unit norm, a snapshot, and what is known of both
//	Reader   recall, in float32 or float64
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
// package tier moves between L2, L3 and L5 by a score: four terms, each
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
package kfe
