// Package recall measures what a memory rule and its gradient can do: paired
// associative recall with overwriting, a task that a model without memory can
// only guess at.
//
//	write   (key, value) pairs, each one token; later ones overwrite     ask
//	k2v5  k0v1  k2v3  k4v4  k0v1  …  k5v2                                k2? → v3  k0? → v1
//
// Attention sees one token only, so the answer must come from memory, by way
// of its key, value and query projections and its gates, all of which are
// learned through the rule. Accuracy by chance is one in [Values].
package recall
