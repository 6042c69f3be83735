package rule

import (
	"errors"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
)

// testIsolation: the tape's gradients of a block are, bit for bit, those of the
// block's adjoint, and nothing else enters the outer gradient.
func testIsolation(t *testing.T) {
	var reg grad.Registry[float32]
	Register(&reg)
	for i, v := range variants {
		const d, tokens = 6, 5
		c := newPassage[float32](t, v, d, tokens, uint64(300+i))
		tape := grad.New(&reg, grad.CheckImmutable())
		x, p, s := tape.Param(c.x, tokens, d), tape.Param(c.p, len(c.p)), tape.Param(c.s0, len(c.s0))
		y, sT, err := c.b.Record(tape, x, p, s)
		if err != nil {
			t.Fatalf("%v: %v", v, err)
		}
		y1, sT1 := slices.Clone(tape.Value(y)), slices.Clone(tape.Value(sT))
		if err := tape.BackwardFrom(y, c.dy); err != nil {
			t.Fatalf("%v: %v", v, err)
		}
		c.dsT = nil
		c.forward()
		c.backward()
		if !slices.Equal(y1, c.y) || !slices.Equal(sT1, c.sT) {
			t.Errorf("%v: the tape computes other bits", v)
		}
		for name, pair := range map[string]struct {
			r    grad.Ref
			want []float32
		}{"x": {x, c.dx}, "parameters": {p, c.dp}, "state": {s, c.ds0}} {
			g, ok := tape.Grad(pair.r)
			if !ok || !slices.Equal(g, pair.want) {
				t.Errorf("%v: the tape's gradient of the %s has other bits", v, name)
			}
		}
		isolateFrozen(t, v, &reg, c)
	}
	testLeak(t)
}

func isolateFrozen(t *testing.T, v variant, reg *grad.Registry[float32], c *passage[float32]) {
	tokens, d := len(c.x)/c.b.D, c.b.D
	tape := grad.New(reg)
	x, p, s := tape.Param(c.x, tokens, d), tape.Param(c.p, len(c.p)), tape.Const(c.s0, len(c.s0))
	y, err := c.b.RecordFrozen(tape, x, p, s)
	if err != nil {
		t.Fatalf("%v frozen: %v", v, err)
	}
	if err := tape.BackwardFrom(y, c.dy); err != nil {
		t.Fatalf("%v frozen: %v", v, err)
	}
	wq := Param(c.b.Layout, c.p, "W_Q")
	q, norms, out := make([]float32, tokens*c.b.DK), make([]float32, tokens), make([]float32, tokens*d)
	c.b.Query(c.w, c.x, wq, q, norms)
	c.b.Read(c.w, c.s0, q, out)
	close(t, v.String()+" frozen", tape.Value(y), out, 1e-6)
	dq, dx, dwq := make([]float32, len(q)), make([]float32, len(c.x)), make([]float32, len(wq))
	c.b.ReadBack(c.w, c.s0, q, c.dy, dq)
	c.b.QueryBack(c.w, c.x, wq, q, norms, dq, dx, dwq)
	gx, _ := tape.Grad(x)
	gp, _ := tape.Grad(p)
	scale := float32(1)
	for _, g := range dx {
		scale = max(scale, g, -g)
	}
	close(t, v.String()+" frozen: gradient of x", gx, dx, float64(scale)*1e-5)
	close(t, v.String()+" frozen: gradient of W_Q", Param(c.b.Layout, gp, "W_Q"), dwq, float64(scale)*1e-5)
	for _, a := range c.b.Params {
		for _, g := range Param(c.b.Layout, gp, a.Name) {
			if a.Name != "W_Q" && g != 0 {
				t.Fatalf("%v frozen: %s has a gradient", v, a.Name)
			}
		}
	}
	// The read alone, bit for bit.
	tape.Reset()
	if tape.Recording() {
		in, st := tape.Param(q, tokens, c.b.DK), tape.Const(c.s0, len(c.s0))
		o := tape.Alloc(tokens, d)
		c.b.Read(c.w, c.s0, q, tape.Data(o))
		if err := tape.Opaque(v.name.FrozenKey(), []grad.Ref{in}, []grad.Ref{o}, []grad.Ref{st}, c.b); err != nil {
			t.Fatal(err)
		}
		if err := tape.BackwardFrom(o, c.dy); err != nil {
			t.Fatal(err)
		}
		c.b.ReadBack(c.w, c.s0, q, c.dy, dq)
		if g, ok := tape.Grad(in); !ok || !slices.Equal(g, dq) {
			t.Errorf("%v frozen: the tape's gradient of the queries has other bits", v)
		}
	}
}

