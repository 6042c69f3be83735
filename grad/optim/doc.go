// Package optim steps parameters from their gradients.
//
//	Param      a tensor's values and gradient
//	Optimizer  a rule, its state for every parameter, and Step
//	Schedule   the learning rate's factor at a step
//	Clip       the factor that keeps the norm of all gradients at a limit
//
// The rules, for a gradient g that [Optimizer.Step] has scaled, and w that has
// decayed to w·(1 − lr·decay) before:
//
//	SGD    m ← μ·m + g                        w ← w − lr·m         (Nesterov: g + μ·m)
//	AdamW  m ← β1·m + (1−β1)·g                w ← w − lr·m̂ ÷ (√v̂ + ε)
//	       v ← β2·v + (1−β2)·g²               m̂ = m/(1−β1^t), v̂ = v/(1−β2^t)
//	Lion   u = sign(β1·m + (1−β1)·g)          w ← w − lr·u
//	       m ← β2·m + (1−β2)·g
//	Muon   m ← μ·m + (1−μ)·g                  w ← w − lr·0.2·√max(rows, columns)·U·Vᵀ
//	       (1−μ)·g + μ·m = U·Σ·Vᵀ, nearly: Newton–Schulz; matrices only, AdamW for the rest
//
// Decay is for tensors of two axes or more: norms and biases keep their size.
//
// Everything is generic over float32, which training uses, and float64, in
// which gradients are checked. A step allocates nothing. It runs on a pool's
// threads, and its bits are the same for any number of them: elements are
// computed for themselves, and sums have one order. No product is fused with
// an addition, so processors that could agree with those that cannot.
package optim
