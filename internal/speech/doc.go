// Package speech writes down what is said in a sound: the decoding of Whisper
// models (arXiv 2212.04356).
//
//	samples ─ mel ─▶ windows of 30 s ─ encoder ─▶ search ─▶ tokens with timestamps ─▶ segments
//	                     ▲                          │
//	                     └── seek to the last one ──┘
//
// A window is decoded greedily or by beam search under the rules that the models
// were trained with: which tokens may follow, that timestamps come in pairs and
// never go back, that the first is early. A result that repeats itself or is
// unlikely is decoded again at a higher temperature; a window in which nothing is
// said is skipped. The next window begins at the last timestamp.
//
// The rules, thresholds and defaults are those of openai/whisper, so that results
// can be compared with its.
//
// Runner is the model: an executor that is borrowed step by step, and the states
// of the sequences, which beams share copy on write. rules.go holds the rules,
// search.go the searches, transcribe.go the windows.
package speech
