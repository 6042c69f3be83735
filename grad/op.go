package grad

import (
	"slices"
	"strconv"
)

// A kind is an operation.
type kind uint8

const (
	opNone kind = iota
	opMatMul
	opMatMulT
	opTranspose
	opOuter
	opDot
	opAdd
	opSub
	opMul
	opAddRow
	opScaleBy
	opScale
	opNeg
	opSigmoid
	opSoftplus
	opSiLU
	opSoftmax
	opCrossEntropy
	opEmbed
	opL2Norm
	opSum
	opL2Retention
	opConcat
	opSlice
	opNormSiLU
	opSphere
	opKLRetention
	opStraight
	opOpaque
	numKinds
)

// An op is one recorded operation: a struct of fixed size, no closure.
type op[F Float] struct {
	kind   kind
	a, b   Ref   // operands; a unary operation has only a
	out    Ref   // the result
	lo, hi int32 // operands in refs (concat) or numbers in ints (embed, crossentropy)
	hidden Ref   // what the forward pass saved for the gradient
	x      int32 // axis of concat, offset of slice, index into opaques
	s, r   F     // constants: scalar, threshold, alpha and theta
}

// begin allocates an operation and checks its operands. It returns nil if the
// tape has an error or the operands are invalid.
func (t *Tape[F]) begin(k kind, a, b Ref) *op[F] {
	if t.err != nil {
		return nil
	}
	if n := Ref(len(t.bufs)); a <= 0 || a >= n || b < 0 || b >= n {
		t.fail(OpError{Op: t.rules[k].name, Err: ErrRef})
		return nil
	}
	p := &t.unheld
	if t.recording {
		if len(t.ops) == cap(t.ops) {
			t.ops = slices.Grow(t.ops, len(t.ops)+64)
		}
		t.ops = t.ops[:len(t.ops)+1]
		p = &t.ops[len(t.ops)-1]
	}
	*p = op[F]{kind: k, a: a, b: b}
	return p
}

// end runs an operation that begin allocated and returns its result.
func (t *Tape[F]) end(p *op[F]) Ref {
	rule := &t.rules[p.kind]
	s := t.bufs[p.a].shape
	if rule.shape != nil {
		var err error
		if s, err = rule.shape(t, p); err != nil {
			return t.refuse(p, err)
		}
	} else if p.b != 0 && !s.is(&t.bufs[p.b].shape) || s.cols() == 0 {
		return t.refuse(p, ErrShape)
	}
	needs := t.bufs[p.a].needs || t.bufs[p.b].needs // buffer 0 needs none
	if p.kind == opConcat {
		for _, r := range t.more(p) {
			needs = needs || t.bufs[r].needs
		}
	}
	if len(t.bufs) == cap(t.bufs) {
		t.bufs = slices.Grow(t.bufs, len(t.bufs)+64)
	}
	t.bufs = t.bufs[:len(t.bufs)+1]
	p.out = Ref(len(t.bufs) - 1)
	b := &t.bufs[p.out] // zeroed by Reset
	b.val, b.shape, b.role, b.needs = t.vals.take(s.size()), s, roleResult, needs
	rule.forward(t, p)
	if t.check {
		t.seal(p.out)
		t.seal(p.hidden)
	}
	return p.out
}

// seal records a buffer's hash, for unchanged.
func (t *Tape[F]) seal(r Ref) {
	if b := &t.bufs[r]; r != 0 {
		b.sum = hash(b.val)
	}
}

// record runs and records an operation of one or two operands.
func (t *Tape[F]) record(k kind, a, b Ref) Ref {
	if p := t.begin(k, a, b); p != nil {
		return t.end(p)
	}
	return 0
}

// with is record for an operation with constants.
func (t *Tape[F]) with(k kind, a, b Ref, s, r F) Ref {
	p := t.begin(k, a, b)
	if p == nil {
		return 0
	}
	p.s, p.r = s, r
	return t.end(p)
}

