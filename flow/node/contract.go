package node

import "atenia/flow/graph"

// A Float is the number type of an engine: float32 by default, float64 to check
// gradients and where precision is worth its price.
type Float interface{ float32 | float64 }

// A Tensor is a block of a stream, [B, C, N]: batches, channels, frames.
// Element (b, c, n) lies at (b*C + c)*N + n; Data may be longer than that.
type Tensor[F Float] struct {
	Data    []F
	B, C, N int
}

// Row returns the N frames of row r = b*C + c.
func (t *Tensor[F]) Row(r int) []F { return t.Data[r*t.N : r*t.N+t.N : r*t.N+t.N] }

// A Param is the value of a parameter in one call. B and C are 1 or those of the
// node's rows. Framed parameters have one value a token (a block of values in
// the plan, or modulation); the others have N = 1 and are constant over the
// whole stream. Tables (matrices, taps) are never framed and keep their own
// shape.
type Param[F Float] struct {
	Tensor[F]
	Framed bool
}

// Row returns the values of row r = b*C + c of a node of C channels, with
// broadcasting: one value a token when framed, else one value.
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

// At returns the constant value of row r = b*C + c of a node of C channels.
func (p *Param[F]) At(r, channels int) F { return p.Row(r, channels)[0] }

// A Config is what an instance is made for. Everything it needs later it
// allocates when it is made.
type Config struct {
	SampleRate float64           // of the graph: frames a second at rate 1
	MaxTokens  int               // the largest Call.Tokens
	Node       *graph.LinkedNode // shapes, rates, settings
	Training   bool              // Backward will be called
	Settings   Settings          // filled in by New
}

// A Call is one firing of a node: Tokens tokens of every port.
type Call[F Float] struct {
	In, Out  []Tensor[F] // port p holds Tokens times the port's frames a token
	Param    []Param[F]  // in the order of the type's Spec; thermo.heat is the last
	Frame0   int64       // tokens fired before this call
	Tokens   int
	Final    bool    // no call follows
	Heat     float64 // joules of this call, set by a node of the second ABI
	Delay    int     // frames consumed and not yet given out, set by a node of the second ABI
	Produced int     // tokens made; the host sets Tokens, dynamic nodes lower it
}

// An Instance is one running node. Its methods are called by one thread at a
// time. Forward must not allocate, lock, panic or store a pointer: in real time
// it runs on a thread that the Go runtime does not know as its own.
//
// Outputs do not depend on how a stream is cut into calls, to the bit. An
// instance that holds something outside Go's heap is an io.Closer as well.
type Instance[F Float] interface {
	Forward(c *Call[F]) graph.Code
	Reset() // to the state before the first frame
}

// Stateful instances carry something from call to call and can give it away.
type Stateful[F Float] interface {
	StateBytes() int
	Save(dst []byte) int        // returns the bytes written
	Load(src []byte) graph.Code // the bits are those saved; State when src is foreign
}

// Needs says what of the forward call Backward looks at.
type Needs uint8

// The parts of a forward call that may be kept for its backward call.
const (
	NeedX  Needs = 1 << iota // inputs
	NeedY                    // outputs
	NeedS0                   // the state before the call, as Save writes it
)

// An Adjoint has a backward mode: the exact transpose of the whole stream's
// derivative, called for the same cuts in reverse order. The state of the sweep
// (the gradient with respect to the state after a frame) is apart from the
// forward state, which a sweep leaves alone. Gradients do not depend on the
// cuts, to the bit.
type Adjoint[F Float] interface {
	Needs() Needs
	Backward(b *Back[F]) graph.Code
	// ResetAdjoint forgets what later calls handed back: before a sweep, and
	// where a sweep is truncated. Sums for constant parameters stay.
	ResetAdjoint()
	// FinishAdjoint ends a sweep: sums that the instance kept itself (say of
	// coefficients, which the design's derivative turns into a frequency's) are
	// added to p and forgotten.
	FinishAdjoint(p []Grad[F])
}

// A Back is the backward call that belongs to one forward call. In and Out are
// there as Needs asks, Param always.
type Back[F Float] struct {
	Call[F]
	State0 []byte      // as Save wrote it before the forward call
	DOut   []Tensor[F] // gradients of the outputs
	DIn    []Tensor[F] // written; Data nil: not wanted
	DParam []Grad[F]   // as Param
}

// A Grad takes the gradient of one parameter: Framed when the parameter is
// framed, else Sum; neither: it is not wanted.
type Grad[F Float] struct {
	Framed Tensor[F] // [B, C, Tokens] of the node's rows, written
	Sum    []float64 // added to: one a row b*C + c, or of a table's own shape
}

// A Binder offers a closure for a call that is repeated with the same tensors.
// Tokens and the tensors' lengths stay as they are; Frame0 is not looked at.
// When thermo.heat is constant, Heat and Delay are set by Bind and stay.
type Binder[F Float] interface {
	Bind(c *Call[F]) func()
}

// A Fuser offers one closure for the calls of several instances of one type,
// itself and others, rows stacked: calls[0] is its own, calls[i+1] that of
// others[i]. The results are those of single calls, to the bit. False: these do
// not go together.
type Fuser[F Float] interface {
	Fuse(others []Instance[F], calls []*Call[F]) (func(), bool)
}
