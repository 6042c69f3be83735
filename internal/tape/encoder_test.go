package tape_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/internal/tape"
	"atenia/tensor"
)

// aim gives the documents of a [randomBatch] something to become.
func aim(b *tape.Batch, e *compile.Encoder) {
	if e.Types > 1 {
		for i := range b.Tokens {
			b.Types = append(b.Types, int32(i/2%2))
		}
	}
	switch {
	case e.Labels == 1:
		b.Targets = []float32{0.25, 1, 0}
	case e.Labels > 1:
		b.Targets = []float32{1, 0, 1}
	default:
		b.Answers, b.Temperature = []int32{2, -1, -1}, 0.3
	}
}

// encodesAs compares the losses of the sequences of an encoder with those of the
// reference's vectors, or scores.
func encodesAs(t *testing.T, folder string, m *compile.Model, d *file.Description) {
	r := open[float32](t, m, finder(d), nil)
	var f parity
	golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
	b, near := &tape.Batch{Temperature: 1}, f.Tolerance.MaxAbs
	var vectors [][]float64
	for i := range len(f.Sequences) + 1 { // the first is a query, too
		s := &f.Sequences[max(0, i-1)]
		b.Tokens, b.Lens, b.Answers = append(b.Tokens, s.Tokens...), append(b.Lens, len(s.Tokens)), append(b.Answers, -1)
		if s.Types != nil {
			b.Types = append(b.Types, s.Types...)
		}
		path := map[string]string{"mean": s.Mean, "cls": s.First, "last": s.Last}[m.Config.Encoder.Pool]
		if s.Vectors["model"] != "" {
			path = s.Vectors["model"]
		}
		var v []float64
		sum := 0.0
		for _, x := range golden.NPY(t, filepath.Join(folder, path)).F32 {
			v, sum = append(v, float64(x)), sum+float64(x)*float64(x)
		}
		vectors = append(vectors, v)
		if m.Config.Encoder.Labels > 0 {
			continue
		}
		// A cosine is off by twice the error of a vector, and a loss by that of two.
		near = max(near, 4*math.Sqrt(float64(len(v)))*f.Tolerance.MaxAbs/math.Sqrt(sum))
		for k := range v {
			v[k] /= math.Sqrt(sum)
		}
	}
	b.Labels = make([]int32, len(b.Tokens))
	b.Answers[0] = 2
	want := 0.0
	if m.Config.Encoder.Labels == 1 {
		b.Answers = nil
		for i, v := range vectors {
			target := float64(i) / 4
			b.Targets = append(b.Targets, float32(target))
			p := 1 / (1 + math.Exp(-v[0]))
			want -= (target*math.Log(p) + (1-target)*math.Log(1-p)) / float64(len(vectors))
		}
	} else {
		all := 0.0
		for i, v := range vectors[1:] {
			cos := 0.0
			for k := range v {
				cos += v[k] * vectors[0][k]
			}
			if all += math.Exp(cos); i == 1 {
				want = -cos
			}
		}
		want += math.Log(all)
	}
	r.batch = b
	if got := r.loss(); !(math.Abs(got-want) <= near) {
		t.Errorf("the loss is %v, that of the reference's vectors %v, tolerance %g", got, want, near)
	}
}

// encoding ends a sketch as an encoder.
func (k *sketch) encoding(x plan.RegisterRef, e compile.Encoder) {
	k.m.Config.Encoder = &e
	k.c.Plan.Outputs = reg(x)
}

func (k *sketch) pool(x plan.RegisterRef, kind, unit uint32) plan.RegisterRef {
	in := reg(x)
	if k.c.Plan.Registers[x].Rows != plan.RowsRequested {
		in = append(in, rowsReg)
	}
	y := k.op(plan.OpPool, &plan.PoolParams{Kind: kind, Normalize: unit}, in, []int{int(k.c.Plan.Registers[x].Cols)}, nil)
	k.c.Plan.Registers[y].Rows = plan.RowsRequested
	return y
}

func (k *sketch) project(x plan.RegisterRef, act uint32, out int) plan.RegisterRef {
	return k.op(plan.OpLMHead, &plan.HeadParams{Vocab: uint32(out), Dim: width, Scale: 1, Act: act}, reg(x), []int{out}, slots{"weight": {out, width}, "bias": {out}})
}

