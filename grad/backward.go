package grad

import (
	"fmt"
	"math"
	"runtime/debug"
)

// Backward computes the gradients of loss, a single number, with respect to all
// parameters and inputs, by replaying the tape in reverse. It can be called
// once per recording; [Tape.Reset] starts the next one.
func (t *Tape[F]) Backward(loss Ref) error {
	if t.err == nil && t.valid(loss) && len(t.bufs[loss].val) != 1 {
		t.fail(OpError{Op: "backward", Shapes: [][]int{t.Shape(loss)}, Err: ErrShape,
			Detail: "a loss is a single number; see BackwardFrom"})
	}
	return t.BackwardFrom(loss, t.one[:])
}

// BackwardFrom is Backward from a buffer of any shape whose gradient is d.
func (t *Tape[F]) BackwardFrom(out Ref, d []F) (err error) {
	switch {
	case t.err != nil:
		return t.err
	case t.ran:
		return &OpError{Op: "backward", Index: len(t.ops), Err: ErrTwice}
	case !t.valid(out):
		return &OpError{Op: "backward", Index: len(t.ops), Err: ErrRef}
	case len(d) != len(t.bufs[out].val):
		return &OpError{Op: "backward", Index: len(t.ops), Shapes: [][]int{t.Shape(out)}, Err: ErrShape,
			Detail: "the gradient has " + plural(len(d), "element")}
	}
	if t.check {
		if err := t.unchanged(); err != nil {
			return err
		}
	}
	t.ran = true
	defer func() {
		if p := recover(); p != nil {
			err = t.panicked(p)
		}
	}()
	t.pass(out, d)
	for t.at = len(t.ops) - 1; t.at >= 0; t.at-- {
		t.replay(&t.ops[t.at])
	}
	return nil
}

// replay runs the rule of one operation, if its result has a gradient, and
// frees that gradient.
func (t *Tape[F]) replay(o *op[F]) {
	if o.kind != opOpaque {
		b := &t.bufs[o.out]
		if !b.touched {
			return
		}
		t.rules[o.kind].back(t, o)
		t.recycle(b)
		return
	}
	p := &t.opaques[o.x]
	outs := t.refs[p.out:p.saved]
	used := false
	for _, r := range outs {
		used = used || t.bufs[r].touched
	}
	if !used {
		return
	}
	t.rules[o.kind].back(t, o)
	for _, r := range outs {
		t.recycle(&t.bufs[r])
	}
}

// recycle frees the gradient of an intermediate result: no earlier operation on
// the tape can have used the result. Its value stays.
func (t *Tape[F]) recycle(b *buf[F]) {
	if t.keep || !b.touched || b.own {
		return
	}
	t.grads.free(b.grad)
	b.grad, b.touched = nil, false
}

// panicked sets the tape's error from a panic of a registered function.
func (t *Tape[F]) panicked(p any) error {
	e := &OpError{Op: t.rules[t.ops[t.at].kind].name, Index: t.at, Err: &PanicError{Value: p, Stack: debug.Stack()}}
	if o := &t.ops[t.at]; o.kind == opOpaque {
		q := &t.opaques[o.x]
		e.Key, e.Shapes = q.key, t.shapes(t.refs[q.in:q.out])
	}
	t.err = e
	return e
}

// Grad returns the gradient of a parameter or input after Backward, and whether
// the loss depends on it: if not, the gradient is zero and Grad returns nil.
// Gradients of intermediate results are only available with [KeepGradients].
// The slice is valid until [Tape.Reset].
func (t *Tape[F]) Grad(r Ref) ([]F, bool) {
	if !t.ran || !t.valid(r) || !t.bufs[r].touched {
		return nil, false
	}
	return t.bufs[r].grad, true
}

// GradInto makes Backward add the gradient of a parameter or input to dst,
// which must have its length, instead of storing it in the tape's memory. That
// accumulates gradients over several chunks without copying. Call it before
// Backward.
func (t *Tape[F]) GradInto(r Ref, dst []F) {
	if t.err != nil {
		return
	}
	if !t.valid(r) || t.bufs[r].role > roleInput {
		t.fail(OpError{Op: "gradinto", Err: ErrRef, Detail: "not a parameter or input"})
		return
	}
	b := &t.bufs[r]
	if len(dst) != len(b.val) {
		t.fail(OpError{Op: "gradinto", Shapes: [][]int{t.Shape(r)}, Err: ErrShape,
			Detail: "the gradient has " + plural(len(dst), "element")})
		return
	}
	if b.needs {
		b.grad, b.touched, b.own = dst, true, true
	}
}

// hash returns the FNV-1a hash of the bits of v.
func hash[F Float](v []F) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range v {
		h = (h ^ math.Float64bits(float64(x))) * 1099511628211
	}
	return h
}

// unchanged compares all buffers with their hashes from when they were
// recorded.
func (t *Tape[F]) unchanged() error {
	for i := 1; i < len(t.bufs); i++ {
		b := &t.bufs[i]
		if b.role == roleAlloc || b.role == roleSaved || b.sum == 0 || hash(b.val) == b.sum {
			continue
		}
		return &OpError{Op: "backward", Index: len(t.ops), Shapes: [][]int{b.shape.slice()}, Err: ErrImmutable,
			Detail: fmt.Sprintf("%s %%%d", roleNames[b.role], i)}
	}
	return nil
}
