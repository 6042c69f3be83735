// Package compile turns a model file into plans. The path is a list of steps,
// each a pure function of the one before:
//
//	Description ─ normalise ─▶ Config ─ bind ─▶ Weights ─ lower ─▶ plan ─ plan/pass ─▶ CompiledPlan
//	 config.json or             every default    a recipe for    programs filled in
//	 GGUF header                filled in        every weight    from the Config
//
// [Compile] runs them. The [Config] is the waist: nothing behind it sees a key
// of a file, and nothing before it knows an opcode. Two dialects of config.json
// and the GGUF header of the same model lead to the same plans.
//
// A [Family] is data: default values, programs for the halves of a layer, and
// a [WeightMap]. Only what a file says in a way that no other family does is a
// function, and it sets fields of the Config. Adding a family is a literal in
// the file of its relatives and a golden case; a name that is known but not
// compiled yet stands in a table with the reason.
//
// A [Weight] does not hold values: it says which tensors of the file to join
// and how to transform them. Package weights follows the recipes.
// [Model.GGUF] is the way back, the recipes for a GGUF file of the same model.
//
// Where to look:
//
//	compile.go    the steps
//	config.go     the Config and what no model can have
//	hf.go         config.json → Config;  rawjson.go reads its objects
//	gguf.go       GGUF header → Config;  own.go for our additional keys
//	rope.go       rotary tables
//	llama.go …    the families;  family.go the registry
//	program.go    the halves of layers
//	weightmap.go  where files keep weights;  bind.go finds them
//	resolve.go    parameters of instructions;  state.go key/value caches
//	export.go     Config → GGUF header
package compile
