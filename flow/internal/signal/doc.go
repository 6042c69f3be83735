// Package signal holds the node types that work on signals in time: endpoints,
// routing, filters, dynamics, generators, changes of rate, neural layers.
//
//	BasicTypes     Input Probe, sources and sinks of files, Constant Gain Mix Split Merge Matrix Linear Pan
//	BiquadTypes    Biquad
//	FilterTypes    SVF OnePole DCBlock FIR Convolver ConvolutionReverb
//	DynamicsTypes  Envelope Compressor Limiter WaveShaper ADSR
//	DelayTypes     Delay
//	ResampleTypes  Resample Upsample Downsample AsyncResample
//	WaveTypes      Oscillator OversampledOsc
//	SourceTypes    LFO Noise
//	NoteTypes      Notes
//	MeterTypes     Meter Loudness VAD
//	NeuralTypes    Conv1d GRU SquaredError
//	SynthTypes     HarmonicSynth FilteredNoise Quantize Embedding
//
// Each function returns a node.Table; flow.ShippedTypes concatenates them. To add
// a type, add an entry to one of the tables. Types that work on spectra are in
// package spectral.
//
// A type is a constructor of a node.Instance. Most of the types treat every row
// (a channel of a batch) independently and carry a few numbers from frame to
// frame. They implement [rowKernel] for one row, and [newRowwise] does the rest:
//
//	per row            RowKernel.Forward, transposedRows.Backward
//	over the rows      calls, snapshots, resets, reports
//	for parameters     broadcasting (rowValues), sums in an order that no cut changes
//
// A backward call recomputes the row from the state before it, keeps what the
// derivative reads in scratch rows, and then goes from the last frame to the
// first:
//
//	state0, x ──► y, scratch            frames 0 … n-1
//	dy, adjoint state ──► dx, dp        frames n-1 … 0
//
// Results never depend on how a stream is cut into calls. The host serves the
// endpoints itself. Of the other types only Constant, LFO, Noise, ADSR,
// AsyncResample, the meters, VAD and a Limiter of true peaks lack an exact adjoint. Derivatives at kinks, such as
// that of |x| or the switch between attack and release, are one-sided: those of
// the branch taken. Quantize passes gradients straight through.
package signal
