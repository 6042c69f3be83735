package tape_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/internal/tape"
	"atenia/tensor"
)

// A sketch is a small plan that is written down instruction by instruction, with
// random values for its weights.
type sketch struct {
	t      *testing.T
	c      plan.CompiledPlan
	m      compile.Model
	values map[string]tensor.View
	rng    *rand.Rand
	layer  int16
	spread float64
}

const (
	tokensReg plan.RegisterRef = 0
	rowsReg   plan.RegisterRef = 1
	width                      = 8
	vocab                      = 13
)

func newSketch(t *testing.T) *sketch {
	k := &sketch{t: t, values: map[string]tensor.View{}, rng: rand.New(rand.NewPCG(1, 2)), spread: 1}
	k.m.Weights = map[string]compile.Weight{}
	k.m.Plans.Prefill = &k.c
	k.c.Plan.Registers = []plan.RegSpec{{Name: "tokens", DType: tensor.I32, Rank: 1, Rows: plan.RowsTokens, Cols: 1}, {Name: "rows", DType: tensor.I32, Rank: 1, Rows: plan.RowsRequested, Cols: 1}}
	k.c.Plan.Inputs = []plan.RegisterRef{tokensReg, rowsReg}
	return k
}

// A slots says which weights an instruction has, by slot, and their shapes.
type slots map[string]tensor.Shape

// op appends an instruction and returns its first output.
func (k *sketch) op(op plan.Opcode, p plan.Params, in []plan.RegisterRef, cols []int, w slots) plan.RegisterRef {
	spec := plan.Specs.Get(op)
	ins := plan.Instruction{Op: op, In: in, State: plan.NoState, Layer: k.layer, Param: uint16(len(k.c.Plan.Params))}
	block, err := plan.EncodeParams(op, p)
	if err != nil {
		k.t.Fatal(err)
	}
	k.c.Plan.Params = append(k.c.Plan.Params, block)
	rows := plan.RowsTokens
	if op == plan.OpGatherRows || k.c.Plan.Registers[in[0]].Rows == plan.RowsRequested {
		rows = plan.RowsRequested
	}
	for _, c := range cols {
		ins.Out = append(ins.Out, plan.RegisterRef(len(k.c.Plan.Registers)))
		k.c.Plan.Registers = append(k.c.Plan.Registers, plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: rows, Cols: uint32(c)})
	}
	for i := range spec.Weights {
		slot, _ := spec.Slot(i)
		shape, ok := w[slot]
		if !ok {
			ins.Weights = append(ins.Weights, plan.NoWeight)
			continue
		}
		ins.Weights = append(ins.Weights, k.weight(fmt.Sprintf("%d.%s", len(k.c.Plan.Instructions), slot), shape))
	}
	k.c.Plan.Instructions = append(k.c.Plan.Instructions, ins)
	return ins.Out[0]
}

// weight makes a weight of random values, or a table of frequencies.
func (k *sketch) weight(name string, shape tensor.Shape) plan.WeightRef {
	ref := plan.WeightRef(len(k.c.Plan.Weights))
	k.c.Plan.Weights = append(k.c.Plan.Weights, plan.WeightBinding{Name: name})
	w := compile.Weight{Name: name, Shape: shape}
	if strings.HasSuffix(name, "inv_freq") || strings.HasSuffix(name, "inv_freq_long") || strings.HasSuffix(name, "slopes") {
		for i := range shape[0] {
			w.Const = append(w.Const, float32(math.Pow(10, -float64(i)/float64(shape[0]))))
		}
	} else {
		w.Sources = []string{"file." + name}
		k.fill("file."+name, shape)
	}
	k.m.Weights[name] = w
	return ref
}

func (k *sketch) fill(name string, shape tensor.Shape) {
	n, _ := shape.Size()
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(k.rng.NormFloat64() * k.spread / math.Sqrt(float64(shape.Cols())))
		if len(shape) == 1 {
			v[i] = float32(k.rng.NormFloat64() * 0.5)
		}
	}
	k.values[name] = tensor.FromF32(shape, v)
}

// from makes a weight of the plan from tensors of the file by a recipe.
func (k *sketch) from(name string, sources map[string]tensor.Shape, steps ...compile.Transform) {
	w := k.m.Weights[name]
	w.Sources, w.Transform = nil, steps
	for _, s := range slices.Sorted(maps.Keys(sources)) {
		w.Sources = append(w.Sources, s)
		if _, ok := k.values[s]; !ok {
			k.fill(s, sources[s])
		}
	}
	k.m.Weights[name] = w
}

