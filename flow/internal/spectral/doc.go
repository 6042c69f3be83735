// Package spectral holds node types that convert between frames of a signal and
// frames of its spectrum, and the features that speech and audio models read.
//
//	FFT  IFFT     consecutive blocks of n_fft frames
//	STFT ISTFT    windows of n_fft frames, every hop frames
//	Mel           energies of mel bands, from a spectrum
//	SpectralLoss  distance of the spectra of two signals, for training
//	LogMel MFCC   from the signal: presets whisper, torchaudio, librosa, kaldi
//
// The spectrum of a channel is 2 K channels, K = n_fft/2 + 1: first the real
// parts of its bins, then the imaginary parts. A token of STFT takes hop frames
// and gives one:
//
//	token t:   ├──────── n_fft ────────┤          the last n_fft frames, zeros
//	           ............├── hop ────┤          before the stream
//	                                   └ frame (t+1) hop
//
// ISTFT overlap-adds the windowed inverses and divides by the sum of the
// squared windows, so an STFT and an ISTFT with the same settings reconstruct
// the signal, n_fft - hop frames late within the stream.
//
// The transforms and Mel have exact adjoints. LogMel and MFCC compute what
// [atenia/flow/mel] computes: frame t comes out with token t + latency, zeros
// before; a clamp uses the largest value so far, since a stream does not know
// the later ones.
package spectral
