// Package consistency removes noise from a vector in one or two evaluations of
// a small network (Y. Song et al., Consistency models, arXiv 2303.01469)
//
//
//	Net        the network F: D+1 → hidden → D, shared by all neurons
//	Apply      f(x, t), the consistency function
//	Teacher    a diffusion model of the same vectors (J. Ho et al., DDPM, 2006.11239)
//	Distill    trains a Teacher, then a Net that imitates its trajectories
//	Auxiliary  keeps a Net consistent while the model around it learns on
//
// A vector at time t ∈ [0, 1] carries noise of deviation σ = 2·σ_d·t, where σ_d is
// the root mean square of vectors without noise, and
//
//	f(x, t) = c_skip·x + c_out·F(c_in·x, t)      c_skip = σ_d² ÷ (σ² + σ_d²)
//	                                             c_out  = σ·σ_d ÷ √(σ² + σ_d²)
//	                                             c_in   = 1 ÷ √(σ² + σ_d²)
//
// is the identity at t = 0, to the bit. All points of one trajectory of the
// teacher's differential equation should have one value of f, where it ends.
//
//	vectors ─▶ + noise σ[n+1] ─▶ f(·, t[n+1]) ──────────────┐
//	                 │                                      ├─▶ squared distance
//	                 └─▶ Heun step of the teacher ─▶ f̄(·, t[n]) ┘     f̄: moving average of f
//
// The network begins as an imitation of the teacher's denoiser, as in the paper
// it begins with the teacher's weights; the distance is that of F, not of f,
// since otherwise pairs of little noise hardly count. On a mixture of 32 centres
// in 32 dimensions these two bring the error of one step from 1.13 to 0.65 of
// the Wiener filter's at σ = σ_d.
//
// The noise levels are 18 points of T. Karras et al. (2206.00364). Without a
// teacher the two points of a pair have the same noise (consistency training,
// "CT"), which is worse and which a checkpoint has to say; see [Mode].
package consistency
