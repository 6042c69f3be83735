// Operations of a transformer that the tape does not have.

package school

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

const (
	normKey      grad.Key = "quila.baseline.layernorm"
	attentionKey grad.Key = "quila.baseline.attention"
	geluKey      grad.Key = "quila.baseline.gelu"
)

// layerNorm normalises rows of x.
func layerNorm[F grad.Float](t *grad.Tape[F], x, gain, bias grad.Ref, width int) grad.Ref {
	if t.Err() != nil {
		return 0
	}
	rows := len(t.Value(x)) / width
	out := t.Alloc(rows, width)
	mean, inv := t.AllocSaved(rows), t.AllocSaved(rows)
	dense.Of[F](t.Work()).LayerNorm(t.Data(out), t.Data(mean), t.Data(inv), t.Value(x), t.Value(gain), t.Value(bias), rows, width, normEpsilon)
	_ = t.Opaque(normKey, []grad.Ref{x, gain, bias}, []grad.Ref{out}, []grad.Ref{mean, inv}, width) // the tape keeps the error
	return out
}

func normBack[F grad.Float](o *grad.OpaqueBack[F]) {
	width := o.Aux.(int)
	dense.Of[F](o.Work()).LayerNormBack(o.DIn(0), o.DIn(1), o.DIn(2), o.In(0), o.In(1), o.Saved(0), o.Saved(1), o.DOut(0), len(o.In(0))/width, width)
}

// An attended is what the gradient of attention needs besides numbers.
type attended struct {
	lens  []int
	width int
}

// heads are those of a transformer of that width.
func heads[F grad.Float](width int) dense.Heads[F] {
	dim := width / transformerHeads
	return dense.Heads[F]{Q: transformerHeads, KV: transformerHeads, Dim: dim, Scale: F(1 / math.Sqrt(float64(dim)))}
}

// split copies a third of every row of qkv.
func split[F grad.Float](dst, qkv []F, part, width int) {
	for i := 0; i < len(dst); i += width {
		copy(dst[i:i+width], qkv[3*i+part*width:])
	}
}

// attention is causal attention within documents of the given lengths.
func attention[F grad.Float](t *grad.Tape[F], qkv grad.Ref, lens []int, width int) grad.Ref {
	if t.Err() != nil {
		return 0
	}
	rows := len(t.Value(qkv)) / (3 * width)
	out := t.Alloc(rows, width)
	var parts [3][]F
	var saved [4]grad.Ref
	for i := range parts {
		saved[i] = t.AllocSaved(rows, width)
		if parts[i] = t.Data(saved[i]); parts[i] == nil {
			parts[i] = make([]F, rows*width)
		}
		split(parts[i], t.Value(qkv), i, width)
	}
	saved[3] = t.AllocSaved(rows, transformerHeads)
	dense.Of[F](t.Work()).Attention(t.Data(out), t.Data(saved[3]), parts[0], parts[1], parts[2], lens, heads[F](width))
	_ = t.Opaque(attentionKey, []grad.Ref{qkv}, []grad.Ref{out}, saved[:], attended{lens, width})
	return out
}

func attentionBack[F grad.Float](o *grad.OpaqueBack[F]) {
	a := o.Aux.(attended)
	n := len(o.Out(0))
	d := make([]F, 3*n)
	dq, dk, dv := d[:n], d[n:2*n], d[2*n:]
	dense.Of[F](o.Work()).AttentionBack(dq, dk, dv, o.Saved(0), o.Saved(1), o.Saved(2), o.Out(0), o.Saved(3), o.DOut(0), a.lens, heads[F](a.width))
	into := o.DIn(0)
	for i := 0; i < n; i += a.width {
		for part, from := range [3][]F{dq, dk, dv} {
			dense.Add(into[3*i+part*a.width:][:a.width], from[i:i+a.width])
		}
	}
}

// gelu is x·Φ(x).
func gelu[F grad.Float](t *grad.Tape[F], x grad.Ref) grad.Ref {
	if t.Err() != nil {
		return 0
	}
	out := t.Alloc(t.Shape(x)...)
	dense.Of[F](t.Work()).Activate(dense.GELUErf, t.Data(out), t.Value(x))
	_ = t.Opaque(geluKey, []grad.Ref{x}, []grad.Ref{out}, nil, nil)
	return out
}

func geluBack[F grad.Float](o *grad.OpaqueBack[F]) {
	dense.Of[F](o.Work()).ActivateBack(dense.GELUErf, o.DIn(0), o.In(0), o.DOut(0))
}
