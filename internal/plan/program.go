package plan

// A LayerOp is one line of a family's program. Values are named and written
// once. It has no sizes: those come from the configuration through a
// [Resolver], so one program serves every model of a family.
type LayerOp struct {
	Op  Opcode
	Out string
	In  []string
	W   map[string]string // slot → weight id of the family's weight map
	All bool              // programs of later layers may read the value by its name
	Tag string            // role in the block ("attn", "ffn", …), handed to the resolver
}

// A Program is a straight line of ops. The name "x" is the block's input; the
// value of the last op is its output.
type Program []LayerOp

// A Resolver turns (op, tag, layer) into parameters, width, state and weight
// names. It reads only a normalized configuration, never a family's name.
type Resolver interface {
	// Params returns the payload, nil for an opcode without one.
	Params(op Opcode, tag string, layer int) (Params, error)
	// Cols returns the width of the op's output.
	Cols(op Opcode, tag string, layer int) (uint32, error)
	// State returns the state the op owns, if any.
	State(op Opcode, tag string, layer int) (StateKey, bool)
	// Weight returns the canonical tensor name of a weight id in a layer, or
	// false when the model does not have it.
	Weight(id string, layer int) (string, bool)
}
