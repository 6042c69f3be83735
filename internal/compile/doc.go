// Package compile turns a model file into plans. The path is a list of steps,
// each a pure function of the one before:
//
//	Description ─ normalise ─▶ Config ─ bind ─▶ Weights ─ lower ─▶ plan ─ plan/pass ─▶ CompiledPlan
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
package compile
