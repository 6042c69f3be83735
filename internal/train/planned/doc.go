// Package planned makes a learner from a model that inference also runs: the
// compiled plan of a folder, or of a configuration with new parameters, is
// recorded on a tape.
//
//	config.json ─ compile ─▶ plan ─ record ─▶ tape ─▶ loss, gradients     [Model]
//	model.safetensors ─▶ parameters ─────────▲  │
//	or Init: normal, by seed                 └──┘ stepped by package train
//
// [Model] implements train.Learner and train.Exporter: it exports a standard
// model folder, which [Open] and other programs can read. An [Adapted] one trains
// the low-rank pairs of an adapter instead and exports these.
package planned
