package node

import "atenia/flow/graph"

// A Float is the number type of an engine: float32 by default, float64 to check
// gradients and where precision is worth the cost.
type Float interface{ float32 | float64 }

// A Tensor is a block of a stream, [B, C, N]: batches, channels, frames.
// Element (b, c, n) is Data[(b*C + c)*N + n]; Data may be longer than B*C*N.
type Tensor[F Float] struct {
	Data    []F
	B, C, N int
}

// Row returns the N frames of row r = b*C + c.
func (t *Tensor[F]) Row(r int) []F { return t.Data[r*t.N : r*t.N+t.N : r*t.N+t.N] }

// A Param is the value of a parameter in one call. B and C are 1 or those of
// the node's rows. A framed parameter has one value per token (from a block of
// values in the plan, or from modulation); an unframed one has N = 1 and is
// constant over the whole stream. Tables (matrices, taps) are never framed and
// have their own shape.
type Param[F Float] struct {
	Tensor[F]
	Framed bool
}

// Row returns the values of row r = b*C + c of a node with C channels, with
// broadcasting: one value per token if framed, else one value.
func (p *Param[F]) Row(r, channels int) []F {
	b, c := r/channels, r%channels
	if p.B == 1 {
		b = 0
	}
	if p.C == 1 {
		c = 0
	}
	return p.Tensor.Row(b*p.C + c)
}

// At returns the constant value of row r = b*C + c of a node with C channels.
func (p *Param[F]) At(r, channels int) F { return p.Row(r, channels)[0] }

// A Config describes the instance to make. An instance allocates everything it
// will need when it is made, since Forward must not allocate.
type Config struct {
	SampleRate float64           // of the graph: frames per second at rate 1
	MaxTokens  int               // upper bound of Call.Tokens
	Node       *graph.LinkedNode // shapes, rates, settings
	Training   bool              // Backward will be called
	Settings   Settings          // filled in by New
}

// A Call is one firing of a node: Tokens tokens of every port.
type Call[F Float] struct {
	In, Out  []Tensor[F] // port p holds Tokens times the port's frames per token
	Param    []Param[F]  // in the order of the type's Spec; thermo.heat is the last
	Frame0   int64       // tokens fired before this call
	Tokens   int
	Events   *Events // of this call, for a [Listener]; nil: the node takes none
	Final    bool    // the inputs have ended
	Heat     float64 // joules of this call, set by a node of ABI version 2
	Delay    int     // frames consumed and not yet given out, set by a node of ABI version 2
	Produced int     // tokens produced; the host sets Tokens, dynamic nodes may lower it
	// Reserved is amp_node_metrics_t.reserved of a node in C of ABI version 2. Zero: nothing was reported.
	Reserved [6]float32
}

// An Instance is one running node. Its methods are called by one thread at a
// time. Forward must not allocate, lock, panic or store a pointer: in real time
// it runs on a thread that is not managed by the Go runtime.
//
// Outputs must not depend, to the bit, on how a stream is cut into calls;
// package flowtest checks that. An instance that holds resources outside Go's
// heap also implements io.Closer.
type Instance[F Float] interface {
	Forward(c *Call[F]) graph.Code
	Reset() // to the state before the first frame
}

// A Stateful instance carries state from call to call and can save it.
type Stateful[F Float] interface {
	StateBytes() int
	Save(dst []byte) int        // returns the bytes written
	Load(src []byte) graph.Code // the bits are those saved; State when src is foreign
}

// A Drainer holds frames back and gives them out when its inputs have ended: the
// tail of a filter, or features of the last samples. Its type is Dynamic.
//
// Drain is called instead of Forward after the last token. Tokens is zero and
// Final is set; an input holds the frames that are left of an incomplete token,
// in the first of these calls. Out has room for N frames. Drain sets Produced
// to the tokens that it gives, and is called again until they are fewer than
// there was room for. A call of an [Adjoint] for it has Final set as well.
type Drainer[F Float] interface {
	Drain(c *Call[F]) graph.Code
}

// Needs is the set of forward values that Backward reads.
type Needs uint8

// The parts of a forward call that may be kept for its backward call.
const (
	NeedX  Needs = 1 << iota // inputs
	NeedY                    // outputs
	NeedS0                   // the state before the call, as Save writes it
)

// An Adjoint has a backward mode: the exact transpose of the derivative of the
// whole stream, called for the same cuts in reverse order. The adjoint state
// (the gradient with respect to the state after a frame) is separate from the
// forward state, which a sweep does not touch. Gradients must not depend, to
// the bit, on the cuts.
type Adjoint[F Float] interface {
	Needs() Needs
	Backward(b *Back[F]) graph.Code
	// ResetAdjoint zeroes the adjoint state, before a sweep and where a sweep
	// is truncated. Accumulated gradients of constant parameters stay.
	ResetAdjoint()
	// FinishAdjoint ends a sweep: sums that the instance accumulated itself
	// (such as those of filter coefficients, which the derivative of the design
	// turns into one of a frequency) are added to p and zeroed.
	FinishAdjoint(p []Grad[F])
}

// A Keeper is an Adjoint of class [graph.Toeplitz] that reads what Needs names
// even if no gradient of a parameter is requested. Others of that class must do
// without then: a record keeps nothing for them.
type Keeper interface {
	KeepsForInputs()
}

// A Back is the backward call for one forward call. In and Out are present as
// Needs asks, Param always.
type Back[F Float] struct {
	Call[F]
	State0 []byte      // as saved before the forward call
	DOut   []Tensor[F] // gradients of the outputs
	DIn    []Tensor[F] // to be written; Data nil: not requested
	DParam []Grad[F]   // in the order of Param
}

// A Grad receives the gradient of one parameter: in Framed if the parameter is
// framed, else in Sum. If neither is set it is not requested.
type Grad[F Float] struct {
	Framed Tensor[F] // [B, C, Tokens] of the node's rows, to be written
	Sum    []float64 // added to: one per row b*C + c, or in a table's own shape
}

// A Binder offers a closure for a call that repeats with the same tensors,
// which saves the checks of Forward in every block. Tokens and the tensors'
// lengths are fixed; Frame0 is not read. If thermo.heat is constant, Bind sets
// Heat and Delay and they stay.
type Binder[F Float] interface {
	Bind(c *Call[F]) func()
}

// A Fuser offers one closure for the calls of several instances of one type,
// the receiver's and others', with rows stacked: calls[0] is its own,
// calls[i+1] that of others[i]. Results are bit for bit those of separate
// calls. It returns false if these instances cannot be fused.
type Fuser[F Float] interface {
	Fuse(others []Instance[F], calls []*Call[F]) (func(), bool)
}

// A Joiner offers one function for the calls of several instances, the
// receiver's and others', which need not be of one type: nodes in a separate
// process are then asked once for all of them. calls[0] is its own, calls[i+1]
// that of others[i]; none reads what another gives. The function makes the calls
// whose flag is set, nil for all, and stores their results in codes. Results are
// those of separate calls. Join returns false if they cannot be made together.
type Joiner[F Float] interface {
	Join(others []Instance[F], calls []*Call[F]) (func(which []bool, codes []graph.Code), bool)
}
