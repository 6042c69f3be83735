package grad

import (
	"math"
	"testing"

	"atenia/internal/kernel/dense"
)

type ruleBack = func(*Tape[float64], *op[float64])

// mutants are rules with plausible mistakes.
var mutants = []struct {
	name string
	op   kind
	back func(right ruleBack) ruleBack
}{
	{"matmul without the transpose", opMatMul, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			sa, sb := t.bufs[o.a].shape, t.bufs[o.b].shape
			m, k, n := int(sa.d[0]), int(sa.d[1]), int(sb.d[1])
			t.work.MulT(t.sum(o.a), t.up(o), t.val(o.b), m, n, k)
			t.work.Mul(t.sum(o.b), t.val(o.a)[:k*m], t.up(o), k, m, n)
		}
	}},
	{"matmult with the operands' values swapped", opMatMulT, swapped},
	{"matmult without its second operand", opMatMulT, onlyFirst},
	{"transpose that is none", opTranspose, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { t.pass(o.a, t.up(o)) }
	}},
	{"outer without its second operand", opOuter, onlyFirst},
	{"dot without its second operand", opDot, onlyFirst},
	{"add without its second operand", opAdd, onlyFirst},
	{"sub with a plus", opSub, func(ruleBack) ruleBack { return addBack[float64] }},
	{"mul with the operands' values swapped", opMul, swapped},
	{"addrow of the first row", opAddRow, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			t.pass(o.a, t.up(o))
			t.pass(o.b, t.up(o)[:len(t.val(o.b))])
		}
	}},
	{"scaleby without the scale", opScaleBy, onlyFirst},
	{"scale forgotten", opScale, passing},
	{"l2retention forgotten", opL2Retention, passing},
	{"neg with a plus", opNeg, passing},
	{"sigmoid of x", opSigmoid, elementwise(func(d, a, y float64) float64 { return d * a * (1 - a) })},
	{"sigmoid with a plus", opSigmoid, elementwise(func(d, a, y float64) float64 { return d * y * (1 + y) })},
	{"sigmoid cut off", opSigmoid, elementwise(func(d, a, y float64) float64 {
		if math.Abs(a) > 2 {
			return 0
		}
		return d * y * (1 - y)
	})},
	{"softplus of y", opSoftplus, elementwise(func(d, a, y float64) float64 { return d / (1 + math.Exp(-y)) })},
	{"silu without its second term", opSiLU, elementwise(func(d, a, y float64) float64 { return d / (1 + math.Exp(-a)) })},
	{"softmax without the mean", opSoftmax, elementwise(func(d, a, y float64) float64 { return d * y })},
	{"softmax over the whole buffer", opSoftmax, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			t.work.SoftmaxRowsBack(t.sum(o.a), t.val(o.out), t.up(o), 1, len(t.val(o.a)))
		}
	}},
	{"crossentropy over all rows", opCrossEntropy, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			s := t.bufs[o.a].shape
			t.work.CrossEntropyBack(t.sum(o.a), t.val(o.a), t.bufs[o.hidden].val, t.ints[o.lo:o.hi], s.rows(), s.cols(), t.up(o)[0]/float64(s.rows()))
		}
	}},
	{"crossentropy that forgets the upstream gradient", opCrossEntropy, func(right ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { t.up(o)[0] = 1; right(t, o) }
	}},
	{"embed that overwrites", opEmbed, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			g, n := t.sum(o.a), t.bufs[o.a].shape.cols()
			for i, id := range t.ints[o.lo:o.hi] {
				copy(g[int(id)*n:][:n], t.up(o)[i*n:])
			}
		}
	}},
	{"l2norm squared", opL2Norm, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { t.times(o.a, t.val(o.a), 2*t.up(o)[0]) }
	}},
	{"l2norm that divides by zero", opL2Norm, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { t.times(o.a, t.val(o.a), t.up(o)[0]/t.val(o.out)[0]) }
	}},
	{"sum of the first", opSum, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { t.sum(o.a)[0] += t.up(o)[0] }
	}},
	{"concat of the first operand", opConcat, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { copy(t.sum(o.a), t.up(o)) }
	}},
	{"slice without its offset", opSlice, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) { copy(t.sum(o.a), t.up(o)) }
	}},
	{"normsilu with one formula on both sides of the clamp", opNormSiLU, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			a := t.val(o.a)
			z, dz := make([]float64, len(a)), make([]float64, len(a))
			dense.Activate(dense.SiLU, z, a)
			oneFormula(dz, t.val(o.out), t.up(o), dense.Norm(z))
			dense.ActivateBack(dense.SiLU, t.sum(o.a), a, dz)
		}
	}},
	{"normsilu without silu", opNormSiLU, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			normalBack(t.sum(o.a), t.val(o.out), t.up(o), dense.Norm(t.val(o.a)))
		}
	}},
	{"sphereproject with one formula on both sides of the clamp", opSphere, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			n, g := t.bufs[o.a].shape.cols(), t.sum(o.a)
			for i := 0; i < len(g); i += n {
				oneFormula(g[i:][:n], t.val(o.out)[i:][:n], t.up(o)[i:][:n], dense.Norm(t.val(o.a)[i:][:n]))
			}
		}
	}},
	{"sphereproject without the projection", opSphere, func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			n, g := t.bufs[o.a].shape.cols(), t.sum(o.a)
			for i := 0; i < len(g); i += n {
				dense.Axpy(g[i:][:n], 1/max(dense.Norm(t.val(o.a)[i:][:n]), eps), t.up(o)[i:][:n])
			}
		}
	}},
	{"klretention that divides by the clamp below it", opKLRetention, klMutant(func(t *Tape[float64], o *op[float64], z []float64) {
		t.times(o.a, z, -o.r)
		for i, p := range t.val(o.b) {
			t.sum(o.b)[i] += o.s * z[i] / max(p, eps)
		}
	})},
	{"klretention without theta", opKLRetention, klMutant(func(t *Tape[float64], o *op[float64], z []float64) {
		t.times(o.a, z, -1)
		for i, p := range t.val(o.b) {
			if p > eps {
				t.sum(o.b)[i] += o.s * z[i] / p
			}
		}
	})},
	{"straightthrough of the step", opStraight, elementwise(func(d, a, y float64) float64 { return d * y })},
}

