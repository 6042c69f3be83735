// Package scan implements the sequential parts of state space models over rows
// of vectors: linear recurrences whose state decays by a factor that each row chooses.
//
//	             state          a row's step                        output
//	Diagonal     [N, channels]  s_n ← e^(δ·a_n) ⊙ s_n + b_n·δ⊙u     Σ c_n·s_n
//	Chunk        [N, P]         s ← e^λ·s + b·xᵀ                    cᵀ·s
//
// Diagonal is the recurrence of Mamba 1 (arXiv 2312.00752): each channel has its
// own decay for each value of its state, so that rows follow one another.
//
// Chunk is that of Mamba 2 (arXiv 2405.21060, section 6): one decay for all of
// the state, so that a chunk of rows is computed by products of matrices. With
// L_t the sum of λ from the first row of a chunk to row t,
//
//	y_t = e^L_t·(c_tᵀ·s) + Σ_{i≤t} e^(L_t−L_i)·(c_t·b_i)·x_i
//	s'  = e^L_n·s + Σ_i b_i·(e^(L_n−L_i)·x_i)ᵀ
//
// These are the definition of the results, also where a chunk comes row by row:
// a row's output is computed from the state at the beginning of its chunk and the
// rows of the chunk so far, and the state changes at the end of a chunk only.
// So long as chunks begin at multiples of their length, a row's bits do not depend
// on how many rows are computed together. A single row then costs a pass over the
// state that reads it and does not write it.
package scan
