// Package spectrum holds nodes between frames of a signal and frames of its
// spectrum, and the features that models of speech and sound read.
//
//	FFT  IFFT     blocks of n_fft frames, side by side
//	STFT ISTFT    windows of n_fft frames, every hop frames
//	Mel           energies of mel bands, from a spectrum
//	SpectralLoss  how far two signals' spectra are apart, for training
//	LogMel MFCC   from the signal: presets whisper, torchaudio, librosa, kaldi
//
// A spectrum of a channel is 2 K channels, K = n_fft/2 + 1: first the real parts
// of its bins, then the imaginary parts. A token of STFT takes hop frames and
// gives one:
//
//	token t:   ├──────── n_fft ────────┤          the last n_fft frames, zeros
//	           ............├── hop ────┤          before the stream
//	                                   └ frame (t+1) hop
//
// ISTFT adds the windowed inverses up and divides by the sum of the squared
// windows, so an STFT and an ISTFT of the same settings give the signal back,
// n_fft - hop frames late within the stream.
//
// The transforms and Mel have exact adjoints. LogMel and MFCC compute what
// [atenia/flow/mel] computes: frame t comes out with token t + latency, zeros
// before; a clamp takes the largest value so far, for a stream cannot know the
// later ones.
package spectrum
