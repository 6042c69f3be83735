// Package dynamics holds nodes that look at how loud a signal is, and nodes
// without memory that bend it.
//
//	Envelope    follower of |x| with attack and release
//	Compressor  follower ──► soft knee ──► gain, look-ahead within the stream
//	Limiter     no sample over the ceiling: peak of the look-ahead ──► gain
//	WaveShaper  tanh, cubic, clip; with or without antiderivative antialiasing
//	ADSR        a gate's envelope of straight segments (no adjoint)
//
// Look-ahead delays the signal inside the stream: the first frames of the
// output are zeros and the node reports the delay.
//
//	x ──┬──► |x| ──► follower ──► level over threshold ──► gain ─┐
//	    └──► look-ahead frames of delay ─────────────────────────x──► y
//
// Derivatives are one-sided at the kinks of |x|, max and the branch of attack
// or release: that of the branch taken.
package dynamics
