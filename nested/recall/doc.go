// Package recall benchmarks memory rules and their gradients with paired
// associative recall with overwriting, a task that a model without memory can
// only guess.
//
//	write   (key, value) pairs, each one token; later ones overwrite     ask
//	k2v5  k0v1  k2v3  k4v4  k0v1  …  k5v2                                k2? → v3  k0? → v1
//
// Attention covers one token, so the answer must come from memory, through its
// key, value and query projections and its gates, all of which are learned by
// differentiating through the rule. Chance accuracy is one in [Values].
package recall
