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
	a, b   Ref   // operands; a is the only one of a unary operation
	out    Ref   // the result
	lo, hi int32 // operands in refs (concat) or numbers in ints (embed, crossentropy)
	hidden Ref   // what the forward pass saved for the gradient
	x      int32 // axis of concat, offset of slice, index into opaques
	s, r   F     // constants: scalar, threshold, alpha and theta
	want   dims  // the shape asked for (slice)
}

// record runs o and adds it and its result to the tape.
func (t *Tape[F]) record(o op[F]) Ref {
	if t.err != nil {
		return 0
	}
	if !t.valid(o.a) || o.b != 0 && !t.valid(o.b) {
		return t.fail(OpError{Op: t.rules[o.kind].name, Err: ErrRef})
	}
	p := &t.unheld
	if t.recording {
		t.ops = append(t.ops, o)
		p = &t.ops[len(t.ops)-1]
	} else {
		*p = o
	}
	rule := &t.rules[o.kind]
	s, err := rule.shape(t, p)
	if err != nil {
		if t.recording {
			t.ops = t.ops[:len(t.ops)-1]
		}
		return t.refuse(o, err)
	}
	p.out = Ref(len(t.bufs))
	needs := t.recording && (t.bufs[o.a].needs || o.b != 0 && t.bufs[o.b].needs)
	for _, r := range t.more(p) {
		needs = needs || t.recording && t.bufs[r].needs
	}
	t.bufs = append(t.bufs, buf[F]{val: t.vals.take(s.size()), shape: s, role: roleResult, needs: needs})
	rule.forward(t, p)
	if t.check {
		for _, r := range [2]Ref{p.out, p.hidden} {
			if b := &t.bufs[r]; r != 0 {
				b.sum = hash(b.val)
			}
		}
	}
	return p.out
}

// more returns the operands of an operation that has any number of them.
func (t *Tape[F]) more(o *op[F]) []Ref {
	if o.kind != opConcat {
		return nil
	}
	return t.refs[o.lo:o.hi]
}

// refuse makes the tape's error of why o cannot be done.
func (t *Tape[F]) refuse(o op[F], why error) Ref {
	e := OpError{Op: t.rules[o.kind].name, Err: why}
	if d, ok := why.(*detail); ok {
		e.Err, e.Detail = d.err, d.text
	}
	for _, r := range append([]Ref{o.a, o.b}, t.more(&o)...) {
		if r != 0 && (r != o.a || len(e.Shapes) == 0 || o.kind != opConcat) {
			e.Shapes = append(e.Shapes, t.Shape(r))
		}
	}
	return t.fail(e)
}

// A detail is a reason in words behind one of the sentinels.
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

// MatMul is the product a[m,k]·b[k,n].
func (t *Tape[F]) MatMul(a, b Ref) Ref { return t.record(op[F]{kind: opMatMul, a: a, b: b}) }

// MatMulT is the product a[m,k]·b[n,k]ᵀ: a projection of rows by a weight.
func (t *Tape[F]) MatMulT(a, b Ref) Ref { return t.record(op[F]{kind: opMatMulT, a: a, b: b}) }

// Transpose turns a[m,n] into [n,m].
func (t *Tape[F]) Transpose(a Ref) Ref { return t.record(op[F]{kind: opTranspose, a: a}) }

// Outer is the outer product [m,n] of the vectors a[m] and b[n].
func (t *Tape[F]) Outer(a, b Ref) Ref { return t.record(op[F]{kind: opOuter, a: a, b: b}) }

// Dot is the sum of the products of the elements of a and b (of two matrices:
// the Frobenius product).
func (t *Tape[F]) Dot(a, b Ref) Ref { return t.record(op[F]{kind: opDot, a: a, b: b}) }

// Add is a + b.
func (t *Tape[F]) Add(a, b Ref) Ref { return t.record(op[F]{kind: opAdd, a: a, b: b}) }

// Sub is a − b.
func (t *Tape[F]) Sub(a, b Ref) Ref { return t.record(op[F]{kind: opSub, a: a, b: b}) }

// Mul is a·b, element by element.
func (t *Tape[F]) Mul(a, b Ref) Ref { return t.record(op[F]{kind: opMul, a: a, b: b}) }

// AddRow adds the vector b[n] to every row of a[…,n].
func (t *Tape[F]) AddRow(a, b Ref) Ref { return t.record(op[F]{kind: opAddRow, a: a, b: b}) }

// ScaleBy multiplies a by the single element of s.
func (t *Tape[F]) ScaleBy(a, s Ref) Ref { return t.record(op[F]{kind: opScaleBy, a: a, b: s}) }

// Scale multiplies a by the constant s.
func (t *Tape[F]) Scale(a Ref, s F) Ref { return t.record(op[F]{kind: opScale, a: a, s: s}) }

