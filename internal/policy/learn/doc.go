// Package learn records how well the processor and the device performed under
// which memory pressure, recommends one of them, and explains why.
//
//	pressures ─▶ Bucket (device there?, band of VRAM, band of RAM)
//	episode ───▶ Trainer: Bucket × Backend → Stats {count, success, score, drift}
//	               │ Recommend           the backend of the higher value
//	               │ Snapshot            every row, for people and tests
//	               │ Explain, Factors, Narrative
//	               ▼
//	             Loop: one tick at a time, with a cooldown between switches
//	               │ autosave            a table that outlives the process
//	               ▼
//	             Policy: the same loop fed by measured latency, opt-in
//	knob settings ─▶ Picker: Bucket × model × class × Knob → Arms {count, mean seconds, lost}
//	               │ Pick.Decide         the fastest option; trials within an allowance
//	               │ Handle.Observe      how long an episode took
//
// The table of [Trainer] has the form of the seed, and does not change. The
// refined table of [Picker] lies in a file beside it.
//
// A pressure falls into one of four bands:
//
//	band      0        1          2          3
//	from      0        0.50       0.75       0.90
//
// The value of a row is score/count − drift·penalty/count, each an integer
// division toward zero; the device is recommended if its value is strictly
// higher. The package reads no clock and no random source: the caller passes
// seconds and ticks, so that equal inputs give equal choices, texts and files,
// byte for byte.
package learn
