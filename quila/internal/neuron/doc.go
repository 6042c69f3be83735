// Package neuron runs the grid: steps 2 to 11 of every neuron for a batch of
// sessions, forward and backward (sections 5.1, 5.2 and 17.1).
//
//	State   what a grid carries from tick to tick, for B sessions
//	Grid    a network's neurons and edges, its threads and scratch memory
//	Bind    what depends on the weights only, once per optimizer step
//	Step    one tick for a given h_in, forward only
//	HIn     h_in from the neighbours' last h_final, by composite edge maps
//	Window  a training window of many ticks as one operation of a tape
//
// # Layout
//
// Neurons have weights of their own, so a neuron's sessions are the rows of its
// products: everything is [N][B][…], and what a window keeps for its gradient is
// [N][ticks][B][…]. A weight's gradient is then one product over all rows of a
// window. Neurons are independent within a tick and are what threads divide; sums
// over neurons have a fixed order, so that results are the same bits for any
// number of threads.
//
// # Algebra
//
// Some products are taken once per [Grid.Bind] instead of once per tick, and are
// equal in exact arithmetic:
//
//	M_e = W_in · conv · place · ConvT · diag(w_e)   an edge, D×D
//	Q = W_corr · W_pred                             x ← x + W_corr·h − Q·x
//	H_res, gate                                     Sinkhorn, softmax
//
// # Choices
//
// Which dimensions stream A selects, how many iterations stream D runs, which
// rows take the second step of the consistency model and who fires are chosen on
// float32 values [R-0.3b], so that the float64 instance, which exists to check
// gradients, takes the branches of the float32 one. Choices and traces are
// constants of the gradient.
//
// # Messages
//
// A message is what neurons say to each other: how a hidden vector becomes
// a square of 8-bit floats, how it travels, and how a receiver adds what arrived
// and makes a vector of it again.
//
//	sender    h ──W_out, fold──▶ seeds a×a ──ConvT κ×κ, stride s──▶ payload H×H ──E4M3──▶ Message
//	receiver  Message ──place, add, count──▶ Board H×H ──k_in 8×8──▶ ──W_in──▶ h
//
//	Message   place, sender, flags and codes, and its wire form
//	Board     the count mean of the messages that a neuron reads
//	Payload   a sender's square, before rounding
//	Tile      which part of a payload a partial send needs [R-8.6b]
//	Receive   k_in and W_in
//
// The arithmetic is generic over float32 and float64: a network runs in float32,
// and the checks compare with float64. A sum of messages is made in the order in
// which they are added, so a caller that keeps one order (ascending sender, and
// of one sender ascending tick) has the same bits whatever the order in which
// messages were sent and whatever thread adds them.
//
// # Numbers
//
// Payloads are rounded from float32 to E4M3 directly, to nearest even, and
// saturate at ±448. A payload that has a NaN is dropped by its sender and
// counted; nothing else of a message can make a NaN, as the format has no
// infinities.
//
// # Doubly stochastic matrices
//
// [Sinkhorn] makes doubly stochastic matrices from logits: exp of the
// clamped logits, then rounds that divide rows and columns by their sums (R.
// Sinkhorn and P. Knopp, 1967). The last division is by columns, so
// columns are exact and rows carry the error.
//
// Its gradient does not need the rounds: a straight-through estimate, centred in
// both directions, points within a few degrees of the exact one. The exact
// gradient is there to check it.
//
// # Ports
//
// A port is a place where a Planner, the Thinkers and their Analyses look at all
// neurons at once and pass on what they found to.
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
//	Louvain order  comes from package weights, through [Ports.SetOrder]
//
// # Arithmetic of ports
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
package neuron
