package tape_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/internal/plan"
	"atenia/internal/tape"
	"atenia/tensor"
)

// TestNoAllocations: after the first batch of a size, steps of that size
// allocate nothing.
func TestNoAllocations(t *testing.T) {
	noAllocations(t, everything)
	noAllocations(t, seeingAndHearing)
	noAllocations(t, classifying)
}

func noAllocations(t *testing.T, build func(*sketch)) {
	k := newSketch(t)
	build(k)
	for _, recompute := range []bool{false, true} {
		r := open[float32](t, &k.m, k.find, nil)
		r.m.Recompute, r.m.Balance = recompute, 0.1
		p := grad.NewThreads(2)
		defer p.Close()
		r.m.Threads = p
		tp := grad.New(r.m.Registry(), grad.WithThreads(p))
		step := func() {
			tp.Reset()
			loss, err := r.m.Loss(tp, r.batch)
			if err == nil {
				err = tp.Backward(loss)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			step()
		}
		n := 1.0
		for try := 0; try < 10 && n != 0; try++ { // a thread that the runtime starts meanwhile counts, too
			n = await.Allocs(10, step)
		}
		if n != 0 {
			t.Errorf("layers computed twice %v: a step allocates %v times", recompute, n)
		}
	}
}

// TestFrozen: frozen tensors have no gradient, none is computed for them, and
// the gradients of the rest are the same bits.
func TestFrozen(t *testing.T) {
	k := newSketch(t)
	everything(k)
	all := open[float64](t, &k.m, k.find, nil)
	_, want := all.gradients()
	some := open(t, &k.m, k.find, func(p *tape.Params[float64]) {
		p.Train(func(q *tape.Param[float64]) bool { return strings.Contains(q.Name, "up") })
	})
	calls := map[grad.Key]int{}
	tape.Rules(func(key grad.Key, back grad.BackwardFunc[float64]) {
		some.m.Registry().Register(key, func(b *grad.OpaqueBack[float64]) { calls[key]++; back(b) })
	})
	_, got := some.gradients()
	if len(got) != 2 {
		t.Fatalf("%d tensors have gradients, want the two named up", len(got))
	}
	for name, g := range got {
		if !slices.Equal(g, want[name]) {
			t.Errorf("the gradient of %s is not the same", name)
		}
	}
	if calls["plan.embedding"]+calls["plan.attention"]+calls["plan.norm"]+calls["plan.weight"] > 0 || calls["plan.ffn"] != 1 {
		t.Errorf("gradients of what lies before the first trained tensor were computed: %v", calls)
	}
	for _, p := range some.params.All() {
		if p.Frozen() != (got[p.Name] == nil) {
			t.Errorf("%s: frozen %v", p.Name, p.Frozen())
		}
	}
}

// TestCount: batches that share a count add up to the batch of both, and rows
// that do not count have no say.
func TestCount(t *testing.T) {
	k := newSketch(t)
	everything(k)
	r := open[float64](t, &k.m, k.find, nil)
	whole := r.batch
	loss, want := r.gradients()
	sum, rows := 0.0, 0
	got := map[string][]float64{}
	for _, n := range whole.Lens {
		r.batch = &tape.Batch{Tokens: whole.Tokens[rows : rows+n], Labels: whole.Labels[rows : rows+n], Lens: []int{n}, Count: whole.Counted()}
		rows += n
		l, g := r.gradients()
		sum += l
		for name, v := range g {
			if got[name] == nil {
				got[name] = make([]float64, len(v))
			}
			for i := range v {
				got[name][i] += v[i]
			}
		}
	}
	if math.Abs(sum-loss) > 1e-13 {
		t.Errorf("parts add up to %v, want %v", sum, loss)
	}
	for name := range want {
		for i, w := range want[name] {
			if math.Abs(got[name][i]-w) > 1e-13 {
				t.Fatalf("gradient of %s: parts add up to %v, want %v", name, got[name][i], w)
			}
		}
	}
	none := &tape.Batch{Tokens: whole.Tokens, Labels: make([]int32, len(whole.Tokens)), Lens: whole.Lens}
	for i := range none.Labels {
		none.Labels[i] = ignored
	}
	r.batch = none
	l, g := r.gradients()
	if l != 0 {
		t.Errorf("a batch without labels has the loss %v", l)
	}
	for name, v := range g {
		if slices.ContainsFunc(v, func(x float64) bool { return x != 0 }) {
			t.Errorf("a batch without labels gives %s a gradient", name)
		}
	}
}

// TestUntrained: opcodes without gradients are rejected when a model is bound,
// by name.
func TestUntrained(t *testing.T) {
	for name, c := range map[string]struct {
		build func(k *sketch)
		want  string
	}{
		"groups": {func(k *sketch) {
			k.done(k.op(plan.OpNorm, &plan.NormParams{Dim: width, Groups: 2}, reg(k.embed(1)), []int{width}, nil))
		}, "a norm over 2 groups"},
		"activation": {func(k *sketch) { k.done(ffnOf(k, k.embed(1), plan.ActSwiGLUOAI, 1, false)) }, "activation 4"},
		"router":     {func(k *sketch) { k.done(moeOf(k, k.embed(1), plan.MoEParams{TopK: 1, Gate: 9}, false)) }, "router of kind 9"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newSketch(t)
			c.build(k)
			p, err := tape.NewParams[float32](&k.m, k.find)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tape.New(&k.m, p)
			if e, ok := errors.AsType[*tape.UntrainedError](err); !ok || !errors.Is(err, plan.ErrUnsupportedOpcode) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v (%v), want an UntrainedError with %q", err, e, c.want)
			}
		})
	}
}

