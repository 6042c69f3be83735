// Package resample changes rates.
//
//	            up          filter h                    down
//	x[i] ──▶ zeros between ──▶ cut at the lower ──▶ every down-th ──▶ y[j]
//	                          rate's Nyquist
//
//	y[j] = Σ h[j·down − i·up] x[i]
//
// A [Filter] does this without the zeros: each output is a dot product of the
// frames before it with every up-th tap. Its transpose is the same with up and
// down exchanged, and without a factor. [Kaiser] makes the taps.
package resample
