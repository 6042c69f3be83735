// Package nested builds models whose memory learns while it reads: every level
// of a model is a memory that writes itself with a rule of package rule, and
// levels learn at their own pace.
//
// A chunk of tokens passes through one step of a [Conductor]:
//
//	     ids ─▶ embed ─▶ x ─┬─▶ sliding-window attention ─▶ A ──────────┐
//	                        ├─▶ level 0  (every chunk)    ─▶ y0 ┐       ▼
//	                        ├─▶ level 1  (every 8th)      ─▶ y1 ┼ Σ ─▶ σ ⊙ ─▶ W_O ─▶ logits
//	                        └─▶ level l  (every C_l-th)   ─▶ yl ┘
//
//	active level   the block writes its state token by token and reads it
//	frozen level   the block only reads; its parameter gradients wait in an
//	               error buffer until the level is active again
package nested
