package rule

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// Key returns the name of a rule's block on a tape.
func (n Name) Key() grad.Key { return grad.Key(n) }

// FrozenKey returns the name of a rule's frozen read on a tape.
func (n Name) FrozenKey() grad.Key { return grad.Key("Frozen" + n) }

// Register registers the nine rules and their frozen reads. Call it before
// making tapes that record blocks.
func Register[F Float](reg *grad.Registry[F]) {
	for _, n := range Names() {
		reg.Register(n.Key(), recordedBack[F])
		reg.Register(n.FrozenKey(), frozenBack[F])
	}
}

// ErrShape matches errors about operands of the wrong size.
var ErrShape = fmt.Errorf("%w: wrong size", ErrConfig)

// Record records the block on a tape whose registry has [Register]: from the
// rows of x [T, D], flat parameters p and state s0 it computes the outputs y
// [T, D] and the state after the chunk. Gradients reach x, p and s0; make s0 a
// constant to truncate them at the chunk. No other goroutine may use the block
// before the tape is done with it.
func (b *Block[F]) Record(t *grad.Tape[F], x, p, s0 grad.Ref) (y, sT grad.Ref, err error) {
	n := len(t.Value(x)) / b.D
	if err := b.sized(t, x, n*b.D, p, b.ParamLen, s0, b.StateLen); err != nil {
		return 0, 0, err
	}
	y, sT = t.Alloc(n, b.D), t.Alloc(b.StateLen)
	b.saved, b.parts = b.saved[:0], b.parts[:0]
	for _, l := range b.CacheLens(n) {
		b.saved = append(b.saved, t.AllocSaved(l))
	}
	for _, r := range b.saved {
		b.parts = append(b.parts, t.Data(r))
	}
	if t.Err() != nil {
		return 0, 0, t.Err()
	}
	cache := b.parts
	if !t.Recording() {
		cache = nil
	}
	b.Forward(t.Work(), t.Value(x), t.Value(p), t.Value(s0), t.Data(y), t.Data(sT), cache)
	in, out := [3]grad.Ref{x, p, s0}, [2]grad.Ref{y, sT}
	return y, sT, t.Opaque(b.Rule.Key(), in[:], out[:], b.saved, b)
}

// sized checks the sizes of operands.
func (b *Block[F]) sized(t *grad.Tape[F], x grad.Ref, nx int, p grad.Ref, np int, s grad.Ref, ns int) error {
	if err := t.Err(); err != nil {
		return err
	}
	if len(t.Value(x)) != nx || nx == 0 || len(t.Value(p)) != np || len(t.Value(s)) != ns {
		return fmt.Errorf("%w: %s of width %d takes rows of that width, %d parameters and a state of %d, not %d, %d and %d numbers",
			ErrShape, b.Rule, b.D, np, ns, len(t.Value(x)), len(t.Value(p)), len(t.Value(s)))
	}
	return nil
}

func recordedBack[F Float](o *grad.OpaqueBack[F]) {
	b := o.Aux.(*Block[F])
	b.parts = b.parts[:0]
	for i := range b.CacheLens(len(o.In(0)) / b.D) {
		b.parts = append(b.parts, o.Saved(i))
	}
	var dsT []F
	if o.DOutUsed(1) {
		dsT = o.DOut(1)
	}
	b.Backward(o.Work(), o.In(0), o.In(1), o.In(2), b.parts, o.DOut(0), dsT, o.DIn(0), o.DIn(1), o.DIn(2))
}

// RecordFrozen records a read: the rows of x query the state s through W_Q of
// the flat parameters, and the state does not change. The queries are computed
// by the tape's own operations; the read is opaque, and only the queries have a
// gradient.
func (b *Block[F]) RecordFrozen(t *grad.Tape[F], x, p, s grad.Ref) (y grad.Ref, err error) {
	n := len(t.Value(x)) / b.D
	if err := b.sized(t, x, n*b.D, p, b.ParamLen, s, b.StateLen); err != nil {
		return 0, err
	}
	q := t.MatMulT(x, t.Slice(p, b.query()*b.D, b.DK, b.D))
	if !b.Config.RawQK {
		q = t.SphereProject(q)
	}
	y = t.Alloc(n, b.D)
	if t.Err() != nil {
		return 0, t.Err()
	}
	b.Read(t.Work(), t.Value(s), t.Value(q), t.Data(y))
	in, out, saved := [1]grad.Ref{q}, [1]grad.Ref{y}, [1]grad.Ref{s}
	return y, t.Opaque(b.frozen, in[:], out[:], saved[:], b)
}

func frozenBack[F Float](o *grad.OpaqueBack[F]) {
	dq := o.DIn(0)
	if dq == nil {
		return
	}
	b := o.Aux.(*Block[F])
	b.dproj = grow(b.dproj, len(dq))
	b.ReadBack(o.Work(), o.Saved(0), o.In(0), o.DOut(0), b.dproj)
	dense.Add(dq, b.dproj)
}
