// Package port implements the ports of a network: the places where a Planner,
// the Thinkers and their Analyses look at all neurons at once and pass on what
// they found to.
//
//	x [N, D]                       slots of other ports (Visible)
//	  │  k, v                          │  k, v
//	  ├──────────── scan ◀─────────────┘        aggr, weight of each neuron
//	  │               │ utility, top k_p
//	  ├──── attention ◀── own slot              out_NSA
//	  │               │
//	  └── H·[aggr; out_NSA; selected rows; 0 …] ── compress ── o
//	                                                       │ alignment
//	                                      merge ◀──────────┴──▶ own slot
//
// All ports of a step read the slots as they were when it began. The Thinkers'
// outputs, after they read their queue [R-2.3c], are merged by confidence times
// utility, and the Generator's intercept and the read-out turn the merge into
// distances to codes.
//
//	Ports    the shape: who sees whom, in which order neurons are scanned
//	Window   all ports over T steps of B sequences, as operations of a tape
//	Stepper  one step of B sessions, with the same arithmetic, for inference
//	Queue    the entries that a Thinker reads
//	Louvain order  comes from package topology, through [Ports.SetOrder]
//
// # Arithmetic
//
// What depends on weights alone is folded once: H into the compression, the slot
// projection into the scan's three matrices, Wkᵀ·Wq of the attention into one.
// What depends on neurons alone is computed for all steps before the first: keys
// and values of the scan, the softmax over neurons, and the streams of the
// selected neurons where all are selected. What is left between steps is two
// small products a port. A softmax over neurons and slots is made of the one over
// neurons by rescaling, so the recurrent part has as many exponentials as a port
// sees slots.
//
// A gradient goes through everything but choices: the set of the top k_p, and
// whether an output is far enough to be aligned. Traces are constants.
//
// # Selection
//
// [Top] selects by utility: the dimensions that a neuron attends to, the
// neurons that a port attends to, and the neurons that fire. All three rank by
// one family of numbers, how much a recurrence weighed something, its trace and
// its magnitude (invariant 5), and by one rule: the largest, and of equal ones
// the one with the smaller index.
//
// The rule is the selection branch of native sparse attention (J. Yuan et al.,
// Native sparse attention, 2025) with utilities in the place of scores of
// compressed keys.
package port
