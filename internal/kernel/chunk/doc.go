// Package chunk computes the recurrence of a gated delta rule in spans of tokens,
// by products of matrices.
//
// The memory of a head is a matrix S [K, V]. A token forgets by a factor, corrects
// what the memory answers to its key, and reads it with its query:
//
//	S ← e^g S ;  u = β (v − Sᵀk) ;  S ← S + k uᵀ ;  y = Sᵀq
//
// Within a span that begins with S0, with G the sums of g since then,
//
//	S_t = e^G_t S0 + Σ_(i≤t) e^(G_t−G_i) k_i u_iᵀ
//	u_t = β_t (v_t − e^G_t S0ᵀk_t − Σ_(i<t) e^(G_t−G_i) (k_i·k_t) u_i)
//	y_t = e^G_t S0ᵀq_t + Σ_(i≤t) e^(G_t−G_i) (k_i·q_t) u_i
//
// so that the vectors u solve a triangular system and everything else is products
// (Yang et al., arXiv 2406.06484 and 2412.06464).
//
// # Results do not depend on how tokens are divided into calls
//
// Spans begin at multiples of [Span] of the position in the sequence. A [Head]
// keeps S0 and the keys, vectors u and sums G of the span so far; S0 advances when
// the span is complete. A call with one token computes row t of the formulas above
// with the additions of a call with many: products add along k in order, whatever
// their other sizes. It reads S0 without writing it.
package chunk