// TestBadWeights: a weight of another size, or none, is an error that names it.
func TestBadWeights(t *testing.T) {
	k := newSketch(t)
	everything(k)
	k.values["file.4.up"] = tensor.FromF32(tensor.Shape{3, width}, make([]float32, 3*width))
	p, err := tape.NewParams[float32](&k.m, k.find)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tape.New(&k.m, p); !errors.Is(err, plan.ErrWeightBinding) || !strings.Contains(err.Error(), "4.up") {
		t.Errorf("another shape: %v", err)
	}
	delete(k.values, "file.4.up")
	if _, err = tape.NewParams[float32](&k.m, k.find); err == nil || !strings.Contains(err.Error(), "file.4.up") {
		t.Errorf("no such tensor: %v", err)
	}
}

func TestBadBatches(t *testing.T) {
	k := newSketch(t)
	everything(k)
	r := open[float64](t, &k.m, k.find, nil)
	for name, b := range map[string]*tape.Batch{
		"empty":            {},
		"labels missing":   {Tokens: []int32{1, 2}, Labels: []int32{1}, Lens: []int{2}},
		"rows left over":   {Tokens: []int32{1, 2}, Labels: []int32{1, 2}, Lens: []int{1}},
		"too many rows":    {Tokens: []int32{1, 2}, Labels: []int32{1, 2}, Lens: []int{1, 2}},
		"empty document":   {Tokens: []int32{1, 2}, Labels: []int32{1, 2}, Lens: []int{2, 0}},
		"unknown token":    {Tokens: []int32{1, vocab}, Labels: []int32{1, 2}, Lens: []int{2}},
		"negative token":   {Tokens: []int32{1, -1}, Labels: []int32{1, 2}, Lens: []int{2}},
		"unknown label":    {Tokens: []int32{1, 2}, Labels: []int32{1, vocab}, Lens: []int{2}},
		"negative divisor": {Tokens: []int32{1, 2}, Labels: []int32{1, 2}, Lens: []int{2}, Count: -1},
	} {
		if _, err := r.m.Loss(grad.New(r.m.Registry()), b); !errors.Is(err, tape.ErrBatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := r.m.Loss(grad.New(&grad.Registry[float64]{}), r.batch); !errors.Is(err, grad.ErrKey) {
		t.Errorf("a tape that does not know the blocks: got %v", err)
	}
}

func TestAttach(t *testing.T) {
	k := newSketch(t)
	everything(k)
	p, err := tape.NewParams[float64](&k.m, k.find)
	if err != nil {
		t.Fatal(err)
	}
	up := tensor.Shape{10, width}
	a, b := k.pair("x", up, 2)
	c, d := k.pair("y", tensor.Shape{11, width}, 2)
	for name, l := range map[string]tape.LoRA[float64]{
		"file.none":     {A: a, B: b},
		"file.4.up":     {A: a, B: d},
		"file.q":        {A: b, B: a},
		"file.1.weight": {A: c, B: b},
	} {
		if err := p.Attach(name, l); err == nil {
			t.Errorf("%s: attached", name)
		}
	}
	n := len(p.All())
	if err := p.Attach("file.4.up", tape.LoRA[float64]{A: a, B: b, Scale: 1}); err != nil || len(p.All()) != n+2 {
		t.Errorf("%v, %d tensors", err, len(p.All()))
	}
	if err := p.Attach("file.4.up", tape.LoRA[float64]{A: a, B: b}); err == nil {
		t.Error("attached twice")
	}
}

// TestRecomputeMemory: a deep model takes much less memory when layers are
// computed twice, and gradients are the same bits in float32, too, with any
// number of threads.
func TestRecomputeMemory(t *testing.T) {
	l := llama{64, 8, 4, 160, 50}
	step := func(recompute bool, p *grad.Threads) (g []float32, bytes int64) {
		m := l.open(t)
		m.Recompute, m.Threads = recompute, p
		tp := grad.New(m.Registry(), grad.WithThreads(p))
		loss, err := m.Loss(tp, l.batch(4, 200))
		if err == nil {
			err = tp.Backward(loss)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params().All() {
			g = append(g, p.Grad...)
		}
		return g, m.Bytes(tp)
	}
	p := grad.NewThreads(3)
	defer p.Close()
	want, bytes := step(false, nil)
	for _, c := range []struct {
		recompute bool
		p         *grad.Threads
	}{{true, nil}, {false, p}, {true, p}} {
		got, n := step(c.recompute, c.p)
		if !slices.Equal(got, want) {
			t.Errorf("layers computed twice %v, threads %v: gradients are not the same", c.recompute, c.p != nil)
		}
		if c.recompute && 2*n > bytes {
			t.Errorf("%d bytes when layers are computed twice, %d when not", n, bytes)
		}
	}
}

// TestHeadInPieces: the gradients of a head are the same however few rows it takes at a
// time, with rows that do not count, a soft cap, a scale and a bias.
func TestHeadInPieces(t *testing.T) {
	build := func(k *sketch) {
		k.head(k.gather(k.embed(1)), plan.HeadParams{Softcap: 1.5, Scale: 2}, slots{"weight": {vocab, width}, "bias": {vocab}})
	}
	k := newSketch(t)
	build(k)
	whole := open[float64](t, &k.m, k.find, nil)
	loss, want := whole.gradients()
	for _, rows := range []int{1, 2, 3, 5, 7, 11} {
		parts := open[float64](t, &k.m, k.find, nil)
		parts.m.SetHeadMost(rows*vocab + vocab - 1)
		l, got := parts.gradients()
		if l != loss {
			t.Errorf("%d rows at a time: the loss is %g, want %g", rows, l, loss)
		}
		for name, g := range got {
			for i, v := range g {
				if !(math.Abs(v-want[name][i]) <= 1e-14) {
					t.Errorf("%d rows at a time: the gradient of %s[%d] is %g, want %g", rows, name, i, v, want[name][i])
					break
				}
			}
		}
	}
}
