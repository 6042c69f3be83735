package rule

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/dense"
)

// KeyedKey is the name on a tape of a rule's block whose keys have rows of
// their own.
func (n Name) KeyedKey() grad.Key { return grad.Key("Keyed" + n) }

// ForwardKeys is [Block.Forward] with keys made of the rows of keys [T, D]
// instead of those of x: the tokens before them, say, so that a value is
// stored under what came before it.
func (b *Block[F]) ForwardKeys(w *dense.Work[F], x, keys, p, s0, y, sT []F, cache [][]F) {
	b.keys = keys
	b.Forward(w, x, p, s0, y, sT, cache)
	b.keys = nil
}

// BackwardKeys is [Block.Backward] for ForwardKeys; it adds to dkeys too
// unless that is nil.
func (b *Block[F]) BackwardKeys(w *dense.Work[F], x, keys, p, s0 []F, cache [][]F, dy, dsT, dx, dkeys, dp, ds0 []F) {
	b.keys, b.dkeys = keys, dkeys
	b.Backward(w, x, p, s0, cache, dy, dsT, dx, dp, ds0)
	b.keys, b.dkeys = nil, nil
}

// projectKeys replaces the keys of a chunk by those of b.keys.
func (b *Block[F]) projectKeys(w *dense.Work[F], p []F, in *Tokens[F]) {
	w.MulT(in.K, b.keys, p[:b.DK*b.D], in.T, b.D, b.DK)
}

// projectKeysBack takes the adjoints of keys out of b.dproj and passes them on
// to b.keys and W_K.
func (b *Block[F]) projectKeysBack(w *dense.Work[F], p, dp []F, n int) {
	r := b.rows()
	b.dkproj = grow(b.dkproj, n*b.DK)
	for t := range n {
		row := b.dproj[t*r:][:b.DK]
		copy(b.dkproj[t*b.DK:], row)
		clear(row)
	}
	if dp != nil {
		w.AddTMul(dp[:b.DK*b.D], b.dkproj, b.keys, b.DK, n, b.D)
	}
	if b.dkeys != nil {
		w.AddMul(b.dkeys, b.dkproj, p[:b.DK*b.D], n, b.DK, b.D)
	}
}

// RecordKeys is [Block.Record] with keys made of rows of their own.
func (b *Block[F]) RecordKeys(t *grad.Tape[F], x, keys, p, s0 grad.Ref) (y, sT grad.Ref, err error) {
	if err := b.sized(t, x, len(t.Value(x))/b.D*b.D, p, b.ParamLen, s0, b.StateLen); err != nil {
		return 0, 0, err
	}
	if len(t.Value(keys)) != len(t.Value(x)) {
		return 0, 0, fmt.Errorf("%w: %d numbers of keys, want %d", ErrShape, len(t.Value(keys)), len(t.Value(x)))
	}
	y, sT, cache := b.alloc(t, len(t.Value(x))/b.D)
	if t.Err() != nil {
		return 0, 0, t.Err()
	}
	b.ForwardKeys(t.Work(), t.Value(x), t.Value(keys), t.Value(p), t.Value(s0), t.Data(y), t.Data(sT), cache)
	in, out := [4]grad.Ref{x, p, s0, keys}, [2]grad.Ref{y, sT}
	return y, sT, t.Opaque(b.keyed, in[:], out[:], b.saved, b)
}

func keyedBack[F Float](o *grad.OpaqueBack[F]) {
	b := o.Aux.(*Block[F])
	dsT := b.recorded(o)
	b.BackwardKeys(o.Work(), o.In(0), o.In(3), o.In(1), o.In(2), b.parts, o.DOut(0), dsT, o.DIn(0), o.DIn(3), o.DIn(1), o.DIn(2))
}
