package grad

import (
	"atenia/internal/golden/await"
	"math/rand/v2"
	"slices"
	"testing"
)

// A network is a chunk of everything: products, an embedding used twice, an
// opaque operation, pieces joined and cut.
type network[F Float] struct {
	table, w1, w2, bias []F
	ids, targets        []int32
	frozen              bool // the first weight is a constant
}

func newNetwork[F Float]() *network[F] {
	r := rand.New(rand.NewPCG(7, 7))
	fill := func(n int) []F {
		v := make([]F, n)
		for i := range v {
			v[i] = F(r.NormFloat64()) / 4
		}
		return v
	}
	const v, d, h, n = 40, 24, 48, 64
	net := &network[F]{table: fill(v * d), w1: fill(h * d), w2: fill(d * h), bias: fill(d)}
	for range n {
		net.ids = append(net.ids, int32(r.IntN(v)))
		net.targets = append(net.targets, int32(r.IntN(v+1)))
	}
	return net
}

func doubling[F Float]() *Registry[F] {
	reg := new(Registry[F])
	reg.Register("double", func(b *OpaqueBack[F]) {
		if g := b.DIn(0); g != nil {
			for i, d := range b.DOut(0) {
				g[i] += 2 * d
			}
		}
	})
	return reg
}

// record returns the loss and the parameters.
func (n *network[F]) record(t *Tape[F]) (loss Ref, params [4]Ref) {
	d, h := len(n.bias), len(n.w1)/len(n.bias)
	v := len(n.table) / d
	table, w2, bias := t.Param(n.table, v, d), t.Borrow(n.w2, d, h), t.Param(n.bias, d)
	w1 := Ref(0)
	if n.frozen {
		w1 = t.Const(n.w1, h, d)
	} else {
		w1 = t.Param(n.w1, h, d)
	}
	x := t.Embed(table, n.ids)
	y := t.MatMulT(t.SiLU(t.MatMulT(x, w1)), w2)
	x = t.AddRow(t.Add(x, y), bias)
	z := t.Alloc(len(n.ids), d)
	for i, v := range t.Value(x) {
		t.Data(z)[i] = 2 * v
	}
	_ = t.Opaque("double", []Ref{x}, []Ref{z}, nil, nil)
	half := t.Slice(z, 0, len(n.ids)/2, d)
	rest := t.Slice(z, len(n.ids)/2*d, len(n.ids)/2, d)
	x = t.Concat(0, t.SphereProject(half), t.Sigmoid(rest))
	logits := t.MatMulT(x, table)
	loss = t.Add(t.CrossEntropy(logits, n.targets), t.Scale(t.L2Norm(bias), 0.1))
	return loss, [4]Ref{table, w1, w2, bias}
}

// gradients returns the loss and copies of the parameters' gradients.
func (n *network[F]) gradients(t *testing.T, tape *Tape[F]) (F, [4][]F) {
	t.Helper()
	loss, params := n.record(tape)
	if err := tape.Backward(loss); err != nil {
		t.Fatal(err)
	}
	var out [4][]F
	for i, p := range params {
		g, _ := tape.Grad(p)
		out[i] = slices.Clone(g)
	}
	return tape.Value(loss)[0], out
}

// TestSameBits: threads, keeping of gradients, a reused tape, checks of
// immutability and recording itself do not change a bit.
func TestSameBits(t *testing.T) {
	t.Parallel()
	net := newNetwork[float32]()
	reg := doubling[float32]()
	wantLoss, want := net.gradients(t, New(reg))
	threads := NewThreads(3)
	defer threads.Close()
	reused := New(reg, Reserve(64))
	for range 3 {
		reused.Reset()
		net.gradients(t, reused)
	}
	reused.Reset()
	for name, tape := range map[string]*Tape[float32]{
		"threads": New(reg, WithThreads(threads)),
		"keep":    New(reg, KeepGradients()),
		"check":   New(reg, CheckImmutable()),
		"reused":  reused,
	} {
		loss, got := net.gradients(t, tape)
		if loss != wantLoss {
			t.Errorf("%s: loss %g, want %g", name, loss, wantLoss)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: gradient %d differs", name, i)
			}
		}
	}
	off := New(reg, Recording(false))
	if loss, _ := net.record(off); off.Value(loss)[0] != wantLoss {
		t.Errorf("without recording: loss %g, want %g", off.Value(loss)[0], wantLoss)
	}
	if len(off.ops) != 0 || off.AllocSaved(3) != 0 || off.Err() != nil {
		t.Errorf("a tape without recording kept %d operations (%v)", len(off.ops), off.Err())
	}
}

