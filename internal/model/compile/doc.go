// Package compile turns a model file into plans. The path is a list of steps,
// each a pure function of the one before:
//
//	Description ─ normalize ─▶ Config ─ bind ─▶ Weights ─ lower ─▶ plan ─ internal/plan/pass ─▶ CompiledPlan
//	 config.json or             every default    a recipe for    programs filled in
//	 GGUF header                filled in        every weight    from the Config
//
// [Compile] runs them. The [Config] is the narrow interface: steps after it
// never see a key of a file, and steps before it know no opcodes. Two dialects
// of config.json and the GGUF header of the same model lead to the same plans.
//
// A [Family] is data: default values, programs for the halves of a layer, and a
// [WeightMap]. Only what a family states in a way of its own needs a function,
// which sets fields of the Config. To add a family, add a literal to the file of
// its relatives and a golden case; known but unsupported names are in a table
// with the reason.
//
// # Weights
//
// A [Weight] holds no values: it is a recipe, the tensors of the file to join
// along their rows and the [Transform]s to apply in order. [Materialize] follows
// the recipes, [Locate] says which weights kernels can read in the file itself.
// [Model.GGUF] is the inverse, the recipes for a GGUF file of the same model.
//
//	file tensors ── joined ── transforms ── fit for kernels ──▶ map by plan name
//
// Most weights need no change and stay views of the mapped file: opening a model
// touches none of their bytes. Transforms that move whole rows work on any
// element type, including block formats, because blocks run along the rows;
// other transforms convert to float32 first, which a diagnostic reports. Vectors
// (norms, biases) are always aligned float32, so that no kernel needs a case for
// small tensors of other types.
//
// # Rotary tables
//
// A [RotaryTable] holds the base, the scaling and its numbers; its Frequencies
// are θ^(−2i/dim), scaled, each step rounded as in the reference. The scalings
// are those of Hugging Face's modeling_rope_utils: linear, dynamic, llama3, yarn
// (arXiv 2309.00071) and longrope; and the two forms in which GGUF files state
// frequencies directly.
//
// # Where to look
//
//	compile.go      the steps;  faults.go collects the errors of one step
//	config.go       the Config;  check.go validates it
//	hf.go           config.json → Config;  keys.go reads its entries, pyjson.go
//	                JSON as Python's json module writes it, bare Infinity included
//	gguf.go         GGUF header → Config;  own.go for our additional keys
//	table.go        rotary tables;  window.go groups layers by attention window
//	llama.go …      the families;  family.go the registry
//	program.go      the halves of layers
//	weightmap.go    where files keep weights;  bind.go finds them
//	recipe.go       the recipes;  materialize.go follows them
//	resolve.go      parameters of instructions;  state.go key/value caches
//	export.go       Config → GGUF header
package compile
