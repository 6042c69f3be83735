// Package dynamics holds nodes that react to the level of a signal, and
// memoryless nonlinear nodes.
//
//	Envelope    follower of |x| with attack and release
//	Compressor  follower ──► soft knee ──► gain, look-ahead within the stream
//	Limiter     no sample above the ceiling: peak of the look-ahead ──► gain
//	WaveShaper  tanh, cubic, clip; with or without antiderivative antialiasing
//	ADSR        a gate's envelope of straight segments (no adjoint)
//
// Look-ahead delays the signal inside the stream: the first frames of the
// output are zeros and the node reports the delay.
//
//	x ──┬──► |x| ──► follower ──► level over threshold ──► gain ─┐
//	    └──► look-ahead frames of delay ─────────────────────────x──► y
//
// Derivatives at the kinks of |x|, max and the switch between attack and
// release are one-sided: those of the branch taken.
package dynamics
