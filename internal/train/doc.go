// Package train is the loop that fits a model's parameters to data.
//
//	data ─▶ batch ─▶ Learner ─▶ gradients ─▶ norm, clip ─▶ optimizer ─▶ parameters
//	 ▲                                                                      │
//	 └─────────────────────── the next step ◀──────────────────────────────┘
//
// A [Learner] is whatever has parameters and a loss: a compiled plan that is
// recorded, or a nested model.
package train
