// Package network composes a network: embeddings of a boundary, the grid, the
// ports and the read-out, in training and in the simple form of the token loop
// (phases 0, 2 and 5).
//
//	codes ─▶ codebook rows, turned by position ─▶ grid, K ticks ─▶ ports ─▶ m
//	                                                                        │
//	logits_c = (y·e_c − ½‖e_c‖²)/τ + b_c,  y = W_read·m  ◀──────────────────┘
//
//	Network  configuration, graph, weights, and what is derived from them
//	Stream   sessions that read texts side by side; training or not
//	Params   the weights that a window trains
//
// The softmax of the logits is the distribution over codes, and the largest is
// the nearest codebook vector; the codebook is frozen. A window of the loss
//
//	mean cross-entropy + .01·Brier of the merged confidence [R-2.6b]
//
// is one recording of a tape: the grid over all tokens, then the ports over all
// tokens, then the read-out. State is carried from window to window without a
// gradient.
//
// # Consistency model
//
// A consistency model removes noise from a vector in one or two evaluations of
// a small network (Y. Song et al., Consistency models, arXiv 2303.01469)
//
//
//	ConsistencyNet the network F: D+1 → hidden → D, shared by all neurons
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
//
// # Losses
//
// These are the terms that training minimizes, each with its gradient.
//
//	CrossEntropy  mean −ln p of the target codes
//	Brier         mean (conf − hit)², hit = whether the likeliest code was the target [R-2.6b]
//	Prior         ½‖z − z*‖², the divergence of two normals of variance 1
//	Align         mean over Thinkers of 1 − cos(shard, output); outputs are constants
//	Drift         binary cross-entropy of σ(a·(θ − cos)) and scripted switches
//	Diversity     Σ p ln p of a mixture, lowest for the uniform one
//
// A stream is trained with the first two. Chains of thought add the rest. Every
// function adds scale times its gradient to the slices it is given; a nil slice
// means that no gradient is needed.
//
// # Positions
//
// A [RopeCode] turns embeddings by their positions (J. Su et al., RoFormer,
// arXiv 2104.09864), along one axis for text, two for images and sound, three
// for video.
//
//	RopeCode  how an embedding is divided among axes
//	ApplyRope y = R(pos)·x
//	RopeBackward gradients of x and of the logarithms of the bases
//
// Two axes do not share an embedding side by side but as a Kronecker product:
// with d = d₁·d₂, x is a d₁×d₂ matrix X and
//
//	Y = R₁ X R₂ᵀ       which is (R₁ ⊗ R₂) vec(X), row-major
//
// so that every component is turned by every axis. Axial is the usual
// alternative, in which each axis turns a segment of its own.
//
// The rotation of an axis with n components at position p turns the pairs
// (2k, 2k+1) by θ = p·base^(−2k/n), computed and reduced modulo 2π in float64,
// because positions reach 10⁶ and more. The base is kept as its logarithm b and
// is learned: ∂θ/∂b = −(2k/n)·θ, with the angle that is not reduced.
package network