// Neg is −a.
func (t *Tape[F]) Neg(a Ref) Ref { return t.record(op[F]{kind: opNeg, a: a}) }

// Sigmoid is 1/(1+e^−a).
func (t *Tape[F]) Sigmoid(a Ref) Ref { return t.record(op[F]{kind: opSigmoid, a: a}) }

// Softplus is log(1+e^a).
func (t *Tape[F]) Softplus(a Ref) Ref { return t.record(op[F]{kind: opSoftplus, a: a}) }

// SiLU is a·sigmoid(a).
func (t *Tape[F]) SiLU(a Ref) Ref { return t.record(op[F]{kind: opSiLU, a: a}) }

// Softmax makes every row (the last dimension) of a a distribution.
func (t *Tape[F]) Softmax(a Ref) Ref { return t.record(op[F]{kind: opSoftmax, a: a}) }

// CrossEntropy is the mean, over the rows of logits[n,v] whose target lies in
// [0,v), of minus the log-probability of the target. Other rows do not count;
// if none counts the loss is 0.
func (t *Tape[F]) CrossEntropy(logits Ref, targets []int32) Ref {
	lo := len(t.ints)
	t.ints = append(t.ints, targets...)
	return t.record(op[F]{kind: opCrossEntropy, a: logits, lo: int32(lo), hi: int32(len(t.ints))})
}

// Embed is the rows of table[v,d] with the given numbers: [len(ids),d].
func (t *Tape[F]) Embed(table Ref, ids []int32) Ref {
	lo := len(t.ints)
	t.ints = append(t.ints, ids...)
	return t.record(op[F]{kind: opEmbed, a: table, lo: int32(lo), hi: int32(len(t.ints))})
}

// L2Norm is the length of a. At 0, where there is none, the gradient is 0.
func (t *Tape[F]) L2Norm(a Ref) Ref { return t.record(op[F]{kind: opL2Norm, a: a}) }

// Sum is the sum of all elements.
func (t *Tape[F]) Sum(a Ref) Ref { return t.record(op[F]{kind: opSum, a: a}) }

// L2Retention is lambda·a: weight decay as a step of its own. The gradient of
// lambda is not found.
func (t *Tape[F]) L2Retention(a Ref, lambda F) Ref {
	return t.record(op[F]{kind: opL2Retention, a: a, s: lambda})
}

// Concat joins along an axis; all other dimensions agree.
func (t *Tape[F]) Concat(axis int, a ...Ref) Ref {
	if t.err != nil {
		return 0
	}
	if len(a) == 0 || slices.ContainsFunc(a, func(r Ref) bool { return !t.valid(r) }) {
		return t.fail(OpError{Op: "concat", Err: ErrRef})
	}
	lo := len(t.refs)
	t.refs = append(t.refs, a...)
	return t.record(op[F]{kind: opConcat, a: a[0], lo: int32(lo), hi: int32(len(t.refs)), x: int32(axis)})
}

// Slice is the elements of a's flat buffer from offset on, as many as shape
// says; with offset 0 and all elements it gives a another shape.
func (t *Tape[F]) Slice(a Ref, offset int, shape ...int) Ref {
	want, ok := checked(shape)
	if t.err == nil && t.valid(a) && (!ok || offset < 0 || offset > len(t.bufs[a].val)-want.size()) {
		return t.fail(OpError{Op: "slice", Shapes: [][]int{t.Shape(a)}, Err: ErrRange,
			Detail: plural(want.size(), "element") + " from " + strconv.Itoa(offset)})
	}
	return t.record(op[F]{kind: opSlice, a: a, x: int32(offset), want: want})
}

// NormSiLU is y/max(|y|, eps) with y = silu(a) over the whole of a, and
// eps 1e-8: normalised features of a memory.
func (t *Tape[F]) NormSiLU(a Ref) Ref { return t.record(op[F]{kind: opNormSiLU, a: a}) }

// SphereProject divides every row of a by max(its length, 1e-8).
func (t *Tape[F]) SphereProject(a Ref) Ref { return t.record(op[F]{kind: opSphere, a: a}) }

// KLRetention is, row by row, softmax(alpha·log max(prior, 1e-8) − theta·a):
// the step of a distribution that stays close to prior in relative entropy
// (MIRAS, arXiv 2504.13173, equation 21). The gradients of alpha and theta are
// not found.
func (t *Tape[F]) KLRetention(a, prior Ref, alpha, theta F) Ref {
	return t.record(op[F]{kind: opKLRetention, a: a, b: prior, s: alpha, r: theta})
}

// StraightThrough is 1 where a > threshold and else 0; its gradient passes
// unchanged (arXiv 1308.3432). Multiply with the result; a comparison of it
// would have no gradient to pass.
func (t *Tape[F]) StraightThrough(a Ref, threshold F) Ref {
	return t.record(op[F]{kind: opStraight, a: a, s: threshold})
}
