// Package planned makes a learner of a model that inference runs: the compiled
// plan of a folder, or of a configuration whose parameters are drawn anew, is
// recorded on a tape.
//
//	config.json ─ compile ─▶ plan ─ record ─▶ tape ─▶ loss, gradients     [Model]
//	model.safetensors ─▶ parameters ─────────▲  │
//	or Init: normal, by seed                 └──┘ stepped by package train
//
// [Model] is a train.Learner and a train.Exporter: the folder that it exports is
// one that it, and every other program for such folders, opens.
package planned
