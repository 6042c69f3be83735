// Package loss has the terms that training minimizes, each with its gradient.
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
package loss
