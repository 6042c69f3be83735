package grad

import (
	"math"
	"slices"

	"atenia/internal/kernel/dense"
)

// Float is the element type of a tape: float32 in production, float64 to check
// gradients against finite differences.
type Float interface{ float32 | float64 }

// A Ref names a buffer of one tape until the next Reset of that tape. The zero
// Ref names no buffer; operations return it after an error.
type Ref int32

// MaxRank is the largest number of dimensions of a buffer.
const MaxRank = 4

// A dims is a shape of up to MaxRank dimensions, without pointers.
type dims struct {
	d    [MaxRank]int32
	rank int32
}

func (s dims) slice() []int {
	r := make([]int, s.rank)
	for i := range r {
		r[i] = int(s.d[i])
	}
	return r
}

// is reports equality; sizes beyond the rank are 0.
func (s *dims) is(o *dims) bool {
	return s.d[0] == o.d[0] && s.d[1] == o.d[1] && s.d[2] == o.d[2] && s.d[3] == o.d[3] && s.rank == o.rank
}

func (s dims) size() int {
	n := 1
	for _, d := range s.d[:s.rank] {
		n *= int(d)
	}
	return n
}

// rows and cols interpret a shape as a matrix: the last dimension is the
// columns.
func (s dims) cols() int {
	if s.rank == 0 {
		return 1
	}
	return int(s.d[s.rank-1])
}

func (s dims) rows() int {
	n := 1
	for i := range s.rank - 1 {
		n *= int(s.d[i])
	}
	return n
}

// mat and vec are the shapes [m, n] and [n]; the zero dims is a single number.
func mat(m, n int) dims { return dims{d: [MaxRank]int32{int32(m), int32(n)}, rank: 2} }
func vec(n int) dims    { return dims{d: [MaxRank]int32{int32(n)}, rank: 1} }

// A role is the origin of a buffer.
type role uint8

const (
	roleNone   role = iota
	roleParam       // a copied parameter: gradient kept
	roleBorrow      // a parameter that is not copied
	roleInput       // a copied input: gradient kept
	roleConst       // copied, and never a gradient
	roleAlloc       // from Alloc, not yet an output of anything
	roleHidden      // kept by a rule for its gradient
	roleSaved       // from AllocSaved: memory of an opaque operation
	roleResult      // an operation's output
)

var roleNames = [...]string{"none", "param", "borrow", "input", "const", "alloc", "hidden", "saved", "result"}

// A buf is one buffer: a value and, where needed, a gradient.
type buf[F Float] struct {
	val, grad []F
	shape     dims
	role      role
	needs     bool // depends on a parameter or input; fixed when recorded
	touched   bool // grad holds a contribution
	own       bool // grad belongs to the caller (GradInto)
	sum       uint64
}

// A Tape records operations on buffers as they run and replays them in reverse
// to compute gradients. It belongs to one goroutine. The zero Tape is not
// usable; see [New].
//
// Operations return the Ref of a new buffer. The first error sticks: all later
// operations do nothing and return the zero Ref, so a model can be written as a
// sequence of expressions and checked once, with [Tape.Err] or by the error of
// [Tape.Backward].
type Tape[F Float] struct {
	rules [numKinds]rule[F]
	reg   *Registry[F]
	work  *dense.Work[F]
	shown Work[F] // work, for opaque operations

	ops     []op[F]
	bufs    []buf[F] // bufs[0] is unused
	refs    []Ref    // operands of variadic operations
	ints    []int32  // ids and targets
	opaques []opaque[F]
	vals    arena[F]
	grads   arena[F]
	back    OpaqueBack[F]
	one     [1]F
	want    dims  // shape argument of slice
	unheld  op[F] // the current operation of a tape that does not record

	config
	ran bool
	at  int // the operation being replayed
	err error
}

type config struct {
	recording, check, keep bool
	reserve                int
	threads                *Threads
}

// An Option configures a tape.
type Option func(*config)

// Recording(false) makes a tape for inference: the same kernels fill the same
// arena, so values are the same bits, but nothing is kept for Backward.
func Recording(on bool) Option { return func(c *config) { c.recording = on } }

// Reserve preallocates n operations.
func Reserve(n int) Option { return func(c *config) { c.reserve = n } }

// CheckImmutable makes Backward fail if any buffer changed after it was
// recorded, and fills what Alloc returns with NaN. It hashes every value twice,
// so use it in tests only.
func CheckImmutable() Option { return func(c *config) { c.check = true } }

// KeepGradients keeps the gradients of intermediate results, which are
// otherwise recycled as soon as their operation has been replayed. It costs
// memory; use it to debug.
func KeepGradients() Option { return func(c *config) { c.keep = true } }

// WithThreads makes a tape compute with the given threads; see [Threads].
func WithThreads(t *Threads) Option { return func(c *config) { c.threads = t } }

// New returns a tape whose opaque operations find their backward functions in
// reg, which may be nil if there are none.
func New[F Float](reg *Registry[F], opts ...Option) *Tape[F] {
	t := &Tape[F]{config: config{recording: true}, reg: reg}
	for _, o := range opts {
		o(&t.config)
	}
	t.rules = rules[F]()
	t.work = dense.New[F](t.threads.inner())
	t.shown.dense = t.work
	t.one[0] = 1
	t.ops = make([]op[F], 0, t.reserve)
	t.bufs = make([]buf[F], 1, t.reserve+1)
	return t
}

