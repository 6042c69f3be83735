// Package link maps a dual state to the weights that minimize a q-norm, as in
// MIRAS (arXiv 2504.13173), and computes the map's adjoint.
//
//	A ──▶ A |A|^(q-2) / mean(|A|^q)^((q-2)/q) ──▶ W      degree one; q = 2 is the identity
//
// A [Map] is the map for one q; [Pow] is the power function that its formulas
// and those of the losses |e|^p share.
package link
