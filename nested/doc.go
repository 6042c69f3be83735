// Package nested builds models whose memory learns while it reads: every level
// of a model is a memory that writes itself with a rule of package rule, and
// levels learn at their own pace.
//
// A chunk of T tokens passes through one step of a [Conductor]:
//
//	     ids ─▶ embed ─▶ x ─┬─▶ sliding-window attention ─▶ A ──────────┐
//	                        ├─▶ level 0  (every chunk)    ─▶ y0 ┐       ▼
//	                        ├─▶ level 1  (every 8th)      ─▶ y1 ┼ Σ ─▶ σ ⊙ ─▶ W_O ─▶ logits
//	                        └─▶ level l  (every C_l-th)   ─▶ yl ┘
//
//	active level   the block writes its state token by token and reads it
//	frozen level   the block only reads; its parameter gradients wait in an
//	               error buffer until the level is active again
//
// # Compositions
//
// Three ways to put attention and memory together (Titans, arXiv 2501.00663,
// section 4), with the k levels' answers joined as
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
// attn(u) is causal softmax attention of the rows of u with a window of w
// tokens inside the chunk. attn(u | h) also sees row j of h wherever it sees
// row j of u: keys and values of both are made by the same W_K and W_V. So a
// query never sees what was recalled for a later token. In MAC the memory is
// asked before attention and written after it, with what attention made.
//
// Options of [Config], all off at first: rotary positions on queries and keys;
// P persistent rows that every query sees; memory keys from a causal
// convolution over several tokens, key_t = Σ_j taps_j ⊙ u_{t−j}, which carries
// over from chunk to chunk and lets a value be stored under the token before
// it; residuals, p = x + z W_Oᵀ and, in MAL, attn(x + mem(x)), with which
// layers can be stacked; and norms, rows brought to a mean square of 1 without
// weights: of a layer's input, of both branches (in MAL of what attention is
// given) and before W_unembed.
//
// # Time
//
//	s mod C_l = 0      the level is active in step s
//	learned schedule   f = W_freq·pool(u) + b_freq; level l > 0 is active where
//	                   f_l > 0. Both of its answers are computed, so that the
//	                   mask has a straight-through gradient, ⟨dy, active − frozen⟩
//
// A step is observe, then advance: all of its work sees one [Pulse], and only
// work that succeeded advances the conductor. A gradient ends at the chunk's
// boundary; memory does not. A [Builder] trains several streams at once, each
// with a [Context], on a [Runner] a thread; a [Reader] runs a model over one
// stream, with the same forward values, bit for bit, and keeps learning.
// Snapshots and saved memories are one checksummed container, see file.go.
package nested