// testLeak: a backward function that returns 7 under a rule's key gives exactly
// 7, and 14 with two consumers of one input: a block reaches the outer gradient
// in no other way.
func testLeak(t *testing.T) {
	for _, v := range variants {
		var reg grad.Registry[float32]
		Register(&reg)
		reg.Register(v.name.Key(), func(b *grad.OpaqueBack[float32]) {
			for i := range b.DIn(0) {
				b.DIn(0)[i] += 7
			}
		})
		c := newPassage[float32](t, v, 6, 3, 9)
		tape := grad.New(&reg)
		x, p, s := tape.Param(c.x, 3, 6), tape.Param(c.p, len(c.p)), tape.Const(c.s0, len(c.s0))
		y, _, err := c.b.Record(tape, x, p, s)
		z, _, err2 := c.b.Record(tape, x, p, s)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if err := tape.Backward(tape.Sum(tape.Add(y, z))); err != nil {
			t.Fatal(err)
		}
		g, _ := tape.Grad(x)
		for _, v := range g {
			if v != 14 {
				t.Fatalf("two functions that return 7 gave %g", v)
			}
		}
	}
}

// TestRecordErrors: operands of the wrong size are typed errors.
func TestRecordErrors(t *testing.T) {
	t.Parallel()
	var reg grad.Registry[float32]
	Register(&reg)
	c := newPassage[float32](t, variant{Delta, Config{}}, 6, 3, 9)
	tape := grad.New(&reg)
	x, p, s := tape.Param(c.x, 3, 6), tape.Param(c.p, len(c.p)), tape.Const(c.s0[:3], 3)
	if _, _, err := c.b.Record(tape, x, p, s); !errors.Is(err, ErrShape) {
		t.Errorf("a state of the wrong size: %v", err)
	}
	if _, err := c.b.RecordFrozen(tape, x, x, s); !errors.Is(err, ErrShape) {
		t.Errorf("parameters of the wrong size: %v", err)
	}
	var empty grad.Registry[float32]
	tape = grad.New(&empty)
	x, p, s = tape.Param(c.x, 3, 6), tape.Param(c.p, len(c.p)), tape.Const(c.s0, len(c.s0))
	if _, _, err := c.b.Record(tape, x, p, s); !errors.Is(err, grad.ErrKey) {
		t.Errorf("a registry that knows no rules: %v", err)
	}
}

// TestRecordAllocates: a chunk on a tape that is used again allocates nothing.
func TestRecordAllocates(t *testing.T) {
	var reg grad.Registry[float32]
	Register(&reg)
	for i, v := range variants {
		c := newPassage[float32](t, v, 8, 20, uint64(i))
		tape := grad.New(&reg)
		n := await.Allocs(3, func() {
			tape.Reset()
			x, p, s := tape.Borrow(c.x, 20, 8), tape.Borrow(c.p, len(c.p)), tape.Const(c.s0, len(c.s0))
			y, _, err := c.b.Record(tape, x, p, s)
			if err != nil {
				t.Fatal(err)
			}
			if err := tape.BackwardFrom(y, c.dy); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%v: %g allocations a chunk", v, n)
		}
	}
}
