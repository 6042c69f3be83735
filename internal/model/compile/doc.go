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
// A [Weight] holds no values: it says which tensors of the file to join and how
// to transform them. Package weights executes these recipes. [Model.GGUF] is the
// inverse, the recipes for a GGUF file of the same model.
//
// Where to look:
//
//	compile.go    the steps
//	config.go     the Config and its validation
//	hf.go         config.json → Config;  rawjson.go reads its objects
//	gguf.go       GGUF header → Config;  own.go for our additional keys
//	rope.go       rotary tables
//	llama.go …    the families;  family.go the registry
//	program.go    the halves of layers
//	weightmap.go  where files keep weights;  bind.go finds them
//	resolve.go    parameters of instructions;  state.go key/value caches
//	export.go     Config → GGUF header
//
// # Faults
//
// Package faults collects the errors of one step, so that all of them are
// reported at once.
//
// # Keys
//
// Package keys reads typed entries of a config.json.
//
// # Pyjson
//
// Package pyjson reads JSON as written by Python's json module, with bare
// Infinity and NaN, and reports positions in errors.
//
// # Recipe
//
// Package recipe describes how weights of a plan are made from the tensors of a
// file: sources joined along their rows, then transforms in order.
//
// # Rotary
//
// Package rotary computes the inverse frequencies of rotary position embeddings.
//
//	Table        the configuration: base, type of scaling and its numbers
//	Frequencies  θ^(−2i/dim), scaled; each step rounded as in the reference
//	Divisors     the same, as divisors of the plain frequencies (GGUF)
//
// The scalings are those of Hugging Face's modeling_rope_utils: linear, dynamic,
// llama3, yarn (arXiv 2309.00071) and longrope; and the two forms in which GGUF
// files state frequencies directly.
//
// # Window
//
// Package window groups attention layers by the size of their window.
//
// # Weights
//
// Package weights makes the tensors that a plan names from those of a model
// file, following the recipes of package compile.
//
//	file tensors ── joined ── transforms ── fit for kernels ──▶ map by plan name
//
// Most weights need no change and stay views of the mapped file: opening a model
// touches none of their bytes. Transforms that move whole rows work on any
// element type, including block formats, because blocks run along the rows;
// other transforms convert to float32 first, which a diagnostic reports. Vectors
// (norms, biases) are always aligned float32, so that no kernel needs a case for
// small tensors of other types.
package compile
