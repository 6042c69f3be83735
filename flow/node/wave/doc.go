// Package wave holds band-limited oscillators.
//
//	frequency ─▶ Σ ─▶ phase ─▶ sine, saw, square, triangle ─▶ × amplitude ─▶
//	                            │ rounded at steps and corners
//
// An Oscillator of ratio r works at r times its rate and decimates; an
// OversampledOsc leaves decimation to the nodes behind it. A phase is the
// float64 sum of the frequency over all frames so far, so a frequency may be
// modulated, and its gradient is a sum over all later frames.
package wave
