// Package scan implements the recurrence of Mamba 1 (arXiv 2312.00752) over rows of
// vectors, whose state decays by factors that each row chooses:
//
//	          state          a row's step                        output
//	Diagonal  [N, channels]  s_n ← e^(δ·a_n) ⊙ s_n + b_n·δ⊙u     Σ c_n·s_n
//
// Each channel has its own decay for each value of its state, so that no product of
// matrices computes several rows, as package chunk does where a matrix decays as a whole
// or by the channels of its keys: rows follow one another.
package scan