// With calls f with a new tape and returns f's result and error, or the tape's
// error if f returned none.
func With[F Float, R any](reg *Registry[F], f func(*Tape[F]) (R, error)) (R, error) {
	t := New(reg)
	r, err := f(t)
	if err == nil {
		err = t.err
	}
	return r, err
}

// Reset removes all operations, buffers and errors, and keeps the memory. All
// Refs, and all slices obtained from the tape, become invalid. Call it between
// chunks instead of making a new tape.
func (t *Tape[F]) Reset() {
	clear(t.bufs) // drops borrowed slices and values of opaque operations
	clear(t.opaques)
	t.ops, t.bufs = t.ops[:0], t.bufs[:1]
	t.refs, t.ints, t.opaques = t.refs[:0], t.ints[:0], t.opaques[:0]
	t.vals.reset()
	t.grads.reset()
	t.ran, t.err = false, nil
}

// Recording reports whether operations are kept for Backward.
func (t *Tape[F]) Recording() bool { return t.recording }

// Work returns matrix products with the tape's threads, for the forward passes of
// opaque operations.
func (t *Tape[F]) Work() *Work[F] { return &t.shown }

// Err returns the first error since the last Reset: an [OpError].
func (t *Tape[F]) Err() error { return t.err }

// Param copies v, whose gradient Backward computes, to a buffer of the given
// shape.
func (t *Tape[F]) Param(v []F, shape ...int) Ref { return t.leaf(roleParam, v, shape) }

// Input copies v like Param: an external value whose gradient is needed.
func (t *Tape[F]) Input(v []F, shape ...int) Ref { return t.leaf(roleInput, v, shape) }

// Const copies v, which has no gradient.
func (t *Tape[F]) Const(v []F, shape ...int) Ref { return t.leaf(roleConst, v, shape) }

// Borrow is Param without the copy: the caller must not change v before the
// next Reset. CheckImmutable verifies that.
func (t *Tape[F]) Borrow(v []F, shape ...int) Ref { return t.leaf(roleBorrow, v, shape) }

// Alloc returns an uninitialized buffer for the output of an opaque operation.
// Fill its Data, then pass it to Opaque.
func (t *Tape[F]) Alloc(shape ...int) Ref { return t.alloc(roleAlloc, shape) }

// AllocSaved is Alloc for memory that an opaque operation keeps for its
// backward function. On a tape that does not record it returns the zero Ref,
// whose Data is nil: nothing needs to be saved.
func (t *Tape[F]) AllocSaved(shape ...int) Ref {
	if !t.recording {
		return 0
	}
	return t.alloc(roleSaved, shape)
}

// Data returns the contents of a buffer from Alloc or AllocSaved, to be written
// before the buffer is passed to Opaque. For any other Ref it returns nil.
func (t *Tape[F]) Data(r Ref) []F {
	if !t.valid(r) || t.bufs[r].role != roleAlloc && t.bufs[r].role != roleSaved {
		return nil
	}
	return t.bufs[r].val
}

// Value returns the contents of a buffer, which must not be modified, or nil if
// there is no such buffer.
func (t *Tape[F]) Value(r Ref) []F {
	if !t.valid(r) {
		return nil
	}
	return t.bufs[r].val
}

// Shape returns a copy of the buffer's shape.
func (t *Tape[F]) Shape(r Ref) []int {
	if !t.valid(r) {
		return nil
	}
	return t.bufs[r].shape.slice()
}

func (t *Tape[F]) valid(r Ref) bool { return r > 0 && int(r) < len(t.bufs) }

func (t *Tape[F]) leaf(from role, v []F, shape []int) Ref {
	if t.err != nil {
		return 0
	}
	s, ok := checked(shape)
	if !ok || s.size() != len(v) {
		return t.fail(OpError{Op: roleNames[from], Shapes: [][]int{slices.Clone(shape)}, Err: ErrShape,
			Detail: "the data has " + plural(len(v), "element")})
	}
	b := buf[F]{val: v[:len(v):len(v)], shape: s, role: from, needs: t.recording && from != roleConst}
	if from != roleBorrow {
		b.val = t.vals.take(len(v))
		copy(b.val, v)
	}
	return t.push(b)
}

func (t *Tape[F]) alloc(from role, shape []int) Ref {
	if t.err != nil {
		return 0
	}
	s, ok := checked(shape)
	if !ok {
		return t.fail(OpError{Op: roleNames[from], Shapes: [][]int{slices.Clone(shape)}, Err: ErrShape})
	}
	b := buf[F]{val: t.vals.take(s.size()), shape: s, role: from}
	if t.check {
		for i := range b.val {
			b.val[i] = F(math.NaN())
		}
	}
	return t.push(b)
}

// push adds a buffer.
func (t *Tape[F]) push(b buf[F]) Ref {
	if t.check && b.role != roleAlloc && b.role != roleSaved {
		b.sum = hash(b.val)
	}
	t.bufs = append(t.bufs, b)
	return Ref(len(t.bufs) - 1)
}

// fail keeps the first error.
func (t *Tape[F]) fail(e OpError) Ref {
	if t.err == nil {
		e.Index = len(t.ops)
		t.err = &e
	}
	return 0
}

// checked converts a caller's shape to dims; an empty shape is a single number.
func checked(shape []int) (dims, bool) {
	if len(shape) > MaxRank {
		return dims{}, false
	}
	s, n := dims{rank: int32(len(shape))}, 1
	for i, d := range shape {
		if d < 0 || d > math.MaxInt32 || d > 0 && n > math.MaxInt32/d {
			return dims{}, false
		}
		n *= max(d, 1)
		s.d[i] = int32(d)
	}
	return s, true
}
