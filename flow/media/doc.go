// Package media reads and writes sound files, WAV and FLAC, and connects the
// nodes of a plan that name such files to them.
//
//	file ──▶ Open ──▶ Reader ──▶ Read(dst[channel][frame])      float32 or float64
//	                                                             ±1 is full scale
//	file ◀── WriteFile ◀── Writer ◀── Write(src[channel][frame])
//
//	      reading                                writing
//	WAV   integers of 8 to 32 bits, float 32,    integers of 8, 16, 24 and 32 bits,
//	      64; plain and extensible; RIFF, RF64   float 32, 64; RF64 beyond 4 GiB
//	FLAC  4 to 32 bits, 1 to 8 channels          8, 16 and 24 bits
//
// Samples are planar: one slice per channel. An integer of b bits is divided by
// 2^(b-1), which float64 represents exactly up to 32 bits and float32 up to 24,
// so that reading and writing preserves integers. Writing rounds to nearest,
// ties to even, and clips; [Writer.Clipped] counts.
//
// A [Reader] takes a file with its size or a stream ([NewReader], [NewStream]),
// reads it in blocks, and uses bounded memory whatever the header claims. Faults
// are an [Error] with the offset. Sizes that are invalid because the file was
// written to a pipe are taken to mean "to the end".
//
// The formats: "Multimedia Programming Interface and Data Specifications 1.0"
// (RIFF), EBU Tech 3306 (RF64), RFC 9639 (FLAC).
//
// # Files of a plan
//
// A plan may name files in nodes of type WavSource, FlacSource, WavSink and
// FlacSink. Nodes run on a thread that must not block, so they cannot read or
// write files themselves. The host serves them like Input and Probe, with a
// [Source] or a [Sink] each:
//
//	plan ──▶ OpenFiles ──▶ Files.Sources ──▶ FeedSource ──▶ flow.Session.Input(node)
//	            │                                                 │ Block
//	            │                                                 ▼
//	            └────────▶ Files.Sinks ──▶ Sink.Format, Write ◀── flow.Session.Probe(node)
//
//	plan ──▶ Open ──▶ Files.Sources ──▶ Feed ──▶ flow.Session.Input(node)
//	          │                                        │ Block
//	          │                                        ▼
//	          └─────▶ Files.Sinks ──▶ Format ──▶ flow.Session.Probe(node) ──▶ Write
//
// Open sets the number of channels of a source that does not specify it to that
// of its file, and finds the base rate on which the files agree. Call it before
// linking, and Format after. Relative paths are relative to the folder passed
// to Open, usually the plan's. A plan may name any file: inspect a plan from an
// untrusted origin before running it.
//
// Faults of a plan are a [graph.Error] with the position in the plan.
//
// # Mel features
//
// A [MelFeatures] computes the spectral features that speech and sound models
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
// Every constant can be changed in [MelSettings], which is also their JSON form.
//
//	samples ──► frames x window ──► |FFT|² ──► mel matrix ──► log ──► clamp
//	                                 │            │            │
//	                              [Power]      [MelMatrix]     [Compute]      [Cepstrum]
//
// A [MelFeatures] computes whole signals; a [MelStream] takes samples as they arrive
// and gives a frame as soon as it is determined. They agree to the bit if
// [MelSettings] Peak says what a clamp is measured from: "running", the maximum so
// far, or "global", that of the whole signal, for which a stream keeps all
// frames until its end. Without a word a MelFeatures uses the global one and a
// MelStream the running one.
//
// An [MelAdjoint] is the transpose of a stream's derivative, step by step from the
// end: it turns gradients of frames into gradients of samples.
//
// Arithmetic is in float64 whatever the type of the samples: a quiet band next
// to a loud one is below the rounding error of a float32 transform, and its
// logarithm shows that.
//
// [graph.Error]: https://pkg.go.dev/atenia/flow/graph#Error
package media
