// Package network composes a network: embeddings of a boundary, the grid, the
// ports and the read-out, in training and in the simple form of the token loop
// (phases 0, 2 and 5).
//
//	codes ─▶ codebook rows, turned by position ─▶ grid, K ticks ─▶ ports ─▶ m
//	                                                                        │
//	logits_c = (y·e_c − ½‖e_c‖²)/τ + b_c,  y = W_read·m  ◀──────────────────┘
//
//	Network  configuration, graph, weights, and what is derived from them
//	Stream   sessions that read texts side by side; training or not
//	Params   the weights that a window trains
//
// The softmax of the logits is the distribution over codes, and the largest is
// the nearest codebook vector; the codebook is frozen. A window of the loss
//
//	mean cross-entropy + .01·Brier of the merged confidence [R-2.6b]
//
// is one recording of a tape: the grid over all tokens, then the ports over all
// tokens, then the read-out. State is carried from window to window without a
// gradient.
package network
