// Package mel computes the spectral features that speech and sound models
// read: power spectra by short-time Fourier transform, mel energies, their
// logarithm and their cepstrum.
//
// The four presets are the constants with which models were trained. Features
// of the wrong preset look plausible and work badly:
//
//	preset      bands  scale   norm    log                 frames
//	whisper        80  slaney  slaney  log10, max-8, /4    centred, mirrored ends, last one dropped
//	torchaudio    128  htk     none    ln(e + 1e-6)        centred, mirrored ends
//	librosa       128  slaney  slaney  10 log10, max-80    centred, zeros at the ends
//	kaldi          23  kaldi   none    ln max(e, 2^-23)    inside the signal, DC removed, pre-emphasis
//
// Every constant can be changed in [Settings], which is also their JSON form.
//
//	samples ──► frames x window ──► |FFT|² ──► mel matrix ──► log ──► clamp
//	                                 │            │            │
//	                              [Power]      [Matrix]     [Compute]      [Cepstrum]
//
// A [Features] computes whole signals; a [Stream] takes samples as they arrive
// and gives a frame as soon as it is determined. They agree to the bit if
// [Settings] Peak says what a clamp is measured from: "running", the maximum so
// far, or "global", that of the whole signal, for which a stream keeps all
// frames until its end. Without a word a Features uses the global one and a
// Stream the running one.
//
// An [Adjoint] is the transpose of a stream's derivative, step by step from the
// end: it turns gradients of frames into gradients of samples.
//
// Arithmetic is in float64 whatever the type of the samples: a quiet band next
// to a loud one is below the rounding error of a float32 transform, and its
// logarithm shows that.
package mel
