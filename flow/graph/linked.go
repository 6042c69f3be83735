package graph

// A Shape is the batches and channels of a stream.
type Shape struct{ B, C int }

// A Spec says what a type is for one node, whose settings it knows.
type Spec struct {
	Ins, Outs  []string // names of the ports
	Cons, Prod []int    // frames that a token takes from each input and gives to each output
	// Params holds the framed parameters first, then the tables, thermo.heat last.
	Params []ParamSpec
	// SourceNum / SourceDen are the tokens per base frame of a node without
	// inputs; zero counts as one.
	SourceNum, SourceDen int
	// Shapes gives the outputs' shapes for those of the signal inputs, or an
	// [Error] of code [BadShape].
	Shapes func(in []Shape) (out []Shape, err error)
	// Rows is the shape to which framed parameters broadcast. Nil means that of
	// the first input, or of the first output of a node without inputs.
	Rows     func(in, out []Shape) Shape
	Adjoint  bool // has an adjoint
	Dynamic  bool // may return Pending or fewer frames than offered
	Endpoint Endpoint
	Jacobian Jacobian
	Caps     uint32 // capability bits of the ABI, of a C node
}

// A ParamSpec is one parameter of a node with the value it has without
// modulation: the plan's or the default.
type ParamSpec struct {
	Name  string
	Table bool // not framed: keeps its own shape and cannot be modulated
	Value Tensor
}

// An Endpoint says which part of a node the host plays: such a node has no
// instance of its own in a running graph.
type Endpoint uint8

// The endpoints.
const (
	Inner Endpoint = iota // the node computes
	Fed                   // a source: the host lays its output out before each block
	Taken                 // a sink: the host takes its input after each block
)

// String names the shipped type that is nothing but that endpoint.
func (e Endpoint) String() string { return [...]string{"", "Input", "Probe"}[e] }

// A Jacobian classes the derivative of a node's outputs by its inputs.
type Jacobian int

// The classes, numbered as in the ABI.
const (
	Dense    Jacobian = iota // assume nothing
	Zero                     // no dependence
	Identity                 // the gradient passes through
	Diagonal                 // y[n] depends on x[n] alone
	Toeplitz                 // linear, time-invariant and causal
	Banded                   // finite memory
	Block                    // frame-synchronous transform
	Scalar                   // one common factor
)

// A Catalog knows types of nodes. Describe returns an [Error]: [UnknownNode]
// for a type that it does not know, [Malformed] for a bad setting, with the
// setting's path, [BadShape] for parameters that cannot fit.
type Catalog interface {
	Describe(n *Node) (*Spec, error)
}

// DefaultBlock is the block size where options give none.
const DefaultBlock = 64

// Options of [Link].
type Options struct {
	BlockFrames int  // base frames of a block; zero means DefaultBlock
	Strict      bool // a delay below the source's declared one is an error, not a warning
}

// A Rat is a positive fraction in lowest terms.
type Rat struct{ Num, Den int64 }

// A Linked is a plan with everything known that does not need data: ports,
// rates, delays, shapes, order.
type Linked struct {
	Plan        *Plan
	BlockFrames int
	Nodes       []LinkedNode
	Edges       []LinkedEdge
	Control     []Control // of barriers
	Order       []int     // nodes, each after what it needs within a block
	Sub         []Rat     // base frames of a sub-block, by cycle component
	Warnings    []string
}

// A LinkedNode is a node in its graph.
type LinkedNode struct {
	*Node
	Spec     *Spec
	Index    int
	Rate     Rat // tokens per base frame
	Tokens   int // per block
	Comp     int // component of the cycles it is in, -1 for none
	Stage    int
	In       []int   // edge of each signal input
	Mods     []int   // modulation edges in plan order
	Out      [][]int // edges of each output in plan order
	InShape  []Shape
	OutShape []Shape
	Rows     Shape // what framed parameters broadcast to
	Fed      bool  // a source reaches it
}

// A LinkedEdge is an edge in its graph. Of hold h, prefill π, P frames written
// and C frames read, π + max(0, P−h) − C can be read; at the stream's end h
// counts as zero.
type LinkedEdge struct {
	*Edge
	Index            int
	Src, Dst         int
	SrcPort, DstPort int  // DstPort is -1 for a modulation
	Param            int  // modulated parameter in the node's Spec.Params, -1 for a signal
	Rate             Rat  // frames per base frame
	Cons             int  // frames that a token of Dst takes
	Hold, Prefill    int  // frames
	Inside           bool // both ends are in one cycle component
}

// A Control is one wait of a barrier: Dst begins a block when the data edge
// Edge, read with a cursor of this wait's own, has a block for it.
type Control struct {
	Gate, Edge, Dst int
}
