package grad

// A Key names a kind of opaque operation, such as "DeltaRule" or
// "plan.attention".
type Key string

// A BackwardFunc adds to the gradients of an opaque operation's inputs. It must
// not retain any slice it is given.
type BackwardFunc[F Float] func(b *OpaqueBack[F])

// A Registry maps keys to backward functions. Fill it before making the tapes
// that use it; the zero value is empty.
type Registry[F Float] struct{ funcs map[Key]BackwardFunc[F] }

// Register sets the backward function of a key, replacing any other.
func (r *Registry[F]) Register(k Key, f BackwardFunc[F]) {
	if r.funcs == nil {
		r.funcs = map[Key]BackwardFunc[F]{}
	}
	r.funcs[k] = f
}

// An opaque is the record of an opaque operation: operands are ranges of refs,
// in the order inputs, outputs, saved.
type opaque[F Float] struct {
	key                Key
	fn                 BackwardFunc[F]
	in, out, saved, hi int32
	aux                any
}

// Opaque records an operation without a rule. The caller has computed the
// buffers out, from Alloc, from the buffers in, and has kept what the backward
// function registered as k needs in the buffers saved, from AllocSaved (zero
// Refs are kept as empty places), and in aux, the place for integers and
// configuration. No buffer may be written to afterwards.
//
// It returns the tape's error, see [Tape.Err].
func (t *Tape[F]) Opaque(k Key, in []Ref, out, saved []Ref, aux any) error {
	if t.err != nil {
		return t.err
	}
	var fn BackwardFunc[F]
	if t.reg != nil {
		fn = t.reg.funcs[k]
	}
	if fn == nil {
		t.fail(OpError{Op: "opaque", Key: k, Shapes: t.shapes(in), Err: ErrKey})
		return t.err
	}
	needs := false
	for _, r := range in {
		if !t.valid(r) || t.bufs[r].role == roleAlloc {
			return t.misnamed(k, in, "an input is not a buffer with a value")
		}
		needs = needs || t.bufs[r].needs
	}
	for _, r := range out {
		if !t.valid(r) || t.bufs[r].role != roleAlloc {
			return t.misnamed(k, in, "an output is not from Alloc or belongs to another operation")
		}
	}
	for _, r := range saved {
		if r != 0 && !t.valid(r) {
			return t.misnamed(k, in, "a saved buffer is not of this tape")
		}
	}
	for _, r := range out {
		b := &t.bufs[r]
		b.role, b.needs = roleResult, needs
		if t.check {
			b.sum = hash(b.val)
		}
	}
	if !t.recording {
		return nil
	}
	for _, r := range saved {
		if b := &t.bufs[r]; r != 0 && b.role == roleSaved {
			b.role = roleHidden
			if t.check {
				b.sum = hash(b.val)
			}
		}
	}
	o := opaque[F]{key: k, fn: fn, aux: aux, in: int32(len(t.refs))}
	t.refs = append(t.refs, in...)
	o.out = int32(len(t.refs))
	t.refs = append(t.refs, out...)
	o.saved = int32(len(t.refs))
	t.refs = append(t.refs, saved...)
	o.hi = int32(len(t.refs))
	t.opaques = append(t.opaques, o)
	t.ops = append(t.ops, op[F]{kind: opOpaque, x: int32(len(t.opaques) - 1)})
	return nil
}

func (t *Tape[F]) misnamed(k Key, in []Ref, why string) error {
	t.fail(OpError{Op: "opaque", Key: k, Shapes: t.shapes(in), Err: ErrRef, Detail: why})
	return t.err
}

// shapes returns the shapes of buffers, for errors.
func (t *Tape[F]) shapes(refs []Ref) [][]int {
	var s [][]int
	for _, r := range refs {
		s = append(s, t.Shape(r))
	}
	return s
}

// An OpaqueBack gives a backward function access to its operation. The slices
// it returns are valid during the call; only those of DIn and Into may be
// written.
type OpaqueBack[F Float] struct {
	Aux any
	t   *Tape[F]
	o   *opaque[F]
}

func (b *OpaqueBack[F]) input(i int) Ref  { return b.t.refs[b.o.in:b.o.out][i] }
func (b *OpaqueBack[F]) output(i int) Ref { return b.t.refs[b.o.out:b.o.saved][i] }

// In returns the value of input i.
func (b *OpaqueBack[F]) In(i int) []F { return b.t.bufs[b.input(i)].val }

// Out returns the value of output i.
func (b *OpaqueBack[F]) Out(i int) []F { return b.t.bufs[b.output(i)].val }

// Saved returns the contents of saved buffer i, nil for an empty place.
func (b *OpaqueBack[F]) Saved(i int) []F { return b.t.bufs[b.t.refs[b.o.saved:b.o.hi][i]].val }

// DOut returns the gradient of output i: zeros if the loss does not depend on
// it.
func (b *OpaqueBack[F]) DOut(i int) []F {
	r := b.output(i)
	if !b.t.bufs[r].touched {
		return b.t.sum(r)
	}
	return b.t.bufs[r].grad
}

// DOutUsed reports whether the loss depends on output i.
func (b *OpaqueBack[F]) DOutUsed(i int) bool { return b.t.bufs[b.output(i)].touched }

// DIn returns where to add the gradient of input i, which already includes
// contributions of other operations, or nil if it is not needed.
func (b *OpaqueBack[F]) DIn(i int) []F {
	g, add := b.t.into(b.input(i))
	if !add {
		clear(g)
	}
	return g
}

// Into is DIn for functions that can store as well as add: unless add is true
// the contents of g are undefined and the function must store all of it.
func (b *OpaqueBack[F]) Into(i int) (g []F, add bool) { return b.t.into(b.input(i)) }

// Work returns matrix products with the tape's threads.
func (b *OpaqueBack[F]) Work() *Work[F] { return &b.t.shown }

// opaqueBack is the rule of opaque operations: it calls the registered
// function.
func opaqueBack[F Float](t *Tape[F], o *op[F]) {
	p := &t.opaques[o.x]
	t.back = OpaqueBack[F]{Aux: p.aux, t: t, o: p}
	p.fn(&t.back)
	t.back = OpaqueBack[F]{}
}
