// Package chunk computes recurrences whose state is a matrix in spans of tokens, by
// products of matrices.
//
// The memory of a head is a matrix S [K, V]. A token forgets, writes a vector u under
// its key k, and reads with its query q:
//
//	rule     forgets and writes                                    of
//	Scan     S ← e^g S + k uᵀ              u is given              Mamba 2 (arXiv 2405.21060)
//	Delta    S ← e^g S + k uᵀ              u = β (v − e^g Sᵀk)     gated delta (arXiv 2412.06464)
//	General  S ← diag(e^w) S + b uᵀ + k vᵀ u = −Sᵀκ                RWKV-7 (arXiv 2503.14456)
//
// and y = Sᵀq. Within a span that begins with S0, with G the sums of g since then,
//
//	S_t = e^G_t S0 + Σ_(i≤t) e^(G_t−G_i) k_i u_iᵀ
//	y_t = e^G_t S0ᵀq_t + Σ_(i≤t) e^(G_t−G_i) (k_i·q_t) u_i
//	u_t = β_t (v_t − e^G_t S0ᵀk_t − Σ_(i<t) e^(G_t−G_i) (k_i·k_t) u_i)
//
// so that the vectors u, where a rule corrects, solve a triangular system ([Work.Solve]) and
// everything else is products, of a [memory] and of [decays] (Yang et al.,
// arXiv 2406.06484). General decays by channel: its keys and queries carry the decays
// since the beginning of the span, e^−W and e^W, which its rule bounds, and a token has
// two rows, u under b and v under k.
//
// The recurrence of Mamba 1 has for each channel its own decay of each value of its state,
// so that no product computes several rows: [Diagonal] does them one after another
// (arXiv 2312.00752).
//
//	Diagonal  [N, channels]  s_n ← e^(δ·a_n) ⊙ s_n + b_n·δ⊙u  and  y = Σ c_n·s_n
//
// # Results do not depend on how tokens are divided into calls
//
// Spans begin at multiples of their length in the sequence. A state keeps S0 and the
// keys, vectors u and sums of the span so far; S0 advances when the span is complete. A
// call with one token computes row t of the formulas above with the additions of a call
// with many: products add along k in order, whatever their other sizes. It reads S0
// without writing it.
package chunk
