package grad

import "fmt"

// The shape rules: the shape of an operation's result, or why there is none.

func unfit(format string, args ...any) error {
	return &detail{err: ErrShape, text: fmt.Sprintf(format, args...)}
}

func scalar[F Float](*Tape[F], *op[F]) (dims, error) { return dims{}, nil }

func scalarOfTwo[F Float](t *Tape[F], o *op[F]) (dims, error) {
	if t.bufs[o.a].shape != t.bufs[o.b].shape {
		return dims{}, ErrShape
	}
	return dims{}, nil
}

func wanted[F Float](t *Tape[F], _ *op[F]) (dims, error) { return t.want, nil }

func matMulShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a, b := t.bufs[o.a].shape, t.bufs[o.b].shape
	if a.rank != 2 || b.rank != 2 || a.d[1] != b.d[0] {
		return dims{}, unfit("want [m,k]·[k,n]")
	}
	return mat(int(a.d[0]), int(b.d[1])), nil
}

func matMulTShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a, b := t.bufs[o.a].shape, t.bufs[o.b].shape
	if a.rank != 2 || b.rank != 2 || a.d[1] != b.d[1] {
		return dims{}, unfit("want [m,k]·[n,k]ᵀ")
	}
	return mat(int(a.d[0]), int(b.d[0])), nil
}

func transposeShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a := t.bufs[o.a].shape
	if a.rank != 2 {
		return dims{}, unfit("want a matrix")
	}
	return mat(int(a.d[1]), int(a.d[0])), nil
}

func outerShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a, b := t.bufs[o.a].shape, t.bufs[o.b].shape
	if a.rank != 1 || b.rank != 1 {
		return dims{}, unfit("want two vectors")
	}
	return mat(int(a.d[0]), int(b.d[0])), nil
}

func rowShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a, b := t.bufs[o.a].shape, t.bufs[o.b].shape
	if b.rank != 1 || a.rank == 0 || b.d[0] != a.d[a.rank-1] || b.d[0] == 0 {
		return dims{}, unfit("want […,n] and [n]")
	}
	return a, nil
}

func byShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	if len(t.bufs[o.b].val) != 1 {
		return dims{}, unfit("want one element to scale by")
	}
	return t.bufs[o.a].shape, nil
}

// crossEntropyShape checks the targets and marks those to ignore.
func crossEntropyShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a, targets := t.bufs[o.a].shape, t.ints[o.lo:o.hi]
	if a.rank != 2 || int(a.d[0]) != len(targets) || a.d[1] == 0 {
		return dims{}, unfit("want [n,v] and n targets, not %d", len(targets))
	}
	for i, id := range targets {
		if id < 0 || id >= a.d[1] {
			targets[i] = -1
		}
	}
	t.bufs = append(t.bufs, buf[F]{val: t.vals.take(len(targets)), shape: vec(len(targets)), role: roleHidden})
	o.hidden = Ref(len(t.bufs) - 1)
	return dims{}, nil
}

func embedShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	a, ids := t.bufs[o.a].shape, t.ints[o.lo:o.hi]
	if a.rank != 2 {
		return dims{}, unfit("want a table [v,d]")
	}
	for i, id := range ids {
		if id < 0 || id >= a.d[0] {
			return dims{}, &detail{err: ErrRange, text: fmt.Sprintf("id %d at %d, table of %d rows", id, i, a.d[0])}
		}
	}
	return mat(len(ids), int(a.d[1])), nil
}

func concatShape[F Float](t *Tape[F], o *op[F]) (dims, error) {
	s := t.bufs[o.a].shape
	if o.x < 0 || o.x >= s.rank {
		return dims{}, &detail{err: ErrRange, text: fmt.Sprintf("axis %d", o.x)}
	}
	for _, r := range t.more(o)[1:] {
		b := t.bufs[r].shape
		length := b.d[o.x]
		b.d[o.x] = s.d[o.x]
		if b != s {
			return dims{}, unfit("want equal sizes on all axes but %d", o.x)
		}
		s.d[o.x] += length
	}
	return s, nil
}
