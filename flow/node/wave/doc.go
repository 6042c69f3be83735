// Package wave makes periodic waves.
//
//	frequency ─▶ Σ ─▶ phase ─▶ sine, saw, square, triangle ─▶ × amplitude ─▶
//	                            │ rounded at steps and corners
//
// An Oscillator of ratio r works at r times its rate and decimates; an
// OversampledOsc leaves that to the nodes behind it. A phase is a float64 sum of
// what the frequency was in every frame, so a frequency may move, and its
// gradient is a sum over all frames to come.
package wave
