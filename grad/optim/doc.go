// Package optim implements optimizers, which update parameters from their
// gradients.
//
//	Param      a tensor's values and gradient
//	Optimizer  a rule, its state for every parameter, and Step
//	Schedule   the learning rate's factor at a step
//	Clip       the factor that keeps the norm of all gradients at a limit
//
// The rules, for a gradient g scaled by [Optimizer.Step] and a weight w already
// decayed to w·(1 − lr·decay), are:
//
//	SGD    m ← μ·m + g                        w ← w − lr·m         (Nesterov: g + μ·m)
//	AdamW  m ← β1·m + (1−β1)·g                w ← w − lr·m̂ ÷ (√v̂ + ε)
//	       v ← β2·v + (1−β2)·g²               m̂ = m/(1−β1^t), v̂ = v/(1−β2^t)
//	Lion   u = sign(β1·m + (1−β1)·g)          w ← w − lr·u
//	       m ← β2·m + (1−β2)·g
//	Muon   m ← μ·m + (1−μ)·g                  w ← w − lr·0.2·√max(rows, columns)·U·Vᵀ
//	       (1−μ)·g + μ·m = U·Σ·Vᵀ, nearly: Newton–Schulz; matrices only, AdamW for the rest
//
// Decay applies to tensors of two axes or more: norms and biases do not decay.
//
// Everything is generic over float32, for training, and float64, for checking
// gradients. A step allocates nothing. It runs on a pool's threads with the
// same bits for any number of them: elements are independent, and sums have a
// fixed order. No multiplication is fused with an addition, so that results
// agree on all processors.
package optim
