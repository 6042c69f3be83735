package stores

import (
	"fmt"
	"math"

	"atenia/grad"
)

// readKey is the operation by which a state reads gated rows.
const readKey grad.Key = "quila.engram"

// RegisterEngram adds the gradient of the read to a registry.
func RegisterEngram[F grad.Float](r *grad.Registry[F]) { r.Register(readKey, readBack[F]) }

// A reading is what the gradient of a read needs beside its operands.
type reading struct {
	dim   int
	count []int // rows of each state
}

// readEngram is what states [T, D] read from rows [8·T, D], count[t] of each eight:
// attention with keys W_k e and values g·W_v e. It returns [T, D], zeros for a state
// without rows. A state of zeros reads the mean.
func readEngram[F grad.Float](t *grad.Tape[F], state, rows, wk, wv grad.Ref, count []int) grad.Ref {
	d := t.Shape(state)[1]
	n := len(count)
	out := t.Alloc(n, d)
	saved := []grad.Ref{t.AllocSaved(n*Heads, d), t.AllocSaved(n*Heads, d), t.AllocSaved(n, Heads), t.AllocSaved(n, Heads)}
	if t.Err() != nil {
		return 0
	}
	y, k, u, g, a := t.Data(out), t.Data(saved[0]), t.Data(saved[1]), t.Data(saved[2]), t.Data(saved[3])
	t.Work().MulT(k, t.Value(rows), t.Value(wk), n*Heads, d, d)
	t.Work().MulT(u, t.Value(rows), t.Value(wv), n*Heads, d, d)
	root := F(math.Sqrt(float64(d)))
	clear(y)
	clear(g)
	clear(a)
	for i, c := range count {
		s := t.Value(state)[i*d : (i+1)*d]
		ns, top, sum := rms(s), F(math.Inf(-1)), F(0)
		for j := range c {
			r := i*Heads + j
			kj := k[r*d : (r+1)*d]
			z := dot(s, kj)
			g[r] = sigmoid(ns * rms(kj) * z / root)
			a[r] = z / root
			top = max(top, a[r])
		}
		for j := range c {
			r := i*Heads + j
			a[r] = F(math.Exp(float64(a[r] - top)))
			sum += a[r]
		}
		for j := range c {
			r := i*Heads + j
			a[r] /= sum
			for m, x := range u[r*d : (r+1)*d] {
				y[i*d+m] += a[r] * g[r] * x
			}
		}
	}
	if t.Opaque(readKey, []grad.Ref{state, rows, wk, wv}, []grad.Ref{out}, saved, &reading{d, count}) != nil {
		return 0
	}
	return out
}

// readBack adds the gradients of a read.
func readBack[F grad.Float](b *grad.OpaqueBack[F]) {
	r := b.Aux.(*reading)
	d, n := r.dim, len(r.count)
	state, rows := b.In(0), b.In(1)
	k, u, g, a := b.Saved(0), b.Saved(1), b.Saved(2), b.Saved(3)
	dk, du := make([]F, len(k)), make([]F, len(u))
	root := F(math.Sqrt(float64(d)))
	ds := b.DIn(0)
	var dw [Heads]F
	for i, c := range r.count {
		s, dy := state[i*d:(i+1)*d], b.DOut(0)[i*d:(i+1)*d]
		ns, mean := rms(s), F(0)
		for j := range c {
			p := i*Heads + j
			dw[j] = dot(dy, u[p*d:(p+1)*d]) // of a·g
			mean += a[p] * g[p] * dw[j]
		}
		for j := range c {
			p := i*Heads + j
			kj, dkj := k[p*d:(p+1)*d], dk[p*d:(p+1)*d]
			for m, x := range dy {
				du[p*d+m] = a[p] * g[p] * x
			}
			along := dot(s, kj)
			nk := rms(kj)
			dg := a[p] * dw[j] * g[p] * (1 - g[p]) / root // of ns·nk·(s·k)
			da := a[p] * (g[p]*dw[j] - mean) / root       // of s·k
			// rms(x)' = −rms³·x ÷ D
			direct := dg*ns*nk + da
			viaK := -dg * ns * along * nk * nk * nk / F(d)
			viaS := -dg * nk * along * ns * ns * ns / F(d)
			for m := range dkj {
				dkj[m] = direct*s[m] + viaK*kj[m]
			}
			if ds != nil {
				for m := range s {
					ds[i*d+m] += direct*kj[m] + viaS*s[m]
				}
			}
		}
	}
	w := b.Work()
	if dr := b.DIn(1); dr != nil {
		w.AddMul(dr, dk, b.In(2), n*Heads, d, d)
		w.AddMul(dr, du, b.In(3), n*Heads, d, d)
	}
	if dwk := b.DIn(2); dwk != nil {
		w.AddTMul(dwk, dk, rows, d, n*Heads, d)
	}
	if dwv := b.DIn(3); dwv != nil {
		w.AddTMul(dwv, du, rows, d, n*Heads, d)
	}
}

// A Book is the tensors of a closed-book loss on a tape: what a table alone knows
// of what comes next. Read is head.read [D_e, D], Codebook [V, D_e] and Tau the
// temperature of the read-out.
type Book struct {
	Table, Keys, Values, Read, Codebook grad.Ref
	State                               grad.Ref // [T, D]; the zero Ref is the grid's state set to zero
	Tau                                 float64
}

// ClosedBook returns the mean cross-entropy of targets, a code each for the
// context that ends at it, with logits from the rows of the table alone: no
// entries, no tree, no grid. contexts[i] are the codes before targets[i]. A
// context of fewer than two codes has no rows and equal logits.
func ClosedBook[F grad.Float](t *grad.Tape[F], b Book, contexts [][]uint32, targets []int32, bits int, m *Multipliers) (loss, logits grad.Ref, err error) {
	if len(contexts) != len(targets) || len(targets) == 0 {
		return 0, 0, &engramValueError{"closed book", "a target for each context", fmt.Sprintf("%d and %d", len(targets), len(contexts)), errEngramShape}
	}
	if shape := t.Shape(b.Table); len(shape) != 2 || shape[0] != 1<<bits {
		return 0, 0, &engramValueError{"closed book", fmt.Sprintf("a table of %d rows", 1<<bits), fmt.Sprint(shape), errEngramShape}
	}
	ids, count := make([]int32, len(contexts)*Heads), make([]int, len(contexts))
	for i, c := range contexts {
		rows, n := Probes(c, bits, m)
		count[i] = n
		for j, r := range rows {
			ids[i*Heads+j] = int32(r)
		}
	}
	if b.State == 0 {
		d := t.Shape(b.Table)[1]
		b.State = t.Const(make([]F, len(contexts)*d), len(contexts), d)
	}
	out := readEngram(t, b.State, t.Embed(b.Table, ids), b.Keys, b.Values, count)
	logits = t.Scale(t.MatMulT(t.MatMulT(out, b.Read), b.Codebook), F(1/b.Tau))
	return t.CrossEntropy(logits, targets), logits, t.Err()
}
