// Package resample holds nodes that change the sampling rate.
//
//	            up          filter h                    down
//	x[i] ──▶ zeros between ──▶ cut at the lower ──▶ every down-th ──▶ y[j]
//	                          rate's Nyquist
//
//	y[j] = Σ h[j·down − i·up] x[i]
//
// A [Filter] computes this without the zeros (a polyphase filter): each output
// is a dot product of the frames before it with every up-th tap. Its transpose
// is the same with up and down exchanged, unscaled. [Kaiser] designs the taps.
package resample
