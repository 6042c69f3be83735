// Package link maps a dual state to the weights that minimise a q-norm, as in
// MIRAS (arXiv 2504.13173), and back through the map's adjoint.
//
//	A ──▶ A |A|^(q-2) / mean(|A|^q)^((q-2)/q) ──▶ W      degree one; q = 2 is the identity
//
// A [Map] is the map of one q; [Pow] is the power that its formulas and those
// of the losses |e|^p share.
package link