func (k *sketch) embed(scale float32) plan.RegisterRef {
	k.layer = -1
	x := k.op(plan.OpEmbedding, &plan.EmbedParams{Dim: width, Vocab: vocab, Scale: scale}, []plan.RegisterRef{tokensReg}, []int{width}, slots{"table": {vocab, width}})
	k.layer = 0
	return x
}

func (k *sketch) gather(x plan.RegisterRef) plan.RegisterRef {
	return k.op(plan.OpGatherRows, nil, []plan.RegisterRef{x, rowsReg}, []int{int(k.c.Plan.Registers[x].Cols)}, nil)
}

func (k *sketch) add(a, b plan.RegisterRef, scale float32) plan.RegisterRef {
	return k.op(plan.OpResidualAdd, &plan.AddParams{Scale: scale}, []plan.RegisterRef{a, b}, []int{width}, nil)
}

func (k *sketch) head(x plan.RegisterRef, p plan.HeadParams, w slots) {
	k.layer = -1
	p.Vocab, p.Dim = vocab, width
	out := k.op(plan.OpLMHead, &p, []plan.RegisterRef{x}, []int{vocab}, w)
	k.c.Plan.Outputs = []plan.RegisterRef{out}
}

// done ends a plan whose residual stream is x.
func (k *sketch) done(x plan.RegisterRef) {
	k.head(k.gather(x), plan.HeadParams{Scale: 1}, slots{"weight": {vocab, width}})
}

// A trial is a model with its parameters and a batch.
type trial[F tape.Float] struct {
	t      *testing.T
	params *tape.Params[F]
	m      *tape.Model[F]
	batch  *tape.Batch
	quiet  *grad.Tape[F] // does not record
}

func open[F tape.Float](t *testing.T, m *compile.Model, find func(string) (tensor.View, bool), setup func(*tape.Params[F])) *trial[F] {
	t.Helper()
	params, err := tape.NewParams[F](m, find)
	if err != nil {
		t.Fatal(err)
	}
	if setup != nil {
		setup(params)
	}
	x, err := tape.New(m, params)
	if err != nil {
		t.Fatal(err)
	}
	r := &trial[F]{t: t, params: params, m: x, batch: randomBatch(vocab)}
	senses(r.batch, &m.Plans.Prefill.Plan)
	if e := m.Config.Encoder; e != nil {
		aim(r.batch, e)
	}
	return r
}

// randomBatch is three documents in which some rows do not count.
func randomBatch(vocab int) *tape.Batch {
	rng := rand.New(rand.NewPCG(3, 4))
	b := &tape.Batch{Lens: []int{5, 1, 6}, Seed: 9}
	for i := range 12 {
		b.Tokens = append(b.Tokens, int32(rng.IntN(vocab)))
		b.Labels = append(b.Labels, int32(rng.IntN(vocab)))
		if i%5 == 2 {
			b.Labels[i] = ignored
		}
	}
	return b
}

func (k *sketch) find(name string) (tensor.View, bool) { v, ok := k.values[name]; return v, ok }

// loss computes without recording.
func (r *trial[F]) loss() float64 {
	r.t.Helper()
	if r.quiet == nil {
		r.quiet = grad.New(r.m.Registry(), grad.Recording(false))
	}
	r.quiet.Reset()
	l, err := r.m.Loss(r.quiet, r.batch)
	if err != nil {
		r.t.Fatal(err)
	}
	return float64(r.quiet.Value(l)[0])
}

// gradients records and goes back, and returns a copy of all gradients.
func (r *trial[F]) gradients(opts ...grad.Option) (float64, map[string][]F) {
	r.t.Helper()
	t := grad.New(r.m.Registry(), opts...)
	r.params.ZeroGrad()
	l, err := r.m.Loss(t, r.batch)
	if err != nil {
		r.t.Fatal(err)
	}
	v := float64(t.Value(l)[0])
	if err := t.Backward(l); err != nil {
		r.t.Fatal(err)
	}
	out := map[string][]F{}
	for _, p := range r.params.All() {
		if !p.Frozen() {
			out[p.Name] = slices.Clone(p.Grad)
		}
	}
	return v, out
}

