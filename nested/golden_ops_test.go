package nested_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"atenia/grad"
)

func init() {
	families["ops"] = family{
		name: func(c json.RawMessage) string {
			var head struct{ Op string }
			_ = json.Unmarshal(c, &head)
			return head.Op
		},
		run: func(t *testing.T, c json.RawMessage) {
			o := decode[opCase](t, c)
			t.Run("float64", func(t *testing.T) { runOp[float64](t, o, 1e-10) })
			t.Run("float32", func(t *testing.T) { runOp[float32](t, o, 1e-5) })
		},
	}
}

// An opCase is one operation of the tape with its gradients.
type opCase struct {
	Op     string
	Inputs map[string]nums
	Attrs  struct {
		Scalar, Lambda, Eps, Alpha, Theta, Threshold float64
		Targets, Indices                             []int32
		Axis, Offset, Len                            int
	}
	Out, Dout nums
	Dinputs   map[string]nums
}

func runOp[F grad.Float](t *testing.T, c opCase, tol float64) {
	tape := grad.New[F](nil, grad.CheckImmutable())
	in := map[string]grad.Ref{}
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		in[name] = tape.Input(cast[F](c.Inputs[name].V), c.Inputs[name].Shape...)
	}
	out := applyOp(t, tape, c, in)
	if err := tape.Err(); err != nil {
		t.Fatal(err)
	}
	near(t, "out", tape.Value(out), c.Out.V, tol)
	if err := tape.BackwardFrom(out, cast[F](c.Dout.V)); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Dinputs)) {
		g, ok := tape.Grad(in[name])
		if !ok {
			t.Fatalf("d%s: no gradient", name)
		}
		near(t, "d"+name, g, c.Dinputs[name].V, tol)
	}
}

func applyOp[F grad.Float](t *testing.T, tape *grad.Tape[F], c opCase, in map[string]grad.Ref) grad.Ref {
	a, b, k := in["a"], in["b"], c.Attrs
	switch c.Op {
	case "Matmul":
		return tape.MatMul(a, b)
	case "MatmulTransposeB":
		return tape.MatMulT(a, b)
	case "Transpose":
		return tape.Transpose(a)
	case "OuterProduct":
		return tape.Outer(a, b)
	case "FrobeniusDot":
		return tape.Dot(a, b)
	case "Add":
		return tape.Add(a, b)
	case "Sub":
		return tape.Sub(a, b)
	case "Mul":
		return tape.Mul(a, b)
	case "Scale":
		return tape.Scale(a, F(k.Scalar))
	case "Negate":
		return tape.Neg(a)
	case "Sigmoid":
		return tape.Sigmoid(a)
	case "Softplus":
		return tape.Softplus(a)
	case "SiLU":
		return tape.SiLU(a)
	case "Softmax":
		return tape.Softmax(a)
	case "CrossEntropy":
		return tape.CrossEntropy(a, k.Targets)
	case "EmbedLookup":
		return tape.Embed(a, k.Indices)
	case "L2Norm":
		return tape.L2Norm(a)
	case "SumReduce":
		return tape.Sum(a)
	case "L2Retention":
		return tape.L2Retention(a, F(k.Lambda))
	case "Concat0", "Concat1", "Concat":
		return tape.Concat(k.Axis, a, b)
	case "Slice":
		return tape.Slice(a, k.Offset, k.Len)
	case "NormalizedSiLU":
		return tape.NormSiLU(a)
	case "SphereProjectNormalize":
		return tape.SphereProject(a)
	case "KLRetention":
		return tape.KLRetention(a, in["prior"], F(k.Alpha), F(k.Theta))
	case "StraightThroughBool":
		return tape.StraightThrough(a, F(k.Threshold))
	}
	t.Fatalf("no operation %q", c.Op)
	return 0
}
