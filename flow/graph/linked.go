package graph

// A Shape is the number of batches and channels of a stream.
type Shape struct{ B, C int }

// A Spec describes a type for one node, whose settings it takes into account.
type Spec struct {
	Ins, Outs  []string // names of the ports
	Cons, Prod []int    // frames per token that each input takes and each output gives
	// Params holds the framed parameters first, then the tables, thermo.heat last.
	Params []ParamSpec
	// SourceNum / SourceDen is the rate of a node without inputs, in tokens per
	// base frame; zero counts as one.
	SourceNum, SourceDen int
	// Shapes returns the outputs' shapes for given signal inputs, or an [Error]
	// of code [BadShape].
	Shapes func(in []Shape) (out []Shape, err error)
	// Rows returns the shape to which framed parameters broadcast. Nil means
	// that of the first input, or of the first output of a node without inputs.
	Rows    func(in, out []Shape) Shape
	Adjoint bool // has an adjoint
	Dynamic bool // may return Pending or fewer frames than offered
	// Delay is the number of frames by which the outputs are late in band: the
	// declared delay of a node with delay compensation that declares none.
	Delay    int
	Endpoint Endpoint
	Jacobian Jacobian
	Caps     uint32 // capability bits of the ABI, of a C node
}

// A ParamSpec is one parameter of a node with its value before modulation: the
// plan's or the default.
type ParamSpec struct {
	Name  string
	Table bool // not framed: has its own shape and cannot be modulated
	Value Tensor
}

// An Endpoint says which role the host plays for a node. A node with an
// endpoint role has no instance in a running graph.
type Endpoint uint8

// The endpoints.
const (
	Inner Endpoint = iota // the node computes
	Fed                   // a source: the host writes its output before each block
	Taken                 // a sink: the host reads its input after each block
)

// String returns the shipped type that is exactly this endpoint: Input, Probe,
// or "".
func (e Endpoint) String() string { return [...]string{"", "Input", "Probe"}[e] }

// A Jacobian classes the derivative of a node's outputs with respect to its
// inputs.
type Jacobian int

// The classes, numbered as in the ABI. Each but Dense says where derivatives are
// zero or equal, for every input:
//
//	            the derivative of token n of an output by token m of an input is zero
//	Zero        always
//	Identity    unless n = m, row and frame are the same; there it is 1
//	Scalar      as for Identity; there it is one number
//	Diagonal    unless n = m, row and frame are the same
//	Block       unless n = m, batches are the same
//	Toeplitz    if n < m; it depends on n - m alone, not on the input
//	Banded      if n < m, or n - m is above some bound
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

var jacobianNames = []string{"dense", "zero", "identity", "diagonal", "toeplitz", "banded", "block", "scalar"}

// String returns the class's word in manifests of C nodes.
func (j Jacobian) String() string {
	if j < 0 || int(j) >= len(jacobianNames) {
		j = Dense // of a later version
	}
	return jacobianNames[j]
}

// Jacobian returns the class of the node in its plan: a filter with a parameter
// that moves is not time-invariant, and counts as Dense.
func (n *LinkedNode) Jacobian() Jacobian {
	if n.Spec.Jacobian != Toeplitz {
		return n.Spec.Jacobian
	}
	if len(n.Mods) > 0 {
		return Dense
	}
	for i := range n.Spec.Params {
		if p := &n.Spec.Params[i]; !p.Table && p.Value.F > 1 && p.Name != "thermo.heat" {
			return Dense
		}
	}
	return Toeplitz
}

// A Catalog describes node types. Describe returns an [Error]: [UnknownNode]
// for an unknown type, [Malformed] for an invalid setting, with the setting's
// path, and [BadShape] for parameters that cannot fit. The shipped
// implementation is node.Table.
type Catalog interface {
	Describe(n *Node) (*Spec, error)
}

// DefaultBlock is the block size used when options give none.
const DefaultBlock = 64

// Options configure [Link].
type Options struct {
	BlockFrames int  // base frames per block; zero means DefaultBlock, or the next size that suits the plan's rates
	Strict      bool // a delay below the source's declared one is an error, not a warning
}

// A Rat is a positive fraction in lowest terms.
type Rat struct{ Num, Den int64 }

// Max returns the larger of two fractions. They need not be in lowest terms.
func (r Rat) Max(s Rat) Rat {
	if r.Num*s.Den < s.Num*r.Den {
		return s
	}
	return r
}

// A Linked is a plan with everything derived that does not depend on data:
// ports, rates, delays, shapes, order. Executors take it as their input; it is
// read-only.
type Linked struct {
	Plan        *Plan
	BlockFrames int
	Nodes       []LinkedNode
	Edges       []LinkedEdge
	Control     []Control // of barriers
	Order       []int     // node indices, each after its dependencies within a block
	Sub         []Rat     // base frames of a sub-block, by cycle component
	Warnings    []string
}

// A LinkedNode is a node with its place in the graph.
type LinkedNode struct {
	*Node
	Spec     *Spec
	Index    int
	Rate     Rat // tokens per base frame
	Tokens   int // per block
	Comp     int // component of its cycle, -1 outside cycles
	Stage    int
	In       []int   // edge of each signal input
	Mods     []int   // modulation edges in plan order
	Out      [][]int // edges of each output in plan order
	InShape  []Shape
	OutShape []Shape
	Rows     Shape // what framed parameters broadcast to
	Fed      bool  // reachable from a source
}

// A LinkedEdge is an edge with its place in the graph. With hold h, prefill π,
// P frames written and C frames read, π + max(0, P−h) − C frames can be read;
// after the end of the stream h counts as zero.
type LinkedEdge struct {
	*Edge
	Index            int
	Src, Dst         int
	SrcPort, DstPort int  // DstPort is -1 for a modulation
	Param            int  // modulated parameter in the node's Spec.Params, -1 for a signal
	Rate             Rat  // frames per base frame
	Cons             int  // frames per token of Dst
	Hold, Prefill    int  // frames
	Inside           bool // both ends are in one cycle component
}

// A Control is one wait of a barrier: Dst may start a block once the data edge
// Edge, read with an additional cursor, holds a block for it.
type Control struct {
	Gate, Edge, Dst int
}