// TestPruning: gradients do not depend on which others are computed, and values
// that need none have no gradient buffer.
func TestPruning(t *testing.T) {
	t.Parallel()
	net := newNetwork[float32]()
	full := New(doubling[float32]())
	_, want := net.gradients(t, full)
	net.frozen = true
	pruned := New(doubling[float32]())
	_, got := net.gradients(t, pruned)
	for i := range want {
		if i == 1 {
			if got[i] != nil {
				t.Error("a constant has a gradient")
			}
		} else if !slices.Equal(got[i], want[i]) {
			t.Errorf("gradient %d differs", i)
		}
	}
	if a, b := pruned.Memory(), full.Memory(); a.Grads != b.Grads-4*int64(len(net.w1)) {
		t.Errorf("gradients take %d bytes with a constant weight of %d, %d without", a.Grads, 4*len(net.w1), b.Grads)
	}
	// An operation on constants alone is not replayed.
	tape := New[float64](nil)
	c := tape.Const([]float64{1, 2}, 2)
	y := tape.Dot(tape.Mul(c, c), tape.Param([]float64{3, 4}, 2))
	tape.rules[opMul].back = func(*Tape[float64], *op[float64]) { t.Error("replayed") }
	if err := tape.Backward(y); err != nil {
		t.Fatal(err)
	}
}

// TestZeroAllocations: a chunk does not allocate after one of the same shape.
func TestZeroAllocations(t *testing.T) {
	net := newNetwork[float32]()
	tape := New(doubling[float32]())
	dst := make([]float32, len(net.w2))
	chunk := func() {
		tape.Reset()
		loss, params := net.record(tape)
		tape.GradInto(params[2], dst)
		if err := tape.Backward(loss); err != nil {
			t.Fatal(err)
		}
	}
	chunk()
	if n := await.Allocs(10, chunk); n != 0 {
		t.Errorf("%v allocations per chunk", n)
	}
	reserved := tape.Memory().Reserved
	for range 20 {
		chunk()
	}
	if m := tape.Memory().Reserved; m != reserved {
		t.Errorf("reserved memory went from %d to %d", reserved, m)
	}
}

// TestGradInto: gradients of chunks add up in the caller's buffer.
func TestGradInto(t *testing.T) {
	t.Parallel()
	net := newNetwork[float64]()
	tape := New(doubling[float64]())
	_, once := net.gradients(t, tape)
	var dst [4][]float64
	for range 2 {
		tape.Reset()
		loss, params := net.record(tape)
		for i, p := range params {
			if dst[i] == nil {
				dst[i] = make([]float64, len(once[i]))
			}
			tape.GradInto(p, dst[i])
		}
		if err := tape.Backward(loss); err != nil {
			t.Fatal(err)
		}
	}
	for i := range dst {
		for j, x := range dst[i] {
			if d := x - 2*once[i][j]; d > 1e-15 || d < -1e-15 {
				t.Fatalf("gradient %d, element %d: %g after two chunks, %g after one", i, j, x, once[i][j])
			}
		}
	}
	if m := tape.Memory(); m.Grads != 0 {
		t.Errorf("the tape holds %d bytes of gradients of its own", m.Grads)
	}
}