// swapped runs a rule with the values of its operands exchanged, where they are
// of one size.
func swapped(right ruleBack) ruleBack {
	return func(t *Tape[float64], o *op[float64]) {
		a, b := &t.bufs[o.a], &t.bufs[o.b]
		va, vb := a.val, b.val
		a.val, b.val = resized(vb, len(va)), resized(va, len(vb))
		right(t, o)
		a.val, b.val = va, vb
	}
}

func resized(v []float64, n int) []float64 {
	return append(v[:len(v):len(v)], make([]float64, n)...)[:n]
}

func onlyFirst(right ruleBack) ruleBack {
	return func(t *Tape[float64], o *op[float64]) {
		t.bufs[o.b].needs = false
		right(t, o)
	}
}

func passing(ruleBack) ruleBack { return straightBack[float64] }

func elementwise(f func(d, a, y float64) float64) func(ruleBack) ruleBack {
	return func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			for i, d := range t.up(o) {
				t.sum(o.a)[i] += f(d, t.val(o.a)[i], t.val(o.out)[i])
			}
		}
	}
}

// oneFormula is normalBack as if its length were always above the clamp.
func oneFormula(g, y, d []float64, n float64) {
	along := dense.Dot(d, y)
	for i := range g {
		g[i] += (d[i] - y[i]*along) / max(n, eps)
	}
}

func klMutant(f func(*Tape[float64], *op[float64], []float64)) func(ruleBack) ruleBack {
	return func(ruleBack) ruleBack {
		return func(t *Tape[float64], o *op[float64]) {
			z, s := make([]float64, len(t.val(o.out))), t.bufs[o.a].shape
			t.work.SoftmaxRowsBack(z, t.val(o.out), t.up(o), s.rows(), s.cols())
			f(t, o, z)
		}
	}
}

// TestMutants: the checks of TestGradients catch each of these rules, and every
// operation has one.
func TestMutants(t *testing.T) {
	t.Parallel()
	has := map[kind]bool{opNone: true, opOpaque: true}
	for _, m := range mutants {
		has[m.op] = true
		t.Run(m.name, func(t *testing.T) {
			tape := New[float64](nil)
			tape.rules[m.op].back = m.back(tape.rules[m.op].back)
			for _, e := range examples {
				if e.op == m.op && e.wrong(t, tape, 0) != "" {
					return
				}
			}
			t.Error("nothing noticed")
		})
	}
	right := New[float64](nil)
	for k := range numKinds {
		if !has[k] {
			t.Errorf("no mutant of %s", right.rules[k].name)
		}
	}
}
