package neuron

import (
	"errors"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A Codes is a codebook as the read-out uses it. It is for one goroutine at a time.
type Codes[F grad.Float] struct {
	Reads         [kinds]int64 // reads of every kind of port, in inference
	over          []F          // [V, D_e]: rows ÷ τ
	half          []F          // [V]: half their squared lengths ÷ τ
	v, de         int
	biased, plain readout[F]
}

// NewCodes prepares a codebook of rows of de values for the read-out at
// temperature tau. It copies the rows.
func NewCodes[F grad.Float](e []F, de int, tau F) *Codes[F] {
	k := &Codes[F]{de: de, v: len(e) / de, over: make([]F, len(e))}
	k.half = make([]F, k.v)
	for i := range k.half {
		k.half[i] = F(dense.SumSquares(e[i*de:][:de])/2) / tau
	}
	for i, x := range e {
		k.over[i] = x / tau
	}
	k.biased, k.plain = readout[F]{k, true}, readout[F]{k, false}
	return k
}

// Write stores the logits of rows y: (y·e − ½‖e‖²) ÷ τ + bias, [R-2.3c].
func (k *Codes[F]) Write(work *grad.Work[F], logits, y, bias []F, rows int) {
	work.MulT(logits, y, k.over, rows, k.de, k.v)
	for i := range rows {
		row := logits[i*k.v:][:k.v]
		dense.Axpy(row, -1, k.half)
		if bias != nil {
			dense.Add(row, bias)
		}
	}
}

// Logits records the distances of y = W_read·m to the codes, with a bias per code
// if there is one: [rows, V].
func (k *Codes[F]) Logits(t *grad.Tape[F], m, read, bias grad.Ref) grad.Ref {
	y := t.MatMulT(m, read)
	if t.Err() != nil {
		return 0
	}
	rows := t.Shape(y)[0]
	out := t.Alloc(rows, k.v)
	in, aux := []grad.Ref{y, bias}, &k.biased
	var b []F
	if bias != 0 {
		b = t.Value(bias)
	} else {
		in, aux = in[:1], &k.plain
	}
	k.Write(t.Work(), t.Data(out), t.Value(y), b, rows)
	if t.Opaque(keyLogits, in, []grad.Ref{out}, nil, aux) != nil {
		return 0
	}
	return out
}

// A readout is what the gradient of logits needs.
type readout[F grad.Float] struct {
	*Codes[F]
	biased bool
}

func logitsBack[F grad.Float](b *grad.OpaqueBack[F]) {
	k := b.Aux.(*readout[F])
	dl := b.DOut(0)
	rows := len(dl) / k.v
	if dy := b.DIn(0); dy != nil {
		b.Work().AddMul(dy, dl, k.over, rows, k.v, k.de)
	}
	if !k.biased {
		return
	}
	if db := b.DIn(1); db != nil {
		for i := range rows {
			dense.Add(db, dl[i*k.v:][:k.v])
		}
	}
}

// Brier records the mean of (conf − hit)², hit being whether the greatest logit is
// the target's: confidence is to be the frequency of being right [R-2.6b].
func Brier[F grad.Float](t *grad.Tape[F], conf, logits grad.Ref, targets []int32) grad.Ref {
	c, l := t.Value(conf), t.Value(logits)
	out, saved := t.Alloc(1), t.AllocSaved(len(targets))
	if t.Err() != nil {
		return 0
	}
	v := len(l) / max(len(targets), 1)
	off := t.Data(saved)
	var sum F
	for i, target := range targets {
		row := l[i*v:][:v]
		best := 0
		for j, x := range row {
			if x > row[best] {
				best = j
			}
		}
		e := c[i]
		if best == int(target) {
			e--
		}
		if off != nil {
			off[i] = e
		}
		sum += e * e
	}
	t.Data(out)[0] = sum / F(len(targets))
	if t.Opaque(keyBrier, []grad.Ref{conf}, []grad.Ref{out}, []grad.Ref{saved}, nil) != nil {
		return 0
	}
	return out
}

func brierBack[F grad.Float](b *grad.OpaqueBack[F]) {
	off, g := b.Saved(0), b.DOut(0)[0]
	if dc := b.DIn(0); dc != nil {
		dense.Axpy(dc, 2*g/F(len(off)), off)
	}
}

// Generator and Tool ports have no scan and no attention, and they alone reach the
// codebook.
const (
	GeneratorPort Kind = iota + Analysis + 1
	ToolPort
	kinds
)

// ErrPath is the error of a port that may not reach the codebook.
var ErrPath = errors.New("port: only the Generator and the Tool-Port reach the codebook")

// A Readout is a port's way to the codebook, Path A: from its output to logits.
type Readout[F grad.Float] struct {
	codes      *Codes[F]
	kind       Kind
	read, bias []F
	y          []F
	work       *grad.Work[F]
}

// PathA opens the codebook to a port. read is W_read [D_e, D], bias a number per
// code or nil.
func (k *Codes[F]) PathA(kind Kind, read, bias []F, threads *grad.Threads) (*Readout[F], error) {
	if kind != GeneratorPort && kind != ToolPort {
		return nil, ErrPath
	}
	return &Readout[F]{codes: k, kind: kind, read: read, bias: bias, work: grad.NewWork[F](threads)}, nil
}

// Logits writes the logits [rows, V] of merged outputs m [rows, D].
func (r *Readout[F]) Logits(dst, m []F) {
	k := r.codes
	d := len(r.read) / k.de
	rows := len(m) / d
	k.Reads[r.kind]++
	y := sized(&r.y, rows*k.de)
	r.work.MulT(y, m, r.read, rows, d, k.de)
	k.Write(r.work, dst, y, r.bias, rows)
}
