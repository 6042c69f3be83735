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
// LogMel and MFCC compute what [atenia/flow/media] computes, frame for frame: no
// frame precedes the first, and those that need the end of the signal come when
// the stream has ended. A clamp is measured from the largest level so far, or with
// the setting peak "global" from that of the whole stream; then all frames come at
// its end, and most_frames bounds how many are kept until then.
//
// All types have exact adjoints.
package spectral