// A probe compares gradients with differences of the loss, of fourth order.
type probe[F tape.Float] struct {
	r           *trial[F]
	g           map[string][]F
	rng         *rand.Rand
	worst       float64 // difference, in terms of the gradient
	where       string
	said, asked int // how many were large enough to say something
}

// along compares along a direction, which for each parameter given is random,
// or one of its elements if only says so.
func (p *probe[F]) along(what string, only bool, params ...*tape.Param[F]) {
	const floor, fewEps = 1e-4, 1e-5
	var olds, dirs [][]F
	want, elements := 0.0, 0
	for _, q := range params {
		elements += len(q.Value)
	}
	for _, q := range params {
		dir := make([]F, len(q.Value))
		if only {
			i := p.rng.IntN(len(dir))
			dir[i] = 1
			what = fmt.Sprintf("%s[%d]", what, i)
		}
		for i := range dir {
			if !only {
				dir[i] = F(8 * p.rng.NormFloat64() / math.Sqrt(float64(elements)))
			}
			want += float64(dir[i] * p.g[q.Name][i])
		}
		olds, dirs = append(olds, slices.Clone(q.Value)), append(dirs, dir)
	}
	at := func(by float64) float64 {
		for i, q := range params {
			for j := range q.Value {
				q.Value[j] = olds[i][j] + F(by)*dirs[i][j]
			}
		}
		return p.r.loss()
	}
	// Two points are enough of most. A kink, as of a bound, may be nearer than the first step.
	d := (at(fewEps) - at(-fewEps)) / (2 * fewEps)
	for _, eps := range []float64{1e-4, 1e-6} {
		if math.Abs(d-want) <= tolerance*max(math.Abs(want), floor) {
			break
		}
		d = (8*(at(eps)-at(-eps)) - (at(2*eps) - at(-2*eps))) / (12 * eps)
	}
	for i, q := range params {
		copy(q.Value, olds[i])
	}
	p.asked++
	if math.Abs(want) > floor {
		p.said++
	}
	if e := math.Abs(d-want) / max(math.Abs(want), floor); e > p.worst {
		p.worst, p.where = e, fmt.Sprintf("%s: %.9g by differences, %.9g by the tape", what, d, want)
	}
}

// off probes every parameter along a random direction and at three elements,
// until it finds one that is worse than limit.
func (r *trial[F]) off(g map[string][]F, limit float64) *probe[F] {
	p := &probe[F]{r: r, g: g, rng: rand.New(rand.NewPCG(5, 6))}
	for _, q := range r.params.All() {
		if q.Frozen() || p.worst > limit {
			continue
		}
		p.along(q.Name, false, q)
		for range 3 {
			p.along(q.Name, true, q)
		}
	}
	return p
}

// tolerance is how far a gradient may be from differences, of its size.
const tolerance = 1e-6

// check compares gradients with central differences, and with those of other
// ways to compute them, which are the same bits.
func (r *trial[F]) check() {
	r.t.Helper()
	loss, g := r.gradients(grad.CheckImmutable())
	if l := r.loss(); l != loss {
		r.t.Errorf("the loss is %v recorded and %v not", loss, l)
	}
	p := r.off(g, math.Inf(1))
	if p.worst > tolerance {
		r.t.Errorf("off by %.3g at %s", p.worst, p.where)
	}
	if 2*p.said < p.asked {
		r.t.Errorf("only %d of %d gradients are large enough to be compared", p.said, p.asked)
	}
	r.variants(loss, g)
}

// variants computes gradients in ways that must not change a bit.
func (r *trial[F]) variants(loss float64, g map[string][]F) {
	r.t.Helper()
	r.same("layers computed twice", g, loss, func() (float64, map[string][]F) {
		r.m.Recompute = true
		defer func() { r.m.Recompute = false }()
		return r.gradients(grad.CheckImmutable())
	})
	p := grad.NewThreads(3)
	defer p.Close()
	r.same("three threads", g, loss, func() (float64, map[string][]F) { return r.gradients(grad.WithThreads(p)) })
}

func (r *trial[F]) same(how string, want map[string][]F, loss float64, f func() (float64, map[string][]F)) {
	r.t.Helper()
	l, got := f()
	if l != loss {
		r.t.Errorf("%s: the loss is %v, want %v", how, l, loss)
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			r.t.Errorf("%s: the gradient of %s is not the same", how, name)
		}
	}
}
