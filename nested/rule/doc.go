// Package rule implements nine memory rules that learn at inference time:
// DeltaRule, TitansLMM, HebbianRule, Moneta, YAAD, MEMORA, LatticeOSR, Trellis
// and AtlasOmega, each with its exact adjoint.
//
// A memory is a state, an update that writes one token into it, and a read that
// answers a query from it. A [Block] is the computation of one level of a
// model:
//
//	             ┌ W_K ─▶ k ┐ rows of length one
//	x [T, D] ────┼ W_V ─▶ v ┤                       write            read
//	             ├ W_Q ─▶ q ┼─▶ state_t-1 ──(k_t, v_t, gates)──▶ state_t ──q_t──▶ y_t
//	             └ gates ───┘
//
// The gates are scalars per token: alpha is the forget gate (retention is 1 -
// alpha), theta the inner learning rate, eta the momentum, gamma the weight of
// a token. The states are:
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
// [Layout] gives the positions of named arrays in the flat vectors of
// parameters and states; [Config] holds the constants; [Rule] is one
// recurrence. Forward computes the same bits with and without a cache. The
// complete state is carried from chunk to chunk, so chunks of any lengths give
// what one long chunk gives.
package rule