// both is attention in both directions.
func both(k *sketch, window uint32) plan.RegisterRef {
	x := attentionOf(k, k.embed(1), plan.AttentionParams{KVHeads: 2, Window: window}, nil)
	i := len(k.c.Plan.Instructions) - 2
	p, err := k.c.Plan.Params[k.c.Plan.Instructions[i].Param].Decode()
	if err != nil {
		k.t.Fatal(err)
	}
	p.(*plan.AttentionParams).Causal = 0
	if k.c.Plan.Params[k.c.Plan.Instructions[i].Param], err = plan.EncodeParams(plan.OpAttention, p); err != nil {
		k.t.Fatal(err)
	}
	k.layer = 1
	return ffnOf(k, x, plan.ActGELUErf, 0, true)
}

// classifying has the opcodes of encoders.
func classifying(k *sketch) {
	x := k.pool(both(k, 4), plan.PoolMean, 1)
	k.encoding(k.project(k.project(x, plan.HeadTanh, width), plan.HeadLinear, 3), compile.Encoder{Pool: "mean", Labels: 3})
}

func init() {
	opcodes["encoder/mean"] = func(k *sketch) { k.encoding(k.pool(both(k, 0), plan.PoolMean, 0), compile.Encoder{Pool: "mean"}) }
	opcodes["encoder/mean_window_unit"] = func(k *sketch) { k.encoding(k.pool(both(k, 4), plan.PoolMean, 1), compile.Encoder{Pool: "mean"}) }
	opcodes["encoder/pooled_twice"] = func(k *sketch) {
		k.encoding(k.pool(k.pool(both(k, 4), plan.PoolMean, 0), plan.PoolRows, 1), compile.Encoder{Pool: "mean"})
	}
	opcodes["encoder/last"] = func(k *sketch) { k.encoding(k.pool(both(k, 0), plan.PoolRows, 1), compile.Encoder{Pool: "last"}) }
	opcodes["encoder/first"] = func(k *sketch) { k.encoding(k.gather(both(k, 0)), compile.Encoder{Pool: "cls"}) }
	opcodes["encoder/score"] = func(k *sketch) {
		k.encoding(k.project(k.project(k.gather(both(k, 0)), plan.HeadGELU, width), plan.HeadLinear, 1), compile.Encoder{Pool: "cls", Labels: 1})
	}
	opcodes["encoder/labels"] = classifying
	opcodes["embedding/types"] = func(k *sketch) {
		x := k.embed(1)
		last := &k.c.Plan.Instructions[len(k.c.Plan.Instructions)-1]
		for i := range last.Weights {
			if slot, _ := plan.Specs.Get(plan.OpEmbedding).Slot(i); slot == "type" {
				last.Weights[i] = k.weight("type", tensor.Shape{2, width})
			}
		}
		k.encoding(k.pool(ffnOf(k, x, plan.ActSiLU, 1, false), plan.PoolMean, 0), compile.Encoder{Pool: "mean", Types: 2})
	}
}

// TestBadGoals: what documents are to become must fit the batch and the model.
func TestBadGoals(t *testing.T) {
	for name, spoil := range map[string]func(b *tape.Batch){
		"encoder/mean":   func(b *tape.Batch) { b.Answers = b.Answers[1:] },
		"encoder/last":   func(b *tape.Batch) { b.Answers = []int32{3, -1, -1} },
		"encoder/first":  func(b *tape.Batch) { b.Answers = []int32{1, 0, -1} },
		"encoder/score":  func(b *tape.Batch) { b.Targets[1] = 2 },
		"encoder/labels": func(b *tape.Batch) { b.Targets[1] = 3 },
		"ffn/gated/silu": func(b *tape.Batch) { b.Answers = []int32{1, -1, -1} },
		"embedding/types": func(b *tape.Batch) {
			b.Types = slices.Clone(b.Types)
			b.Types[3] = 2
		},
	} {
		k := newSketch(t)
		build, ok := opcodes[name]
		if !ok {
			continue
		}
		build(k)
		r := open[float64](t, &k.m, k.find, nil)
		r.loss()
		spoil(r.batch)
		if _, err := r.m.Loss(grad.New(r.m.Registry()), r.batch); !errors.Is(err, tape.ErrBatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
