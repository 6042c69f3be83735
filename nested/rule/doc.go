// Package rule is nine memories that learn while they read: DeltaRule,
// TitansLMM, HebbianRule, Moneta, YAAD, MEMORA, LatticeOSR, Trellis and
// AtlasOmega, each with its exact adjoint.
//
// A memory is a state, a way to write one token into it and a way to read an
// answer to a query from it. A [Block] is what one level of a model computes:
//
//	             ┌ W_K ─▶ k ┐ rows of length one
//	x [T, D] ────┼ W_V ─▶ v ┤                       write            read
//	             ├ W_Q ─▶ q ┼─▶ state_t-1 ──(k_t, v_t, gates)──▶ state_t ──q_t──▶ y_t
//	             └ gates ───┘
//
// The gates are scalars of a token: alpha forgets (retention is 1 - alpha),
// theta is the step of the inner learning, eta its momentum, gamma a token's
// weight. What a state is differs:
//
//	rule         state                         its inner loss
//	DeltaRule    M [d, d]                      |M k - v|^2 / 2
//	TitansLMM    M and its momentum S          the same
//	HebbianRule  M                             -v.M k
//	Moneta       an MLP in a dual form         |f(k) - v|^p, weights in a q-norm
//	YAAD         an MLP                        Huber's loss of f(k) - v
//	MEMORA       log-weights of an MLP         |f(k) - v|^2 / 2, rows on a simplex
//	LatticeOSR   slots S [m, d], unit rows     |v - S^T k|^2 / 2 on the sphere
//	Trellis      M^K, M^V [m, d]               |phi(M w) - c|^2 / 2
//	AtlasOmega   M, S and a window of tokens   the error over the window
//
// [Layout] says where named arrays lie in the flat vectors of parameters and
// states; [Config] holds the constants; [Rule] is one recurrence. Forward with
// a cache and without compute the same bits; the state is carried from chunk to
// chunk whole, so chunks of any lengths give what one long chunk gives.
package rule