// TestMemory: the report is the sum of the buffers, and gradients of
// intermediates are recycled while values stay.
func TestMemory(t *testing.T) {
	t.Parallel()
	const n, deep = 1000, 20
	tape := New[float32](nil)
	x := tape.Input(make([]float32, n), n)
	w := tape.Borrow(make([]float32, n), n)
	tape.AllocSaved(10)
	y := x
	for range deep {
		y = tape.Sigmoid(tape.Mul(y, w))
	}
	loss := tape.CrossEntropy(tape.Slice(y, 0, 1, n), []int32{3})
	if err := tape.Backward(loss); err != nil {
		t.Fatal(err)
	}
	got := tape.Memory()
	got.Reserved = 0
	want := Memory{Params: 4 * n, Borrowed: 4 * n, Results: 4 * (n*(2*deep+1) + 1), Saved: 4 * (10 + 1), Grads: 4 * 2 * n, GradPeak: 4 * 4 * n}
	if got.GradPeak > want.GradPeak {
		t.Errorf("gradients took %d bytes at their peak, want at most %d", got.GradPeak, want.GradPeak)
	}
	got.GradPeak = want.GradPeak
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, ok := tape.Grad(y); ok {
		t.Error("the gradient of an intermediate was not recycled")
	}
}

// TestLeak: saved buffers of an opaque operation reach gradients only through its
// registered function.
func TestLeak(t *testing.T) {
	t.Parallel()
	run := func(saved, seen float64) float64 {
		reg := register("saved", func(b *OpaqueBack[float64]) {
			b.DIn(0)[0] += seen*b.Saved(0)[0] + b.DOut(0)[0]*b.Aux.(float64)
		})
		tape := New(reg)
		x := tape.Input([]float64{2}, 1)
		s := tape.AllocSaved(1)
		tape.Data(s)[0] = saved
		y := tape.Alloc(1)
		tape.Data(y)[0] = 5
		if err := tape.Opaque("saved", []Ref{x}, []Ref{y}, []Ref{s}, 3.0); err != nil {
			t.Fatal(err)
		}
		if err := tape.Backward(tape.Sum(tape.Mul(y, y))); err != nil {
			t.Fatal(err)
		}
		g, _ := tape.Grad(x)
		return g[0]
	}
	if a, b := run(1, 0), run(100, 0); a != 30 || b != 30 {
		t.Errorf("what the function ignores changed the gradient: %g, %g, want 30", a, b)
	}
	if a, b := run(1, 1), run(100, 1); a != 31 || b != 130 {
		t.Errorf("got %g and %g, want 31 and 130", a, b)
	}
}

// TestUnusedOutputs: the gradient of an unused result is zero, and an opaque
// operation without used results is not replayed.
func TestUnusedOutputs(t *testing.T) {
	t.Parallel()
	calls := 0
	reg := register("two", func(b *OpaqueBack[float64]) {
		calls++
		if b.DOutUsed(0) || !b.DOutUsed(1) || b.DOut(0)[0] != 0 || b.DOut(1)[0] != 1 {
			t.Errorf("got %v, %v", b.DOut(0), b.DOut(1))
		}
		if g, add := b.Into(0); add {
			t.Error("nothing was there before")
		} else {
			g[0] = 4
		}
	})
	tape := New(reg)
	x := tape.Input([]float64{1}, 1)
	two := func() (Ref, Ref) {
		a, b := tape.Alloc(1), tape.Alloc(1)
		if err := tape.Opaque("two", []Ref{x}, []Ref{a, b}, nil, nil); err != nil {
			t.Fatal(err)
		}
		return a, b
	}
	_, b := two()
	two()
	if err := tape.Backward(tape.Sum(b)); err != nil {
		t.Fatal(err)
	}
	if g, _ := tape.Grad(x); g[0] != 4 || calls != 1 {
		t.Errorf("gradient %v after %d calls", g, calls)
	}
}

// TestWith: the tape's error is returned if the function returns none.
func TestWith(t *testing.T) {
	t.Parallel()
	got, err := With(nil, func(t *Tape[float64]) (float64, error) {
		x := t.Param([]float64{3}, 1)
		err := t.Backward(t.Mul(x, x))
		g, _ := t.Grad(x)
		return g[0], err
	})
	if got != 6 || err != nil {
		t.Errorf("got %g, %v", got, err)
	}
	if _, err = With(nil, func(t *Tape[float64]) (int, error) { t.Neg(5); return 0, nil }); err == nil {
		t.Error("the tape's error is lost")
	}
}