// more returns the operands of a concatenation.
func (t *Tape[F]) more(o *op[F]) []Ref {
	return t.refs[o.lo:o.hi]
}

// refuse removes an operation and sets the tape's error.
func (t *Tape[F]) refuse(p *op[F], why error) Ref {
	e := OpError{Op: t.rules[p.kind].name, Err: why}
	if d, ok := why.(*detail); ok {
		e.Err, e.Detail = d.err, d.text
	}
	switch {
	case p.kind == opConcat:
		e.Shapes = t.shapes(t.more(p))
	case p.b != 0:
		e.Shapes = t.shapes([]Ref{p.a, p.b})
	default:
		e.Shapes = t.shapes([]Ref{p.a})
	}
	if t.recording {
		t.ops = t.ops[:len(t.ops)-1]
	}
	return t.fail(e)
}

// A detail is a sentinel error with a reason in words.
type detail struct {
	err  error
	text string
}

func (d *detail) Error() string { return d.text }

func plural(n int, noun string) string {
	s := strconv.Itoa(n) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

// MatMul returns the product a[m,k]·b[k,n].
func (t *Tape[F]) MatMul(a, b Ref) Ref { return t.record(opMatMul, a, b) }

// MatMulT returns the product a[m,k]·b[n,k]ᵀ: a projection of rows by a weight,
// in the layout of model files.
func (t *Tape[F]) MatMulT(a, b Ref) Ref { return t.record(opMatMulT, a, b) }

// Transpose returns a[m,n] as [n,m].
func (t *Tape[F]) Transpose(a Ref) Ref { return t.record(opTranspose, a, 0) }

// Outer returns the outer product [m,n] of the vectors a[m] and b[n].
func (t *Tape[F]) Outer(a, b Ref) Ref { return t.record(opOuter, a, b) }

// Dot returns the sum of the products of the elements of a and b (for matrices,
// the Frobenius product).
func (t *Tape[F]) Dot(a, b Ref) Ref { return t.record(opDot, a, b) }

// Add returns a + b, which must have one shape.
func (t *Tape[F]) Add(a, b Ref) Ref { return t.record(opAdd, a, b) }

// Sub returns a − b.
func (t *Tape[F]) Sub(a, b Ref) Ref { return t.record(opSub, a, b) }

// Mul returns the elementwise product of a and b.
func (t *Tape[F]) Mul(a, b Ref) Ref { return t.record(opMul, a, b) }

// AddRow adds the vector b[n] to every row of a[…,n], such as a bias.
func (t *Tape[F]) AddRow(a, b Ref) Ref { return t.record(opAddRow, a, b) }

// ScaleBy multiplies a by the single element of s, which may have a gradient.
func (t *Tape[F]) ScaleBy(a, s Ref) Ref { return t.record(opScaleBy, a, s) }

// Scale multiplies a by the constant s.
func (t *Tape[F]) Scale(a Ref, s F) Ref { return t.with(opScale, a, 0, s, 0) }

// Neg returns −a.
func (t *Tape[F]) Neg(a Ref) Ref { return t.record(opNeg, a, 0) }

// Sigmoid returns 1/(1+e^−a).
func (t *Tape[F]) Sigmoid(a Ref) Ref { return t.record(opSigmoid, a, 0) }

// Softplus returns log(1+e^a).
func (t *Tape[F]) Softplus(a Ref) Ref { return t.record(opSoftplus, a, 0) }

// SiLU returns a·sigmoid(a).
func (t *Tape[F]) SiLU(a Ref) Ref { return t.record(opSiLU, a, 0) }

// Softmax normalizes every row (the last dimension) of a to a distribution.
func (t *Tape[F]) Softmax(a Ref) Ref { return t.record(opSoftmax, a, 0) }

// CrossEntropy returns the mean negative log-probability of the targets, over
// the rows of logits[n,v] whose target is in [0,v). Other rows are ignored, so
// a negative target masks a row; if none counts the loss is 0.
func (t *Tape[F]) CrossEntropy(logits Ref, targets []int32) Ref {
	return t.numbered(opCrossEntropy, logits, targets)
}

// Embed gathers the rows ids of table[v,d]: [len(ids),d].
func (t *Tape[F]) Embed(table Ref, ids []int32) Ref {
	return t.numbered(opEmbed, table, ids)
}

func (t *Tape[F]) numbered(k kind, a Ref, numbers []int32) Ref {
	p := t.begin(k, a, 0)
	if p == nil {
		return 0
	}
	p.lo = int32(len(t.ints))
	t.ints = append(t.ints, numbers...)
	p.hi = int32(len(t.ints))
	return t.end(p)
}

// L2Norm returns the Euclidean norm of a. At 0, where it is not differentiable,
// the gradient is 0.
func (t *Tape[F]) L2Norm(a Ref) Ref { return t.record(opL2Norm, a, 0) }

// Sum returns the sum of all elements.
func (t *Tape[F]) Sum(a Ref) Ref { return t.record(opSum, a, 0) }

// L2Retention returns lambda·a: weight decay as an operation. lambda has no
// gradient.
func (t *Tape[F]) L2Retention(a Ref, lambda F) Ref {
	return t.with(opL2Retention, a, 0, lambda, 0)
}

// Concat concatenates along an axis; all other dimensions must agree.
func (t *Tape[F]) Concat(axis int, a ...Ref) Ref {
	if t.err != nil {
		return 0
	}
	if len(a) == 0 || slices.ContainsFunc(a, func(r Ref) bool { return !t.valid(r) }) {
		return t.fail(OpError{Op: "concat", Err: ErrRef})
	}
	p := t.begin(opConcat, a[0], 0)
	if p == nil {
		return 0
	}
	p.lo, p.x = int32(len(t.refs)), int32(axis)
	t.refs = append(t.refs, a...)
	p.hi = int32(len(t.refs))
	return t.end(p)
}

// Slice returns as many consecutive elements of a's flat buffer, from offset
// on, as shape holds. With offset 0 and all elements it reshapes a.
func (t *Tape[F]) Slice(a Ref, offset int, shape ...int) Ref {
	p := t.begin(opSlice, a, 0)
	if p == nil {
		return 0
	}
	want, ok := checked(shape)
	if !ok || offset < 0 || offset > len(t.bufs[a].val)-want.size() {
		return t.refuse(p, &detail{err: ErrRange, text: plural(want.size(), "element") + " from " + strconv.Itoa(offset)})
	}
	p.x, t.want = int32(offset), want
	return t.end(p)
}

// NormSiLU returns y/max(|y|, eps) with y = silu(a), normalized over all of a,
// and eps 1e-8: normalized features of a memory.
func (t *Tape[F]) NormSiLU(a Ref) Ref { return t.record(opNormSiLU, a, 0) }

// SphereProject divides every row of a by max(|row|, 1e-8).
func (t *Tape[F]) SphereProject(a Ref) Ref { return t.record(opSphere, a, 0) }

// KLRetention returns, row by row, softmax(alpha·log max(prior, 1e-8) −
// theta·a): a gradient step on a distribution that stays close to prior in
// relative entropy (MIRAS, arXiv 2504.13173, equation 21). alpha and theta have
// no gradient.
func (t *Tape[F]) KLRetention(a, prior Ref, alpha, theta F) Ref {
	return t.with(opKLRetention, a, prior, alpha, theta)
}

// StraightThrough returns 1 where a > threshold, else 0; its gradient passes
// unchanged (arXiv 1308.3432). Multiply by the result rather than comparing it,
// since a comparison would have no gradient to pass on.
func (t *Tape[F]) StraightThrough(a Ref, threshold F) Ref {
	return t.with(opStraight, a, 0, threshold, 0)
}
