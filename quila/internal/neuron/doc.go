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
package neuron
