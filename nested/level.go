package nested

import (
	"errors"

	"atenia/grad"
)

// ErrInput matches errors about the tokens or the context of a pass.
var ErrInput = errors.New("cannot compute this chunk")

// active records a block that writes and reads. With keep, the state it wrote
// becomes the level's next state. The state before the chunk is a constant:
// gradients are truncated at the chunk's boundary.
func (r *Runner[F]) active(layer, level int, u, keys grad.Ref, keep bool) grad.Ref {
	t, b := r.tape, r.block
	if t.Err() != nil {
		return 0
	}
	s0 := t.Const(r.ctx.State(layer, level), b.StateLen)
	var y, sT grad.Ref
	var err error
	if keys == 0 {
		y, sT, err = b.Record(t, u, r.level(layer, level), s0)
	} else {
		y, sT, err = r.keyed(layer, level, u, keys, s0)
	}
	if err != nil {
		r.err = err
		return 0
	}
	i := layer*len(r.model.cfg.Periods) + level
	copy(r.ctx.nextStates[i], t.Value(sT))
	r.ctx.written[i] = keep
	return y
}

// frozen records a read: the queries are those of an active level, the state
// does not change, and of the parameters only W_Q has a gradient.
func (r *Runner[F]) frozen(layer, level int, u grad.Ref) grad.Ref {
	t, b := r.tape, r.block
	if t.Err() != nil {
		return 0
	}
	y, err := b.RecordFrozen(t, u, r.level(layer, level), t.Const(r.ctx.State(layer, level), b.StateLen))
	if err != nil {
		r.err = err
		return 0
	}
	return y
}

// level puts the flat parameters of a level on the tape, once per pass.
func (r *Runner[F]) level(layer, level int) grad.Ref {
	ref := &r.levels[layer*len(r.model.cfg.Periods)+level]
	if *ref == 0 {
		at, n := r.model.levelRange(layer, level)
		*ref = r.borrow(at, n, n)
	}
	return *ref
}

func grow[F Float](v []F, n int) []F {
	if cap(v) < n {
		v = make([]F, n)
	}
	return v[:n]
}
