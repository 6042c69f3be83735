// Package shipped is the table of all node types that come with the program.
//
//	package             types
//	flow/node/basic     Input Probe WavSource WavSink FlacSource FlacSink Constant Gain Mix Split Merge Matrix Linear Pan
//	flow/node/biquad    Biquad
//	flow/node/filter    SVF OnePole DCBlock FIR Convolver
//	flow/node/delay     Delay
//	flow/node/resample  Resample Upsample Downsample AsyncResample
//	flow/node/dynamics  Envelope Compressor Limiter WaveShaper ADSR
//	flow/node/wave      Oscillator OversampledOsc
//	flow/node/source    LFO Noise
//	flow/node/spectrum  FFT IFFT STFT ISTFT Mel SpectralLoss LogMel MFCC
//	flow/node/meter     Meter
//	flow/node/neural    Conv1d GRU SquaredError
//
// To add a type, add an entry to the table of its package; to add a package of
// types, add a line to [Types].
package shipped
