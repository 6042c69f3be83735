// Package sct is the tree of a call's context: what the codebook alone says about
// it, before any neuron has read it (§9.3, [R-9.5]).
//
//	b := sct.NewBuilder(codebook, sct.Config{Block: 64}, memory, cache)
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
package sct
