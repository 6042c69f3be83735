// Package nested builds models whose memory learns at inference time: every
// level of a model is a memory that is updated by a rule of package rule, and
// levels update at different rates (nested learning).
//
// A chunk of T tokens passes through one step of a [Conductor]:
//
//	     ids ─▶ embed ─▶ x ─┬─▶ sliding-window attention ─▶ A ──────────┐
//	                        ├─▶ level 0  (every chunk)    ─▶ y0 ┐       ▼
//	                        ├─▶ level 1  (every 8th)      ─▶ y1 ┼ Σ ─▶ σ ⊙ ─▶ W_O ─▶ logits
//	                        └─▶ level l  (every C_l-th)   ─▶ yl ┘
//
//	active level   the block updates its state token by token and reads it
//	frozen level   the block only reads; its parameter gradients wait in an
//	               error buffer until the level is active again
//
// # Compositions
//
// Attention and memory are combined in one of three ways (Titans, arXiv
// 2501.00663, section 4), where the outputs of the k levels are summed as
//
//	mem(u) = c_k Σ_l y_l(u)     c_k = 1/√k for k > 2, else 1
//	ask(u) = c_k Σ_l read_l(u)  of the memory before the chunk, by W_Q alone
//
//	MAG  memory as gate      z = attn(x) ⊙ σ(mem(x))
//	MAC  memory as context   A = attn(x | ask(x))
//	                         z = A ⊙ σ(mem(A))
//	MAL  memory as layer     z = attn(mem(x))
//
//	p = z W_Oᵀ,  logits = p W_unembedᵀ
//
// attn(u) is causal softmax attention over the rows of u, with a window of w
// tokens inside the chunk. In attn(u | h) a query that attends to row j of u
// also attends to row j of h; keys and values of both come from the same W_K
// and W_V. A query therefore never attends to what was recalled for a later
// token. In MAC the memory is read before attention and written after it, with
// the output of attention.
//
// Options of [Config], all off by default: rotary positions of queries and
// keys; P persistent rows that every query attends to; memory keys from a
// causal convolution over several tokens, key_t = Σ_j taps_j ⊙ u_{t−j}, which
// carries over from chunk to chunk and lets a value be stored under the
// preceding token; residuals, p = x + z W_Oᵀ and, in MAL, attn(x + mem(x)),
// which allow stacking layers; and norms, rows scaled to a mean square of 1
// without weights: a layer's input, both branches (in MAL the input of
// attention) and the input of W_unembed.
//
// # Time
//
//	s mod C_l = 0      the level is active in step s
//	learned schedule   f = W_freq·pool(u) + b_freq; level l > 0 is active where
//	                   f_l > 0. Both of its answers are computed, so that the
//	                   mask has a straight-through gradient, ⟨dy, active − frozen⟩
//
// A step is observe, then advance: all of its work uses one [Pulse], and only
// work that succeeded advances the conductor. Gradients are truncated at the
// chunk's boundary; memory is not. A [Builder] trains several streams at once,
// each with a [Context], on one [Runner] per thread; a [Reader] runs a model
// over one stream, with bitwise the same forward values, and keeps learning.
// Snapshots and saved memories are one checksummed container, see file.go.
package nested
